//! An Arrow IPC file for its reader, of which only the buffers of wanted columns are read.
//!
//! # How it works
//! The reader takes a record batch, which is a *block* of the file, as a whole. This stands between
//! it and the file. Before a block is read, its description is looked at: which buffers the wanted
//! columns have, and what they unpack to. The reader then gets the description and these buffers
//! from the file, and zeros in the place of the others, which it passes over.
//!
//! # Invariants
//! * FI-16 What a description leaves open is read: where it has other buffers than the columns
//!   want, the whole block is.
//!
//! # Costs
//! The buffers of a block are announced together, so an object is asked for a block in two steps.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_ipc::{Message, MessageHeader, MetadataVersion, RecordBatch, root_as_message};
use arrow_schema::{DataType, Field, SchemaRef, UnionMode};

use crate::ipc_size::{Block, CONTINUATION, Refused, Summary, damaged, too_large};
use crate::ranges::{Cursor, Input};

/// The block that is read: its description, and the ranges behind it that are not zeros.
struct Current {
    block: usize,
    meta: Vec<u8>,
    ranges: Vec<Range<u64>>,
}

/// See the file header.
pub(crate) struct Blocks {
    input: Input,
    at: u64,
    limit: u64,
    schema: SchemaRef,
    /// Places of the wanted columns.
    wanted: Vec<usize>,
    /// Ascending.
    blocks: Vec<Block>,
    current: Option<Current>,
    /// Bytes of the dictionaries so far.
    dictionaries: u64,
    /// Bytes that the reader holds at most at a time.
    held: Arc<AtomicU64>,
}

impl Blocks {
    /// For a file with this summary; at most `limit` bytes are read at a time. Next to it the bytes
    /// that its reader holds, which may become more.
    ///
    /// # Errors
    /// A block takes more.
    pub(crate) fn new(
        input: Input,
        summary: Summary,
        wanted: Vec<usize>,
        limit: u64,
    ) -> Result<(Blocks, Arc<AtomicU64>), Refused> {
        let mut blocks = summary.blocks;
        blocks.sort_by_key(|block| block.start);
        let whole = |block: &Block| block.meta.saturating_add(block.body);
        let of = |dictionary: bool| {
            let some = blocks.iter().filter(move |it| it.of_dictionary == dictionary);
            some.map(whole)
        };
        let held = of(true)
            .fold(0, u64::saturating_add)
            .saturating_add(of(false).max().unwrap_or(0));
        if held > limit {
            return Err(too_large(held, limit));
        }
        let size = input.size()?;
        let end = |block: &Block| block.start.saturating_add(whole(block));
        if blocks.iter().any(|block| end(block) > size) {
            return Err(damaged("it is cut"));
        }
        if blocks.windows(2).any(|pair| pair[0].end() > pair[1].start) {
            return Err(damaged("its blocks overlap"));
        }
        let held = Arc::new(AtomicU64::new(held));
        let made = Blocks {
            input,
            at: 0,
            limit,
            schema: summary.schema,
            wanted,
            blocks,
            current: None,
            dictionaries: 0,
            held: held.clone(),
        };
        Ok((made, held))
    }

    fn block_at(&self, at: u64) -> Option<usize> {
        let behind = self.blocks.partition_point(|block| block.start <= at);
        let found = behind.checked_sub(1)?;
        (at < self.blocks[found].end()).then_some(found)
    }

    /// Looks at a block before it is read.
    fn look(&mut self, number: usize) -> Result<Current, Refused> {
        let block = self.blocks[number].clone();
        let body = block.start + block.meta;
        self.input.expect(&[vec![block.start..body]]);
        let mut meta = vec![0; usize::try_from(block.meta).unwrap_or(0)];
        Cursor::new(self.input.clone(), block.start).read_exact(&mut meta)?;
        let head = match meta.first_chunk() {
            Some(first) if u32::from_le_bytes(*first) == CONTINUATION => 8,
            _ => 4,
        };
        let message = root_as_message(meta.get(head..).unwrap_or_default()).map_err(damaged)?;
        let all = buffers(&message);
        let wanted = self.wanted(&message, &all, block.of_dictionary);
        let within = |range: &Range<u64>| {
            body.saturating_add(range.start).min(block.end())
                ..body.saturating_add(range.end).min(block.end())
        };
        let read = wanted.as_ref().unwrap_or(&all).iter().map(within);
        let mut read: Vec<Range<u64>> = read.filter(|range| !range.is_empty()).collect();
        read.sort_by_key(|range| range.start);
        let ranges = match &wanted {
            Some(_) => read.clone(),
            None => vec![body..block.end()],
        };
        self.input.expect(std::slice::from_ref(&ranges));
        let mut bytes = block.meta.saturating_add(block.body);
        if batch(&message).is_some_and(|batch| batch.compression().is_some()) {
            for range in &read {
                bytes = bytes.saturating_add(self.unpacked(range)?);
            }
        }
        self.charge(block.of_dictionary, bytes)?;
        Ok(Current {
            block: number,
            meta,
            ranges,
        })
    }

    /// What stands before a packed buffer: the bytes that it unpacks to.
    fn unpacked(&self, range: &Range<u64>) -> Result<u64, Refused> {
        let mut head = [0; 8];
        if range.end - range.start < 8 {
            return Ok(0);
        }
        Cursor::new(self.input.clone(), range.start).read_exact(&mut head)?;
        // Less than 0: it is not packed.
        Ok(u64::try_from(i64::from_le_bytes(head)).unwrap_or(0))
    }

    fn charge(&mut self, of_dictionary: bool, bytes: u64) -> Result<(), Refused> {
        let held = match of_dictionary {
            true => {
                self.dictionaries = self.dictionaries.saturating_add(bytes);
                self.dictionaries
            }
            false => self.dictionaries.saturating_add(bytes),
        };
        if held > self.limit {
            return Err(too_large(held, self.limit));
        }
        self.held.fetch_max(held, Ordering::Relaxed);
        Ok(())
    }

    /// The buffers that are read; none: the whole body.
    fn wanted(
        &self,
        message: &Message<'_>,
        all: &[Range<u64>],
        of_dictionary: bool,
    ) -> Option<Vec<Range<u64>>> {
        if of_dictionary {
            return None;
        }
        let variadic = batch(message)?.variadicBufferCounts();
        let mut variadic = variadic.into_iter().flatten();
        let mut next = || usize::try_from(variadic.next()?).ok();
        let (mut at, mut kept) = (0_usize, Vec::new());
        for (place, field) in self.schema.fields().iter().enumerate() {
            let end = at.checked_add(count(field, message.version(), &mut next)?)?;
            let of_field = all.get(at..end)?;
            if self.wanted.contains(&place) {
                kept.extend_from_slice(of_field);
            }
            at = end;
        }
        (at == all.len()).then_some(kept)
    }
}

/// Places in the body of all buffers.
fn buffers(message: &Message<'_>) -> Vec<Range<u64>> {
    let buffers = batch(message).and_then(|batch| batch.buffers());
    let place = |offset: i64, length: i64| {
        let start = u64::try_from(offset).unwrap_or(0);
        start..start.saturating_add(u64::try_from(length).unwrap_or(u64::MAX))
    };
    let all = buffers.into_iter().flatten();
    all.map(|buffer| place(buffer.offset(), buffer.length()))
        .collect()
}

fn batch<'a>(message: &Message<'a>) -> Option<RecordBatch<'a>> {
    match message.header_type() {
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data(),
        _ => message.header_as_record_batch(),
    }
}

/// How many buffers a column has; none where that cannot be told.
fn count(
    field: &Field,
    version: MetadataVersion,
    variadic: &mut dyn FnMut() -> Option<usize>,
) -> Option<usize> {
    use DataType as D;
    let mut inner = |field: &Field| count(field, version, variadic);
    Some(match field.data_type() {
        D::Null => 0,
        D::Utf8 | D::Binary | D::LargeUtf8 | D::LargeBinary => 3,
        D::Utf8View | D::BinaryView => variadic()?.checked_add(2)?,
        D::List(item) | D::LargeList(item) | D::Map(item, _) => 2 + inner(item)?,
        D::ListView(item) | D::LargeListView(item) => 3 + inner(item)?,
        D::FixedSizeList(item, _) => 1 + inner(item)?,
        D::Struct(fields) => {
            let counts = fields.iter().map(|field| inner(field));
            1 + counts.sum::<Option<usize>>()?
        }
        D::RunEndEncoded(ends, values) => inner(ends)? + inner(values)?,
        D::Union(fields, mode) => {
            let own = match mode {
                UnionMode::Dense => 2,
                UnionMode::Sparse => 1,
            };
            let older = usize::from(version < MetadataVersion::V5);
            let counts = fields.iter().map(|(_, field)| inner(field));
            own + older + counts.sum::<Option<usize>>()?
        }
        _ => 2,
    })
}

impl Seek for Blocks {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut place = Cursor::new(self.input.clone(), self.at);
        self.at = place.seek(to)?;
        Ok(self.at)
    }
}

impl Read for Blocks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(number) = self.block_at(self.at) else {
            let count = self.input.read_at(into, self.at)?;
            self.at += count as u64;
            return Ok(count);
        };
        if self.current.as_ref().is_none_or(|it| it.block != number) {
            let looked = self.look(number).map_err(|refused| match refused {
                Refused::Io(error) => error,
                Refused::Why(why) => io::Error::other(why),
            })?;
            self.current = Some(looked);
        }
        let current = self.current.as_ref().expect("just looked at");
        let block = &self.blocks[number];
        let skip = usize::try_from(self.at - block.start).unwrap_or(usize::MAX);
        let count = match current.meta.get(skip..).filter(|rest| !rest.is_empty()) {
            Some(meta) => {
                let count = meta.len().min(into.len());
                into[..count].copy_from_slice(&meta[..count]);
                count
            }
            None => {
                let next = current.ranges.iter().find(|range| self.at < range.end);
                let stop = next.map_or(block.end(), |range| match range.start > self.at {
                    true => range.start,
                    false => range.end,
                });
                let most = usize::try_from(stop - self.at).unwrap_or(usize::MAX);
                let most = most.min(into.len());
                match next.is_some_and(|range| range.start <= self.at) {
                    true => self.input.read_at(&mut into[..most], self.at)?,
                    false => {
                        into[..most].fill(0);
                        most
                    }
                }
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

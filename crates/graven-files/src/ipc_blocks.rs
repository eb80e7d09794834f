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
//! The buffers of a block are announced together, so an object is asked for a block in two steps. A
//! small block is read as a whole, without a step of its own.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_ipc::{Message, MessageHeader, MetadataVersion, RecordBatch, root_as_message};
use arrow_schema::{DataType, Field, SchemaRef, UnionMode};

use crate::ipc_size::{Block, CONTINUATION, Refused, Summary, damaged, too_large};
use crate::ranges::{Cursor, Input};

/// A block of so many bytes is read as a whole.
const SMALL: u64 = 1 << 20;

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
            let some = blocks
                .iter()
                .filter(move |it| it.of_dictionary == dictionary);
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
        let is_small = block.meta + block.body <= SMALL;
        if !is_small {
            self.input.expect(&[only(block.start..body)]);
        }
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
            Some(_) if !is_small => read.clone(),
            _ => only(body..block.end()),
        };
        if !is_small {
            self.input.expect(std::slice::from_ref(&ranges));
        }
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

fn only(range: Range<u64>) -> Vec<Range<u64>> {
    std::iter::once(range).collect()
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

#[cfg(test)]
mod tests {
    //! Goal: a batch has the same values whether all of it was read or the wanted buffers only, in
    //! all kinds of columns, packed and not; and other buffers are not read.

    use super::*;
    use crate::ipc_size;
    use arrow_array::builder::{ListBuilder, StringDictionaryBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, Int64Array, RecordBatch as Rows, StringArray, StringViewArray, StructArray,
    };
    use arrow_ipc::CompressionType;
    use arrow_ipc::reader::FileReader;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
    use std::fs::File;

    /// A file in memory that counts what is read of it.
    struct Counting(Vec<u8>, AtomicU64);

    impl crate::ranges::Ranges for Counting {
        fn size(&self) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }

        fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
            let rest = self.0.get(offset as usize..).unwrap_or_default();
            let count = rest.len().min(into.len());
            into[..count].copy_from_slice(&rest[..count]);
            self.1.fetch_add(count as u64, Ordering::Relaxed);
            Ok(count)
        }

        fn local(&self) -> io::Result<File> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    fn rows(count: i64, add: i64) -> Rows {
        let text = |i: i64| format!("number {i} of many that are long enough to be kept apart");
        let numbers = || Int64Array::from_iter_values((0..count).map(|i| i + add));
        let texts = || (0..count).map(|i| text(i + add));
        let mut lists = ListBuilder::new(Int64Array::builder(0));
        let mut words = StringDictionaryBuilder::<Int32Type>::new();
        for i in 0..count {
            lists.append_value([Some(i), None]);
            words.append_value(text(i % 7));
        }
        let part: ArrayRef = Arc::new(numbers());
        let field = Arc::new(Field::new("x", DataType::Int64, true));
        let columns: [(&str, ArrayRef); 6] = [
            ("number", Arc::new(numbers())),
            ("text", Arc::new(StringArray::from_iter_values(texts()))),
            ("list", Arc::new(lists.finish())),
            ("word", Arc::new(words.finish())),
            ("view", Arc::new(StringViewArray::from_iter_values(texts()))),
            ("part", Arc::new(StructArray::from(vec![(field, part)]))),
        ];
        Rows::try_from_iter(columns).expect("rows")
    }

    fn written(compression: Option<CompressionType>) -> Vec<u8> {
        let options = IpcWriteOptions::default();
        let options = options.try_with_compression(compression).expect("known");
        let schema = rows(1, 0).schema();
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &schema, options).expect("begun");
        for (count, add) in [(40_000, 0), (100, 5), (30_000, 9)] {
            writer.write(&rows(count, add)).expect("written");
        }
        writer.into_inner().expect("ended")
    }

    #[test]
    fn wanted_buffers_are_enough() {
        for compression in [None, Some(CompressionType::ZSTD)] {
            let file = written(compression);
            let whole = FileReader::try_new(io::Cursor::new(&file), None).expect("a file");
            let whole: Vec<Rows> = whole.map(|batch| batch.expect("a batch")).collect();
            for column in 0..6 {
                let input = Arc::new(Counting(file.clone(), AtomicU64::new(0)));
                let limit = 64 << 20;
                let mut place = Cursor::new(input.clone(), 0);
                let summary = ipc_size::summary(&mut place, limit).expect("a file");
                let blocks = Blocks::new(input.clone(), summary, vec![column], limit);
                let (blocks, held) = blocks.expect("within the limit");
                let reader = FileReader::try_new(blocks, Some(vec![column])).expect("a file");
                let mut count = 0;
                for (batch, whole) in reader.zip(&whole) {
                    let batch = batch.expect("a batch");
                    assert_eq!(batch.column(0), whole.column(column), "{column}");
                    count += 1;
                }
                assert_eq!(count, 3);
                let read = input.1.load(Ordering::Relaxed);
                // Packed, these blocks are so small that each is read as a whole.
                assert!(
                    compression.is_some() || read < file.len() as u64 / 2,
                    "{column}: {read} of {}",
                    file.len()
                );
                assert!(held.load(Ordering::Relaxed) <= limit);
            }
            // What does not fit the limit is refused before it is read.
            let input = Arc::new(Counting(file.clone(), AtomicU64::new(0)));
            let summary = ipc_size::summary(&mut Cursor::new(input.clone(), 0), 1 << 20);
            let blocks = Blocks::new(input, summary.expect("a footer"), vec![0], 1 << 20);
            assert!(compression.is_some() || blocks.is_err());
        }
    }
}

//! Sorts records in a fixed amount of memory: in one piece if they fit, else sorted runs and a
//! merge.
//!
//! # How it works
//! A record is a 16-byte key (two numbers) and bytes; records are ordered by key, then by bytes, so
//! the result never depends on how the input was cut into runs. Records collect in an arena with a
//! 24-byte entry each; a full arena is sorted and written as a run. Runs of one level are merged
//! into one of the next when there are enough of them, so at the end few per level are read, each
//! through its own buffer. A run is read once, and what was read of it is freed.
//!
//! # Costs
//! In memory one radix sort by key; each spilled byte is written and read once per level.

use std::cmp::Ordering;
use std::sync::Arc;

use graven_pagecache::huge_pages;

use crate::error::ImportError;
use crate::radix;
use crate::scratch::{FREED_BYTES, Scratch, ScratchFile};
use crate::spool::HEAD_BYTES;
use crate::value::{put_varint, take_varint};

/// Runs of one level before they are merged: as many as have buffers of this size, and no more than
/// there may be open files.
const FAN_IN_BYTES: usize = 64 << 10;
const FAN_IN_MAX: usize = 128;
const WRITE_BYTES: usize = 64 << 10;

pub(crate) type Key = [u64; 2];

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Key,
    at: u32,
    len: u32,
}

/// The bytes that sorting takes of a limit: positions in them fit 32 bits, and there are a few
/// buffers.
pub(crate) fn usable(limit: u64) -> usize {
    limit.clamp(256 << 10, 3 << 30) as usize
}

/// Collects records to be sorted.
#[derive(Debug)]
pub(crate) struct Sorter {
    scratch: Arc<Scratch>,
    limit: usize,
    entries: Vec<Entry>,
    arena: Vec<u8>,
    runs: Vec<(u32, ScratchFile)>,
}

impl Sorter {
    /// A sorter that holds at most about `limit` bytes.
    pub(crate) fn new(scratch: &Arc<Scratch>, limit: u64) -> Self {
        let limit = usable(limit);
        let scratch = Arc::clone(scratch);
        Self {
            scratch,
            limit,
            entries: vec![],
            arena: vec![],
            runs: vec![],
        }
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, key: Key, bytes: &[u8]) -> Result<(), ImportError> {
        let entry_bytes = size_of::<Entry>();
        let full = self.entries.len() == self.entries.capacity()
            || self.arena.len() + bytes.len() > self.arena.capacity();
        if full {
            // Doubling may take no more than the limit over both parts.
            let entries = grown(&self.entries, 1, 1024);
            let arena = grown(&self.arena, bytes.len(), 0);
            if entries * entry_bytes + arena > self.limit && !self.entries.is_empty() {
                self.spill()?;
            } else {
                self.entries.reserve_exact(entries - self.entries.len());
                self.arena.reserve_exact(arena - self.arena.len());
                huge_pages::prefer(&self.entries);
                huge_pages::prefer(&self.arena);
            }
        }
        let (at, len) = (self.arena.len() as u32, bytes.len() as u32);
        self.arena.extend_from_slice(bytes);
        self.entries.push(Entry { key, at, len });
        Ok(())
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        radix::sort(&mut self.entries, &|entry| wide(entry.key), &|a, b| {
            bytes_of(arena, *a).cmp(bytes_of(arena, *b))
        });
    }

    fn spill(&mut self) -> Result<(), ImportError> {
        self.sort();
        let mut run = RunWriter::new(&self.scratch)?;
        for entry in &self.entries {
            run.put(entry.key, bytes_of(&self.arena, *entry))?;
        }
        self.runs.push((0, run.finish()?));
        self.entries.clear();
        self.arena.clear();
        let mut level = 0;
        let fan_in = (self.limit / FAN_IN_BYTES).clamp(4, FAN_IN_MAX);
        while self.runs.iter().filter(|(l, _)| *l == level).count() >= fan_in {
            let (merged, rest): (Vec<_>, Vec<_>) =
                self.runs.drain(..).partition(|(l, _)| *l == level);
            self.runs = rest;
            let files = merged.into_iter().map(|(_, file)| file).collect();
            let mut merge = Merge::new(files, self.limit / 2)?;
            let mut run = RunWriter::new(&self.scratch)?;
            while let Some((key, bytes)) = merge.next()? {
                run.put(key, bytes)?;
            }
            level += 1;
            self.runs.push((level, run.finish()?));
        }
        Ok(())
    }

    /// Sorts what was added.
    pub(crate) fn finish(mut self) -> Result<Sorted, ImportError> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted {
                from: Source::Memory {
                    entries: self.entries,
                    arena: self.arena,
                    at: 0,
                },
            });
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        (self.entries, self.arena) = (vec![], vec![]);
        let files = self.runs.drain(..).map(|(_, file)| file).collect();
        let merge = Merge::new(files, self.limit)?;
        Ok(Sorted {
            from: Source::Runs(merge),
        })
    }
}

fn grown<T>(v: &Vec<T>, more: usize, least: usize) -> usize {
    if v.len() + more <= v.capacity() {
        return v.capacity();
    }
    (v.capacity() * 2).max(v.len() + more).max(least)
}

/// The key as one number.
fn wide(key: Key) -> u128 {
    u128::from(key[0]) << 64 | u128::from(key[1])
}

fn bytes_of(arena: &[u8], entry: Entry) -> &[u8] {
    &arena[entry.at as usize..entry.at as usize + entry.len as usize]
}

/// Sorted records, read once.
#[derive(Debug)]
pub(crate) struct Sorted {
    from: Source,
}

#[derive(Debug)]
enum Source {
    Memory {
        entries: Vec<Entry>,
        arena: Vec<u8>,
        at: usize,
    },
    Runs(Merge),
}

impl Sorted {
    /// The next record in order.
    pub(crate) fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        match &mut self.from {
            Source::Memory { entries, arena, at } => {
                let entry = entries.get(*at).copied();
                *at += 1;
                Ok(entry.map(|e| (e.key, bytes_of(arena, e))))
            }
            Source::Runs(merge) => merge.next(),
        }
    }
}

/// Writes records in order: keys as what they are more than the last one.
struct RunWriter {
    file: ScratchFile,
    buffer: Vec<u8>,
    last: Key,
}

impl RunWriter {
    fn new(scratch: &Arc<Scratch>) -> Result<Self, ImportError> {
        Ok(Self {
            file: scratch.file()?,
            buffer: Vec::with_capacity(WRITE_BYTES),
            last: [0; 2],
        })
    }

    fn put(&mut self, key: Key, bytes: &[u8]) -> Result<(), ImportError> {
        let more = key[0] - self.last[0];
        put_varint(&mut self.buffer, more);
        let before = if more == 0 { self.last[1] } else { 0 };
        put_varint(&mut self.buffer, key[1] - before);
        self.last = key;
        put_varint(&mut self.buffer, bytes.len() as u64);
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE_BYTES {
            self.file.append(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ScratchFile, ImportError> {
        self.file.append(&self.buffer)?;
        Ok(self.file)
    }
}

#[derive(Debug)]
struct RunReader {
    file: ScratchFile,
    buffer: Vec<u8>,
    at: usize,
    offset: u64,
    /// Where the part begins that is not freed yet.
    held: u64,
    block: usize,
    key: Key,
    bytes: (usize, usize),
}

impl RunReader {
    /// Moves to the next record; false at the end of the run.
    fn advance(&mut self) -> Result<bool, ImportError> {
        self.want(HEAD_BYTES)?;
        if self.at == self.buffer.len() {
            return Ok(false);
        }
        let mut rest = &self.buffer[self.at..];
        let more = take_varint(&mut rest);
        let before = if more == 0 { self.key[1] } else { 0 };
        self.key = [self.key[0] + more, before + take_varint(&mut rest)];
        let len = take_varint(&mut rest) as usize;
        self.at = self.buffer.len() - rest.len();
        self.want(len)?;
        self.bytes = (self.at, self.at + len);
        self.at += len;
        Ok(true)
    }

    fn want(&mut self, bytes: usize) -> Result<(), ImportError> {
        if self.buffer.len() - self.at >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        let len = (self.file.len() - self.offset).min(self.block.max(bytes) as u64) as usize;
        let from = self.buffer.len();
        self.buffer.resize(from + len, 0);
        self.file.read(&mut self.buffer[from..], self.offset)?;
        self.offset += len as u64;
        if self.offset - self.held >= FREED_BYTES {
            self.file.free(self.held, self.offset - self.held);
            self.held = self.offset;
        }
        Ok(())
    }

    fn current(&self) -> &[u8] {
        &self.buffer[self.bytes.0..self.bytes.1]
    }
}

/// Merges runs through a binary heap of run numbers, smallest record on top.
#[derive(Debug)]
struct Merge {
    runs: Vec<RunReader>,
    heap: Vec<usize>,
    started: bool,
}

impl Merge {
    fn new(files: Vec<ScratchFile>, memory: usize) -> Result<Self, ImportError> {
        let block = (memory / files.len().max(1)).clamp(4 << 10, 256 << 10);
        let mut runs = Vec::new();
        for file in files {
            let mut run = RunReader {
                file,
                buffer: Vec::new(),
                at: 0,
                offset: 0,
                held: 0,
                block,
                key: [0; 2],
                bytes: (0, 0),
            };
            if run.advance()? {
                runs.push(run);
            }
        }
        let mut merge = Self {
            heap: (0..runs.len()).collect(),
            runs,
            started: false,
        };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at);
        }
        Ok(merge)
    }

    fn less(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.runs[self.heap[a]], &self.runs[self.heap[b]]);
        let by_key = wide(a.key).cmp(&wide(b.key));
        by_key.then_with(|| a.current().cmp(b.current())) == Ordering::Less
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.less(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn next(&mut self) -> Result<Option<(Key, &[u8])>, ImportError> {
        if self.started
            && let Some(&top) = self.heap.first()
        {
            if !self.runs[top].advance()? {
                self.heap.swap_remove(0);
            }
            self.sink(0);
        }
        self.started = true;
        Ok(self.heap.first().map(|top| {
            let run = &self.runs[*top];
            (run.key, run.current())
        }))
    }
}

#[cfg(test)]
mod tests;

//! Reads relationship tables with several threads, a block of whole rows at a time.
//!
//! # How it works
//! A worker takes the next block of the table, reads its rows, looks up their ends and encodes what
//! is kept. The scanning thread takes the blocks in the order of the table: it counts degrees and
//! appends the encoded records. A block with anything unusual in it (a bad row, an unknown id) is
//! given back as it was, and the scanning thread reads it row by row, as it reads small tables.
//!
//! # Invariants
//! - SB-1 The ids do not change while workers look them up: the nodes of both ends have tables.
//!
//! # Concurrency
//! Workers take blocks under a lock and name themselves in a queue before they leave it, so the
//! queue has the order of the table. Each sends its blocks through a channel of [`AHEAD`] places: a
//! worker that is further ahead waits.
//!
//! # Costs
//! `AHEAD + 2` blocks for each worker.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};

use super::pending::Pending;
use super::relationships::{RelationshipRow, RowType};
use super::{Scan, fault_of};
use crate::error::ImportError;
use crate::ids::Ids;
use crate::input::TableFile;
use crate::plan::{Plan, RelationshipTable};
use crate::rows::{Block, Rows};
use crate::spool::Records;

/// Blocks of a worker that wait to be taken.
const AHEAD: usize = 2;
/// Tables of fewer bytes are read by one thread: starting others would take longer.
const BYTES_MIN: u64 = 2 << 20;

/// What became of a block.
enum Outcome {
    Read(ReadBlock),
    /// The rows have to be taken one by one.
    Unusual(Block),
    Failed(ImportError),
    /// There are no more blocks.
    End,
}

/// The relationships of a block.
#[derive(Default)]
struct ReadBlock {
    /// The relationships of each type, as records of a spool.
    types: Vec<(BlockType, Records)>,
    /// The nodes of both ends of all.
    ends: Vec<[u32; 2]>,
}

#[derive(PartialEq, Eq)]
enum BlockType {
    OfTable(usize),
    Named(Box<str>),
}

impl PartialEq<RowType<'_>> for BlockType {
    fn eq(&self, other: &RowType<'_>) -> bool {
        match (self, other) {
            (Self::OfTable(a), RowType::OfTable(b)) => a == b,
            (Self::Named(a), RowType::Named(b)) => **a == **b,
            _ => false,
        }
    }
}

impl ReadBlock {
    /// The number of a type within the block.
    fn number_of(&mut self, rel_type: RowType<'_>) -> usize {
        let known = self.types.iter().position(|(known, _)| *known == rel_type);
        known.unwrap_or_else(|| {
            let rel_type = match rel_type {
                RowType::OfTable(number) => BlockType::OfTable(number),
                RowType::Named(name) => BlockType::Named(name.into()),
            };
            self.types.push((rel_type, Records::default()));
            self.types.len() - 1
        })
    }

    fn keep(&mut self, rel_type: usize, ends: [u32; 2], properties: &[u8]) {
        let [start, end] = ends.map(u64::from);
        self.types[rel_type].1.push(start, end, properties);
        self.ends.push(ends);
    }
}

/// What a worker reads blocks with.
struct BlockReader<'p> {
    plan: &'p Plan,
    table: &'p RelationshipTable,
    ids: Arc<Ids>,
    rows: Rows,
    pending: Pending,
    properties: Vec<u8>,
}

impl BlockReader<'_> {
    fn read(&mut self, block: Block) -> Outcome {
        let copy = self.rows.copy_if_changed(&block);
        let begin = block.begin();
        self.rows.read_block(block);
        self.pending.clear();
        let mut read = ReadBlock::default();
        match self.read_rows(&mut read) {
            Some(()) => Outcome::Read(read),
            None => Outcome::Unusual(copy.unwrap_or_else(|| self.rows.give_back(begin))),
        }
    }

    /// `None` where a row is unusual.
    fn read_rows(&mut self, block: &mut ReadBlock) -> Option<()> {
        while self.rows.next().ok()? {
            if fault_of(&self.rows, &self.table.table).is_some() {
                return None;
            }
            let properties = &mut self.properties;
            let row = RelationshipRow::read(self.plan, self.table, &self.rows, properties).ok()?;
            let rel_type = block.number_of(row.rel_type);
            let [start, end] = row.ends;
            if let (Some(start), Some(end)) = (start.plain(&self.rows), end.plain(&self.rows)) {
                self.pending.push(0, rel_type, [start, end], properties);
                if self.pending.is_full() {
                    self.keep_pending(block)?;
                }
                continue;
            }
            let start = self.ids.get(start.space, start.id)?;
            let end = self.ids.get(end.space, end.id)?;
            // Relationships stay in the order of the rows.
            keep_pending(&mut self.pending, &self.ids, block)?;
            block.keep(rel_type, [start, end], &self.properties);
        }
        self.keep_pending(block)
    }

    fn keep_pending(&mut self, block: &mut ReadBlock) -> Option<()> {
        keep_pending(&mut self.pending, &self.ids, block)
    }
}

/// Looks up the ends of all rows that wait; `None` where an end is unknown.
fn keep_pending(pending: &mut Pending, ids: &Ids, block: &mut ReadBlock) -> Option<()> {
    pending.look_up(ids);
    for (row, [start, end], properties) in pending.rows() {
        block.keep(row.rel_type, [start?, end?], properties);
    }
    pending.clear();
    Some(())
}

/// The table, and the workers that took its blocks.
struct Blocks {
    rows: Rows,
    turns: Sender<usize>,
}

/// Reads blocks until the table ends or the scanning thread has.
fn work(
    blocks: &Mutex<Blocks>,
    mut reader: BlockReader<'_>,
    worker: usize,
    to: SyncSender<Outcome>,
) {
    loop {
        let taken = {
            let mut blocks = blocks.lock().expect("no other worker panicked");
            if blocks.turns.send(worker).is_err() {
                return;
            }
            blocks.rows.take_block()
        };
        let outcome = match taken {
            Ok(Some(block)) => reader.read(block),
            Ok(None) => Outcome::End,
            Err(error) => Outcome::Failed(error),
        };
        let is_last = matches!(outcome, Outcome::End | Outcome::Failed(_));
        if to.send(outcome).is_err() || is_last {
            return;
        }
    }
}

impl Scan<'_, '_> {
    /// Whether several threads read the table.
    pub(super) fn is_read_in_blocks(&self, table: &RelationshipTable) -> bool {
        let made = |space: usize| self.created_sets[space].is_some();
        let files = table.table.files.iter();
        self.threads > 1
            && self.partitions.is_none()
            && !made(table.start)
            && !made(table.end)
            && files.map(TableFile::bytes).sum::<u64>() >= BYTES_MIN
    }

    /// Reads a table with as many workers as there are threads.
    pub(super) fn relationship_blocks(&mut self, number: usize) -> Result<(), ImportError> {
        let (plan, table) = (self.plan, &self.plan.relationships[number]);
        for (file, source) in table.table.files.iter().enumerate() {
            let mut rows = Rows::open(source, table.table.cut, &self.bytes, self.threads)?;
            if table.table.has_header(file) && !rows.next()? {
                continue;
            }
            let reader = || BlockReader {
                plan,
                table,
                ids: Arc::clone(&self.ids),
                rows: Rows::none(source.path(), table.table.cut),
                pending: Pending::default(),
                properties: Vec::new(),
            };
            let readers: Vec<BlockReader<'_>> = (0..self.threads).map(|_| reader()).collect();
            let (turns, queue) = channel();
            let blocks = Mutex::new(Blocks { rows, turns });
            std::thread::scope(|scope| {
                let mut results = Vec::new();
                for (worker, reader) in readers.into_iter().enumerate() {
                    let (send, receive) = sync_channel(AHEAD);
                    results.push(receive);
                    let blocks = &blocks;
                    scope.spawn(move || work(blocks, reader, worker, send));
                }
                self.take_blocks((number, file), source.path(), queue, results)
            })?;
        }
        Ok(())
    }

    /// Takes the blocks of the file `file` of the table `number` in their order.
    fn take_blocks(
        &mut self,
        (number, file): (usize, usize),
        path: &Path,
        queue: Receiver<usize>,
        results: Vec<Receiver<Outcome>>,
    ) -> Result<(), ImportError> {
        let table = &self.plan.relationships[number];
        let mut rows = Rows::none(path, table.table.cut);
        let mut properties = Vec::new();
        // A worker that panics sends nothing: its panic goes on where the threads are joined.
        while let Ok(worker) = queue.recv()
            && let Ok(outcome) = results[worker].recv()
        {
            match outcome {
                Outcome::Read(block) => self.keep_block(&block)?,
                Outcome::Unusual(block) => {
                    rows.read_block(block);
                    self.rows(&table.table, &mut rows, |scan, rows| {
                        scan.relationship_row((number, file), rows, &mut properties)
                    })?;
                }
                Outcome::Failed(error) => return Err(error),
                Outcome::End => break,
            }
            self.meter.at(self.bytes.get())?;
        }
        Ok(())
    }

    fn keep_block(&mut self, block: &ReadBlock) -> Result<(), ImportError> {
        for end in block.ends.as_flattened() {
            self.count_end(*end as usize);
        }
        for (rel_type, records) in &block.types {
            let number = match rel_type {
                BlockType::OfTable(number) => *number,
                BlockType::Named(name) => self.staged.rel_type(name),
            };
            self.staged.relationships[number].append(records)?;
        }
        Ok(())
    }
}

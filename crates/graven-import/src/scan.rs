//! Reads all tables: nodes get ordinals, ids in relationships become ordinals, degrees are counted.
//!
//! # How it works
//! Node tables first; references in their rows wait in a spool, because the table referred to may
//! come later. Then those references, the relationship tables and the list tables are resolved
//! against the ids; when the ids do not fit in memory, through `partitions`. A row is taken whole
//! or not at all: everything that can be wrong with it is checked before anything of it is kept.

mod blocks;
mod nodes;
mod partitions;
mod pending;
mod relationships;

use std::sync::Arc;

use graven_pagecache::huge_pages;

use crate::bad_rows::BadRows;
use crate::error::{ImportError, RowError, shown};
use crate::ids::{Id, Ids};
use crate::input::{ByteCount, TableFile};
use crate::options::ImportOptions;
use crate::plan::{Plan, SpaceId, Table};
use crate::progress::{Meter, Unit};
use crate::rows::Rows;
use crate::scratch::Scratch;
use crate::spool::Spool;
use crate::staged::Staged;
use partitions::{IdFacts, Partitions};
use pending::Pending;

const ROWS_PER_REPORT: u64 = 4096;

/// What is wrong with a row; the place is added by the loop over the rows.
#[derive(Debug)]
pub(super) struct Fault {
    column: Option<usize>,
    value: Vec<u8>,
    reason: String,
}

impl Fault {
    fn at(column: usize, rows: &Rows, reason: String) -> Self {
        Self {
            column: Some(column),
            value: rows.field(column).to_vec(),
            reason,
        }
    }
}

/// Why a row was not taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// The row is bad.
    Row(Fault),
    /// The import cannot go on.
    Import(ImportError),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Row(fault)
    }
}

impl From<ImportError> for Refused {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

/// The state of reading.
pub(crate) struct Scan<'a, 's> {
    plan: &'a Plan,
    threads: usize,
    meter: &'a mut Meter<'s>,
    bytes: ByteCount,
    bad: BadRows,
    /// Several threads read them while relationships are read in blocks.
    ids: Arc<Ids>,
    /// Bytes that `ids` may take.
    ids_bytes: u64,
    /// In use instead of `ids` once those did not fit.
    partitions: Option<Partitions>,
    facts: Option<IdFacts>,
    node_bytes: u64,
    staged: Staged,
    /// Relationships per node, by ordinal.
    degrees: Vec<u32>,
    /// Label set of created nodes, by space.
    created_sets: Vec<Option<usize>>,
    /// Nodes created by reference, by space.
    created: Vec<u64>,
    pending: Pending,
    /// Origin of the last created node.
    created_origin: Option<SpaceId>,
    /// Records (ordinal, line, file and column numbers and id): references of node rows.
    references: Spool,
}

/// The result of reading.
pub(crate) struct Scanned {
    pub(crate) staged: Staged,
    pub(crate) ids: Arc<Ids>,
    /// Known of the ids when they are no longer in `ids`.
    facts: Option<IdFacts>,
    pub(crate) degrees: Vec<u32>,
    /// Nodes created by reference, by space.
    pub(crate) created: Vec<u64>,
    pub(crate) skipped_rows: u64,
    pub(crate) input_bytes: u64,
}

impl Scanned {
    /// Whether every id of the space is a number.
    pub(crate) fn is_numeric(&self, space: usize) -> bool {
        self.facts
            .as_ref()
            .map_or_else(|| self.ids.is_numeric(space), |f| !f.has_text[space])
    }

    /// Whether some id occurs in both spaces.
    pub(crate) fn overlap(&self, a: usize, b: usize) -> bool {
        self.facts.as_ref().map_or_else(
            || self.ids.overlap(a, b),
            |f| f.overlaps.contains(&(a.min(b), a.max(b))),
        )
    }
}

impl<'a, 's> Scan<'a, 's> {
    pub(crate) fn new(
        plan: &'a Plan,
        options: &ImportOptions,
        scratch: &Arc<Scratch>,
        meter: &'a mut Meter<'s>,
    ) -> Result<Self, ImportError> {
        let mut staged = Staged::new(plan, scratch);
        let created_sets = plan
            .spaces
            .iter()
            .map(|s| s.created.as_ref().map(|labels| staged.label_set(labels)))
            .collect();
        Ok(Self {
            plan,
            threads: options.threads,
            meter,
            bytes: ByteCount::default(),
            bad: BadRows::new(options.skip_bad_rows.as_deref())?,
            ids: Arc::new(Ids::new(plan.spaces.len())),
            ids_bytes: options.memory * 3 / 8,
            partitions: None,
            facts: None,
            node_bytes: 0,
            staged,
            degrees: Vec::new(),
            created_sets,
            created: vec![0; plan.spaces.len()],
            pending: Pending::default(),
            created_origin: None,
            references: Spool::new(scratch),
        })
    }

    /// Reads everything.
    pub(crate) fn run(mut self) -> Result<Scanned, ImportError> {
        let plan = self.plan;
        let all = |tables: &mut dyn Iterator<Item = &Table>| -> u64 {
            tables.flat_map(|t| &t.files).map(TableFile::bytes).sum()
        };
        let node_bytes = all(&mut plan.nodes.iter().map(|t| &t.table));
        let other_bytes = all(&mut plan.relationships.iter().map(|t| &t.table))
            + all(&mut plan.lists.iter().map(|t| &t.table));
        self.node_bytes = node_bytes;
        self.meter.phase("reading nodes", node_bytes, Unit::Bytes)?;
        for number in 0..plan.nodes.len() {
            self.node_table(number)?;
        }
        let nodes = usize::try_from(self.staged.nodes).unwrap_or(usize::MAX);
        self.degrees = huge_pages::zeros(nodes);
        self.meter.phase(
            "reading relationships",
            node_bytes + other_bytes,
            Unit::Bytes,
        )?;
        self.resolve_references()?;
        for number in 0..plan.relationships.len() {
            self.relationship_table(number)?;
        }
        for number in 0..plan.lists.len() {
            self.list_table(number)?;
        }
        self.resolve_partitions()?;
        self.staged.close_run()?;
        Ok(Scanned {
            staged: self.staged,
            ids: self.ids,
            facts: self.facts,
            degrees: self.degrees,
            created: self.created,
            skipped_rows: self.bad.finish()?,
            input_bytes: self.bytes.get(),
        })
    }

    /// Calls `take` for every row of a table; bad rows go to the report or end the import.
    fn each_row(
        &mut self,
        table: &Table,
        mut take: impl FnMut(&mut Self, usize, &Rows) -> Result<(), Refused>,
    ) -> Result<(), ImportError> {
        for (number, file) in table.files.iter().enumerate() {
            let mut rows = Rows::open(file, table.cut, &self.bytes, self.threads)?;
            if table.has_header(number) && !rows.next()? {
                continue;
            }
            self.rows(table, &mut rows, |scan, rows| take(scan, number, rows))?;
        }
        Ok(())
    }

    /// Calls `take` for the rows that are left.
    fn rows(
        &mut self,
        table: &Table,
        rows: &mut Rows,
        mut take: impl FnMut(&mut Self, &Rows) -> Result<(), Refused>,
    ) -> Result<(), ImportError> {
        let mut since = 0;
        while rows.next()? {
            let taken = match fault_of(rows, table) {
                Some(fault) => Err(fault.into()),
                None => take(self, rows),
            };
            match taken {
                Ok(()) if self.pending.is_full() => {
                    self.resolve_pending(rows.path(), &table.header)?;
                }
                Ok(()) => {}
                Err(Refused::Row(fault)) => {
                    // Bad rows are told in the order of the table.
                    self.resolve_pending(rows.path(), &table.header)?;
                    self.bad.take(row_error(rows, &table.header, fault))?;
                }
                Err(Refused::Import(error)) => return Err(error),
            }
            since += 1;
            if since == ROWS_PER_REPORT {
                since = 0;
                self.meter.at(self.bytes.get())?;
            }
        }
        self.resolve_pending(rows.path(), &table.header)
    }

    /// The ids, to be changed: no other thread reads them now.
    fn ids_mut(&mut self) -> &mut Ids {
        Arc::get_mut(&mut self.ids).expect("ids change while no block is read")
    }

    /// The node of an id; made now if the space's table is missing.
    fn resolve(&mut self, space: SpaceId, id: Id<'_>) -> Result<Option<u32>, ImportError> {
        if let Some(ordinal) = self.ids.get(space, id) {
            return Ok(Some(ordinal));
        }
        let Some(label_set) = self.created_sets[space] else {
            return Ok(None);
        };
        if self.created_origin != Some(space) {
            self.created_origin = Some(space);
            self.staged.origin(space, self.plan.spaces[space].key);
        }
        let ordinal = self.staged.node(label_set)?;
        self.ids_mut().insert(space, id, ordinal);
        self.created[space] += 1;
        self.degrees.push(0);
        if let Some(key) = self.plan.spaces[space].key {
            let mut value = Vec::new();
            id.encode(&mut value);
            self.staged.columns[key]
                .values
                .push(u64::from(ordinal), 0, &value)?;
        }
        Ok(Some(ordinal))
    }
}

/// What is wrong with a row whatever its fields mean.
fn fault_of(rows: &Rows, table: &Table) -> Option<Fault> {
    if rows.len() != table.header.len() {
        return Some(width_fault(rows, table.header.len()));
    }
    rows.stray().map(|column| stray_fault(rows, column))
}

fn width_fault(rows: &Rows, expected: usize) -> Fault {
    Fault {
        column: None,
        value: rows.joined(),
        reason: format!(
            "has {} fields where the header has {expected}: correct the row, or quote the \
             delimiter inside a value",
            rows.len()
        ),
    }
}

fn stray_fault(rows: &Rows, column: usize) -> Fault {
    Fault {
        column: Some(column),
        value: rows.field(column).to_vec(),
        reason:
            "has text between the closing quote and the delimiter: double the quotes that belong \
                 to the value, or say that fields are not quoted"
                .to_owned(),
    }
}

fn row_error(rows: &Rows, header: &[String], fault: Fault) -> RowError {
    RowError {
        file: rows.path().to_path_buf(),
        line: rows.row_line(),
        column: fault.column.map_or_else(String::new, |c| header[c].clone()),
        value: shown(&fault.value),
        reason: fault.reason,
    }
}

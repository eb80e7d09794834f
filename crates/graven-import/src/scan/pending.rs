//! Relationships between reading and looking up their ends.
//!
//! # How it works
//! A look-up among millions of ids waits for memory. Rows collect here, and the ends of many are
//! looked up one right after the other: none of these look-ups depends on another one, so the
//! processor waits for several at once. Rows with ids that are not plain numbers do not come here.

use std::path::Path;

use super::Scan;
use crate::error::{ImportError, RowError, unknown_id};
use crate::ids::numbers::Slot;
use crate::ids::{Id, Ids};
use crate::plan::SpaceId;

/// Relationships of which the ends are looked up together, and bytes of their properties: no other
/// row joins them then.
const AT_ONCE: usize = 256;
const BYTES: usize = 64 << 10;

/// An end that is to be looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) space: SpaceId,
    pub(super) number: i64,
    /// The column that holds it.
    pub(super) column: usize,
}

/// A row of which the ends are looked up.
#[derive(Debug)]
pub(super) struct Row {
    line: u64,
    pub(super) rel_type: usize,
    /// Start and end.
    ends: [End; 2],
    /// Where its properties end among those of all rows.
    properties_end: usize,
}

/// See the file header.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: Vec<Row>,
    properties: Vec<u8>,
    /// Where the search of both ends begins, by row.
    firsts: Vec<[Slot; 2]>,
    /// The nodes of both ends, by row.
    found: Vec<[Option<u32>; 2]>,
}

impl Pending {
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= AT_ONCE || self.properties.len() >= BYTES
    }

    pub(super) fn push(&mut self, line: u64, rel_type: usize, ends: [End; 2], properties: &[u8]) {
        self.properties.extend_from_slice(properties);
        self.rows.push(Row {
            line,
            rel_type,
            ends,
            properties_end: self.properties.len(),
        });
    }

    /// Looks up the ends of all rows.
    pub(super) fn look_up(&mut self, ids: &Ids) {
        let first = |end: &End| ids.first(end.space, end.number);
        let firsts = self.rows.iter().map(|row| row.ends.each_ref().map(first));
        self.firsts.clear();
        self.firsts.extend(firsts);
        let found = self.rows.iter().zip(&self.firsts).map(|(row, firsts)| {
            let ([start, end], [first, second]) = (&row.ends, firsts);
            [
                ids.found(start.space, *first, start.number),
                ids.found(end.space, *second, end.number),
            ]
        });
        self.found.clear();
        self.found.extend(found);
    }

    /// The rows that were looked up, the nodes of their ends, and their properties.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Row, [Option<u32>; 2], &[u8])> {
        let mut from = 0;
        let rows = self.rows.iter().zip(&self.found);
        rows.map(move |(row, found)| {
            let properties = &self.properties[from..row.properties_end];
            from = row.properties_end;
            (row, *found, properties)
        })
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.properties.clear();
    }
}

impl Scan<'_, '_> {
    /// Looks up the ends of all rows that wait, and keeps the relationships; bad rows go to the
    /// report or end the import.
    pub(super) fn resolve_pending(
        &mut self,
        path: &Path,
        header: &[String],
    ) -> Result<(), ImportError> {
        if self.pending.rows.is_empty() {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.look_up(&self.ids);
        for (row, found, properties) in pending.rows() {
            match self.made_ends(row, found)? {
                Ok([start, end]) => {
                    self.keep_relationship(row.rel_type, start, end, properties)?;
                }
                Err(end) => self.bad.take(RowError {
                    file: path.to_path_buf(),
                    line: row.line,
                    column: header[end.column].clone(),
                    value: end.number.to_string(),
                    reason: unknown_id(&self.plan.spaces[end.space].name),
                })?,
            }
        }
        pending.clear();
        self.pending = pending;
        Ok(())
    }

    /// The nodes of both ends, made where their table is missing; the first end that has none.
    fn made_ends(
        &mut self,
        row: &Row,
        found: [Option<u32>; 2],
    ) -> Result<Result<[u64; 2], End>, ImportError> {
        let mut nodes = [0; 2];
        for ((end, found), node) in row.ends.iter().zip(found).zip(&mut nodes) {
            let made = match found {
                Some(found) => Some(found),
                None => self.resolve(end.space, Id::Number(end.number))?,
            };
            let Some(made) = made else {
                return Ok(Err(*end));
            };
            *node = u64::from(made);
        }
        Ok(Ok(nodes))
    }
}

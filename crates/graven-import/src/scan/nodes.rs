//! Reads node tables and resolves the references in their rows.

use super::partitions::{Partitions, RowPosition, TableList, Then};
use super::{Fault, Refused, Scan};
use crate::error::unknown_id;
use crate::error::{ImportError, RowError, shown};
use crate::ids::{Id, Ids};
use crate::plan::{NodeColumn, NodeTable, ReferenceEnd};
use crate::rows::Rows;
use crate::spool::Spool;
use crate::value::{put_varint, take_varint};

/// One row while it is checked, reused from row to row.
#[derive(Default)]
struct Row {
    /// Values one after the other.
    values: Vec<u8>,
    /// Key and end of each value.
    ends: Vec<(usize, usize)>,
    /// Columns with a reference.
    references: Vec<usize>,
    labels: Vec<usize>,
    id_column: Option<usize>,
}

impl Scan<'_, '_> {
    pub(super) fn node_table(&mut self, number: usize) -> Result<(), ImportError> {
        let plan = self.plan;
        let table = &plan.nodes[number];
        let key = table.columns.iter().find_map(|column| match column {
            NodeColumn::Id { key } => *key,
            _ => None,
        });
        self.staged.origin(table.space.unwrap_or(usize::MAX), key);
        let fixed_set = self.staged.label_set(&table.labels);
        let mut row = Row::default();
        self.each_row(&table.table, |scan, file, rows| {
            scan.check_node(table, rows, &mut row)?;
            let set = if row.labels.len() == table.labels.len() {
                fixed_set
            } else {
                scan.staged.label_set(&row.labels)
            };
            scan.keep_node(number, file, rows, &row, set)
        })
    }

    /// Reads every field of a row into `row`.
    fn check_node(&mut self, table: &NodeTable, rows: &Rows, row: &mut Row) -> Result<(), Fault> {
        row.values.clear();
        row.ends.clear();
        row.references.clear();
        row.id_column = None;
        row.labels.clear();
        row.labels.extend_from_slice(&table.labels);
        for (i, column) in table.columns.iter().enumerate() {
            let field = rows.field(i);
            match column {
                NodeColumn::Ignore => {}
                NodeColumn::Id { key } => {
                    let Some(space) = table.space else { continue };
                    let kind = self.plan.spaces[space].ids;
                    let id = Id::parse(field, kind).map_err(|e| Fault::at(i, rows, e))?;
                    row.id_column = Some(i);
                    if let Some(key) = key {
                        id.encode(&mut row.values);
                        row.ends.push((*key, row.values.len()));
                    }
                }
                _ if field.is_empty() => {}
                NodeColumn::Labels(separator) => {
                    let names = field.split(|b| b == separator).map(<[u8]>::trim_ascii);
                    for name in names.filter(|n| !n.is_empty()) {
                        let label = label_name(name).map_err(|e| Fault::at(i, rows, e))?;
                        row.labels.push(self.staged.labels.intern(&label));
                    }
                }
                NodeColumn::OneLabel(known) => {
                    let is_it = |l: &&usize| {
                        self.plan
                            .labels
                            .get(**l)
                            .as_bytes()
                            .eq_ignore_ascii_case(field)
                    };
                    let label = known.iter().find(is_it).ok_or_else(|| {
                        let names: Vec<&str> =
                            known.iter().map(|l| self.plan.labels.get(*l)).collect();
                        Fault::at(i, rows, format!("is none of {}", names.join(", ")))
                    })?;
                    row.labels.push(*label);
                }
                NodeColumn::Property { key, kind } => {
                    kind.encode(field, &mut row.values)
                        .map_err(|e| Fault::at(i, rows, e))?;
                    row.ends.push((*key, row.values.len()));
                }
                NodeColumn::Reference { space, .. } => {
                    let kind = self.plan.spaces[*space].ids;
                    Id::parse(field, kind).map_err(|e| Fault::at(i, rows, e))?;
                    row.references.push(i);
                }
            }
        }
        Ok(())
    }

    fn keep_node(
        &mut self,
        number: usize,
        file: usize,
        rows: &Rows,
        row: &Row,
        set: usize,
    ) -> Result<(), Refused> {
        let table = &self.plan.nodes[number];
        if let (Some(space), Some(column)) = (table.space, row.id_column) {
            let id = Id::parse(rows.field(column), self.plan.spaces[space].ids)
                .map_err(|e| Fault::at(column, rows, e))?;
            let place = RowPosition {
                list: TableList::Nodes,
                table: number,
                file,
                column,
                line: rows.row_line(),
            };
            if !self.insert_id(space, id, place)? {
                let reason = format!(
                    "the id occurs twice among the nodes of '{}': ids must be unique there",
                    self.plan.spaces[space].name
                );
                return Err(Fault::at(column, rows, reason).into());
            }
        }
        let ordinal = u64::from(self.staged.node(set)?);
        let mut start = 0;
        for (key, end) in &row.ends {
            self.staged.columns[*key]
                .values
                .push(ordinal, 0, &row.values[start..*end])?;
            start = *end;
        }
        for column in &row.references {
            let mut bytes = Vec::with_capacity(24);
            put_varint(&mut bytes, number as u64);
            put_varint(&mut bytes, file as u64);
            put_varint(&mut bytes, *column as u64);
            bytes.extend_from_slice(rows.field(*column));
            self.references.push(ordinal, rows.row_line(), &bytes)?;
        }
        Ok(())
    }

    /// Remembers the id of the next node; false if it is known to be there already.
    fn insert_id(
        &mut self,
        space: usize,
        id: Id<'_>,
        place: RowPosition,
    ) -> Result<bool, ImportError> {
        let next = self.staged.nodes as u32;
        if self.partitions.is_none() && self.ids.bytes() > self.ids_bytes {
            let none = Ids::new(self.plan.spaces.len());
            let ids = std::mem::replace(self.ids_mut(), none);
            // As many ids again per byte of input as so far, and half as many for good measure.
            let read = self.bytes.get().clamp(1, self.node_bytes.max(1));
            let expected = ids.bytes() as f64 * (self.node_bytes as f64 / read as f64) * 1.5;
            let scratch = self.staged.scratch();
            let partitions = Partitions::new(ids, expected as u64, self.ids_bytes / 2, scratch)?;
            self.partitions = Some(partitions);
        }
        match &mut self.partitions {
            Some(partitions) => partitions.insert(space, id, next, place).map(|()| true),
            None => Ok(self.ids_mut().insert(space, id, next)),
        }
    }

    /// Turns the references of node rows into relationships.
    pub(super) fn resolve_references(&mut self) -> Result<(), ImportError> {
        let empty = Spool::new(self.staged.scratch());
        let references = std::mem::replace(&mut self.references, empty);
        let mut reader = references.reader();
        while let Some((ordinal, line, mut bytes)) = reader.next()? {
            let table_number = take_varint(&mut bytes) as usize;
            let table = &self.plan.nodes[table_number];
            let file = take_varint(&mut bytes) as usize;
            let column = take_varint(&mut bytes) as usize;
            let NodeColumn::Reference {
                rel_type,
                space,
                end,
            } = &table.columns[column]
            else {
                continue;
            };
            let Ok(id) = Id::parse(bytes, self.plan.spaces[*space].ids) else {
                continue;
            };
            if let Some(partitions) = &mut self.partitions {
                let table = table_number;
                let place = RowPosition {
                    list: TableList::Nodes,
                    table,
                    file,
                    column,
                    line,
                };
                let is_start = *end == ReferenceEnd::End;
                let then = Then::Other {
                    rel_type: *rel_type,
                    ordinal,
                    is_start,
                };
                partitions.wait(0, *space, id, place, then, &[])?;
                continue;
            }
            let Some(other) = self.resolve(*space, id)? else {
                self.bad.take(RowError {
                    file: table.table.files[file].path().to_path_buf(),
                    line,
                    column: table.table.header[column].clone(),
                    value: shown(bytes),
                    reason: unknown_id(&self.plan.spaces[*space].name),
                })?;
                continue;
            };
            let (start, finish) = match end {
                ReferenceEnd::End => (ordinal, u64::from(other)),
                ReferenceEnd::Start => (u64::from(other), ordinal),
            };
            self.keep_relationship(*rel_type, start, finish, &[])?;
        }
        Ok(())
    }
}

fn label_name(name: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(name).map_err(|_| "the label is not UTF-8".to_owned())?;
    Ok(text.trim().to_owned())
}

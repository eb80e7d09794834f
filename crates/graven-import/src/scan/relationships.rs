//! Reads relationship tables and tables of list elements.

use super::partitions::{RowPosition, TableList, Then};
use super::pending::End;
use super::{Fault, Refused, Scan};
use crate::error::ImportError;
use crate::error::unknown_id;
use crate::ids::{Id, is_canonical};
use crate::plan::{ListTable, Plan, RelationshipColumn, RelationshipTable, RowDirection, SpaceId};
use crate::rows::Rows;
use crate::value::{put_text, put_varint};

/// The type of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowType<'r> {
    /// That of the table, a number of the plan.
    OfTable(usize),
    Named(&'r str),
}

/// One end of a row as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowEnd<'r> {
    pub(super) space: SpaceId,
    pub(super) column: usize,
    pub(super) id: Id<'r>,
}

impl RowEnd<'_> {
    /// The end as one that is looked up together with others: it is written as a plain number.
    pub(super) fn plain(&self, rows: &Rows) -> Option<End> {
        match self.id {
            Id::Number(number) if is_canonical(rows.field(self.column)) => Some(End {
                space: self.space,
                number,
                column: self.column,
            }),
            _ => None,
        }
    }
}

/// A row of a relationship table; its properties go to a buffer of the caller.
#[derive(Debug)]
pub(super) struct RelationshipRow<'r> {
    pub(super) rel_type: RowType<'r>,
    /// Start and end.
    pub(super) ends: [RowEnd<'r>; 2],
}

impl<'r> RelationshipRow<'r> {
    /// Reads the fields of a row; its properties replace those in `properties`.
    pub(super) fn read(
        plan: &Plan,
        table: &RelationshipTable,
        rows: &'r Rows,
        properties: &mut Vec<u8>,
    ) -> Result<Self, Fault> {
        properties.clear();
        let (mut start, mut end) = (None, None);
        let mut rel_type = table.rel_type.map(RowType::OfTable);
        for (i, column) in table.columns.iter().enumerate() {
            let field = rows.field(i);
            let id = |space: SpaceId| {
                let id = Id::parse(field, plan.spaces[space].ids);
                let id = id.map_err(|e| Fault::at(i, rows, e))?;
                Ok::<_, Fault>(Some(RowEnd {
                    space,
                    column: i,
                    id,
                }))
            };
            match column {
                RelationshipColumn::Ignore => {}
                RelationshipColumn::Start => start = id(table.start)?,
                RelationshipColumn::End => end = id(table.end)?,
                RelationshipColumn::Type if field.is_empty() && rel_type.is_some() => {}
                RelationshipColumn::Type => {
                    let name = std::str::from_utf8(field).ok().filter(|n| !n.is_empty());
                    let name = name.ok_or_else(|| {
                        let reason = "is no relationship type: give every row one";
                        Fault::at(i, rows, reason.into())
                    })?;
                    rel_type = Some(RowType::Named(name));
                }
                RelationshipColumn::Property { .. } if field.is_empty() => {}
                RelationshipColumn::Property { key, kind } => {
                    put_varint(properties, *key as u64);
                    kind.encode(field, properties)
                        .map_err(|e| Fault::at(i, rows, e))?;
                }
            }
        }
        let (Some(start), Some(end), Some(rel_type)) = (start, end, rel_type) else {
            return Err(Fault {
                column: None,
                value: rows.joined(),
                reason: "the row has no start, end or type".into(),
            });
        };
        let mut ends = [start, end];
        if table.direction == RowDirection::SmallerToLarger && larger(start.id, end.id) {
            ends.reverse();
        }
        Ok(Self { rel_type, ends })
    }
}

impl Scan<'_, '_> {
    pub(super) fn relationship_table(&mut self, number: usize) -> Result<(), ImportError> {
        let plan = self.plan;
        let table = &plan.relationships[number];
        if self.is_read_in_blocks(table) {
            return self.relationship_blocks(number);
        }
        let mut properties = Vec::new();
        self.each_row(&table.table, |scan, file, rows| {
            scan.relationship_row((number, file), rows, &mut properties)
        })
    }

    /// Keeps the relationship of a row of the file `file` of the table `number`.
    pub(super) fn relationship_row(
        &mut self,
        (number, file): (usize, usize),
        rows: &Rows,
        properties: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let table = &self.plan.relationships[number];
        let row = RelationshipRow::read(self.plan, table, rows, properties)?;
        let rel_type = match row.rel_type {
            RowType::OfTable(number) => number,
            RowType::Named(name) => self.staged.rel_type(name),
        };
        let [start, end] = row.ends;
        if let Some(partitions) = &mut self.partitions {
            let place = RowPosition {
                list: TableList::Relationships,
                table: number,
                file,
                column: start.column,
                line: rows.row_line(),
            };
            let then = Then::Start {
                rel_type,
                end_space: end.space,
                end_column: end.column,
                end: end.id,
            };
            return Ok(partitions.wait(0, start.space, start.id, place, then, properties)?);
        }
        if let (Some(start), Some(end)) = (start.plain(rows), end.plain(rows)) {
            let (line, ends) = (rows.row_line(), [start, end]);
            self.pending.push(line, rel_type, ends, properties);
            return Ok(());
        }
        // Nodes are made in the order of the rows that refer to them.
        self.resolve_pending(rows.path(), &table.table.header)?;
        let start = self.end_of_row(rows, start)?;
        let end = self.end_of_row(rows, end)?;
        Ok(self.keep_relationship(rel_type, start, end, properties)?)
    }

    fn end_of_row(&mut self, rows: &Rows, end: RowEnd<'_>) -> Result<u64, Refused> {
        let RowEnd { space, column, id } = end;
        self.resolve(space, id)?.map(u64::from).ok_or_else(|| {
            Fault::at(column, rows, unknown_id(&self.plan.spaces[space].name)).into()
        })
    }

    pub(super) fn keep_relationship(
        &mut self,
        rel_type: usize,
        start: u64,
        end: u64,
        properties: &[u8],
    ) -> Result<(), ImportError> {
        self.count_end(start as usize);
        self.count_end(end as usize);
        self.staged.relationships[rel_type].push(start, end, properties)
    }

    /// A node has one relationship more.
    pub(super) fn count_end(&mut self, node: usize) {
        let degree = &mut self.degrees[node];
        *degree = degree.saturating_add(1);
    }

    pub(super) fn list_table(&mut self, number_of_table: usize) -> Result<(), ImportError> {
        let plan = self.plan;
        let table: &ListTable = &plan.lists[number_of_table];
        let kind = self.plan.spaces[table.space].ids;
        let mut element = Vec::new();
        let mut number = 0;
        self.each_row(&table.table, |scan, file, rows| {
            let (column, value) = (table.id_column, rows.field(table.value_column));
            let id = Id::parse(rows.field(column), kind).map_err(|e| Fault::at(column, rows, e))?;
            if std::str::from_utf8(value).is_err() {
                return Err(Fault::at(table.value_column, rows, "is not UTF-8".into()).into());
            }
            element.clear();
            put_text(&mut element, value);
            number += 1;
            if let Some(partitions) = &mut scan.partitions {
                let place = RowPosition {
                    list: TableList::Lists,
                    table: number_of_table,
                    file,
                    column,
                    line: rows.row_line(),
                };
                let then = Then::Element {
                    key: table.key,
                    number,
                };
                return Ok(partitions.wait(0, table.space, id, place, then, &element)?);
            }
            let space = table.space;
            let ordinal = scan.end_of_row(rows, RowEnd { space, column, id })?;
            Ok(scan.staged.columns[table.key]
                .elements
                .push(ordinal, number, &element)?)
        })
    }
}

fn larger(a: Id<'_>, b: Id<'_>) -> bool {
    match (a, b) {
        (Id::Number(a), Id::Number(b)) => a > b,
        (Id::Text(a), Id::Text(b)) => a > b,
        (Id::Text(_), Id::Number(_)) => true,
        (Id::Number(_), Id::Text(_)) => false,
    }
}

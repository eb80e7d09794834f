//! Reads relationship tables and tables of list elements.

use super::partitions::{RowPosition, TableList, Then};
use super::pending::End;
use super::{Fault, Refused, Scan};
use crate::error::ImportError;
use crate::error::unknown_id;
use crate::ids::{Id, is_canonical};
use crate::plan::{ListTable, RelationshipColumn, RelationshipTable, RowDirection};
use crate::rows::Rows;
use crate::value::{put_text, put_varint};

impl Scan<'_, '_> {
    pub(super) fn relationship_table(&mut self, number: usize) -> Result<(), ImportError> {
        let plan = self.plan;
        let table = &plan.relationships[number];
        let mut properties = Vec::new();
        self.each_row(&table.table, |scan, file, rows| {
            scan.relationship_row((number, file), table, rows, &mut properties)
        })
    }

    fn relationship_row(
        &mut self,
        (number, file): (usize, usize),
        table: &RelationshipTable,
        rows: &Rows,
        properties: &mut Vec<u8>,
    ) -> Result<(), Refused> {
        let plan = self.plan;
        properties.clear();
        let (mut start, mut end, mut rel_type) = (None, None, table.rel_type);
        for (i, column) in table.columns.iter().enumerate() {
            let field = rows.field(i);
            let id = |space: usize| {
                Id::parse(field, plan.spaces[space].ids)
                    .map(|id| (i, id))
                    .map_err(|e| Fault::at(i, rows, e))
            };
            match column {
                RelationshipColumn::Ignore => {}
                RelationshipColumn::Start => start = Some(id(table.start)?),
                RelationshipColumn::End => end = Some(id(table.end)?),
                RelationshipColumn::Type if field.is_empty() && rel_type.is_some() => {}
                RelationshipColumn::Type => {
                    let name = std::str::from_utf8(field).ok().filter(|n| !n.is_empty());
                    let name = name.ok_or_else(|| {
                        Fault::at(
                            i,
                            rows,
                            "is no relationship type: give every row one".into(),
                        )
                    })?;
                    rel_type = Some(self.staged.rel_type(name));
                }
                RelationshipColumn::Property { .. } if field.is_empty() => {}
                RelationshipColumn::Property { key, kind } => {
                    put_varint(properties, *key as u64);
                    kind.encode(field, properties)
                        .map_err(|e| Fault::at(i, rows, e))?;
                }
            }
        }
        let (Some(mut start), Some(mut end), Some(rel_type)) = (start, end, rel_type) else {
            return Err(Fault {
                column: None,
                value: rows.joined(),
                reason: "the row has no start, end or type".into(),
            }
            .into());
        };
        let (mut start_space, mut end_space) = (table.start, table.end);
        if table.direction == RowDirection::SmallerToLarger && larger(start.1, end.1) {
            std::mem::swap(&mut start, &mut end);
            std::mem::swap(&mut start_space, &mut end_space);
        }
        if let Some(partitions) = &mut self.partitions {
            let place = RowPosition {
                list: TableList::Relationships,
                table: number,
                file,
                column: start.0,
                line: rows.row_line(),
            };
            let (end_column, end) = end;
            let then = Then::Start {
                rel_type,
                end_space,
                end_column,
                end,
            };
            return Ok(partitions.wait(0, start_space, start.1, place, then, properties)?);
        }
        let end_of = |(column, id): (usize, Id<'_>), space| match id {
            Id::Number(number) if is_canonical(rows.field(column)) => Some(End {
                space,
                number,
                column,
            }),
            _ => None,
        };
        if let (Some(start), Some(end)) = (end_of(start, start_space), end_of(end, end_space)) {
            let (line, ends) = (rows.row_line(), [start, end]);
            self.pending.push(line, rel_type, ends, properties);
            return Ok(());
        }
        // Nodes are made in the order of the rows that refer to them.
        self.resolve_pending(rows.path(), &table.table.header)?;
        let start = self.end_of_row(rows, start_space, start)?;
        let end = self.end_of_row(rows, end_space, end)?;
        Ok(self.keep_relationship(rel_type, start, end, properties)?)
    }

    fn end_of_row(
        &mut self,
        rows: &Rows,
        space: usize,
        (column, id): (usize, Id<'_>),
    ) -> Result<u64, Refused> {
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
        for end in [start, end] {
            let degree = &mut self.degrees[end as usize];
            *degree = degree.saturating_add(1);
        }
        self.staged.relationships[rel_type].push(start, end, properties)
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
            let ordinal = scan.end_of_row(rows, table.space, (column, id))?;
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

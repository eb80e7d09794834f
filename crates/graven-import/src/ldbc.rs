//! The layouts of LDBC's social network (Interactive, BI, LSQB and partial sets) as a plan.
//!
//! # How it works
//! Tables are known by their file names (`person`, `Person_knows_Person`, `knows`, part files
//! `person_0_0.csv` or `Person/part-00000.csv`), columns by their header; the folder's name plays
//! no part. `columns` holds what each column name means. Ends of relationships come from the file
//! name, not from the header, because published sets carry misspelt ones. Update batches (first
//! column `batch_id`), update streams and parameter files are no tables of the bulk data and are
//! left out.
//!
//! Ids are one space per node table. A table that is missing but referred to gets a space whose
//! nodes are made from the references (`Space::created`). `City`, `Country`, `Continent` fall back
//! to the table `Place`, `University` and `Company` to `Organisation`, when only that is there.
//!
//! # Source
//! LDBC SNB specification 2.2.3 (data types, serialisers), LSQB repository (headers).

mod columns;
mod files;

use std::path::{Path, PathBuf};

use crate::error::ImportError;
use crate::input::TableFile;
use crate::plan::{
    Headers, IdKind, ListTable, NodeColumn, NodeTable, Plan, RelationshipColumn, RelationshipTable,
    RowDirection, Space, SpaceId, Table,
};
use crate::value::Kind;
use columns::{Meaning, labels_with, node_column, type_of};
use files::{Found, Shape};

/// Finds the tables under `folder` and says what they hold.
pub(crate) fn plan(folder: &Path) -> Result<Plan, ImportError> {
    let (tables, ignored) = files::find(folder)?;
    if tables.is_empty() {
        return Err(ImportError::NothingToImport {
            path: folder.to_path_buf(),
        });
    }
    plan_of(tables, ignored)
}

/// The plan of tables in one of the layouts.
pub(crate) fn plan_made(files: Vec<TableFile>) -> Result<Plan, ImportError> {
    let (tables, ignored) = files::tables(files.into_iter())?;
    plan_of(tables, ignored)
}

fn plan_of(tables: Vec<Found>, ignored: Vec<PathBuf>) -> Result<Plan, ImportError> {
    let mut builder = Builder {
        plan: Plan {
            ignored,
            ..Plan::default()
        },
        present: vec![],
    };
    builder.present = tables
        .iter()
        .filter_map(|t| match &t.shape {
            Shape::Node(label) => Some((*label).to_owned()),
            _ => None,
        })
        .collect();
    for found in tables {
        builder.table(found)?;
    }
    let id = builder.plan.keys.intern("id");
    for label in 0..builder.plan.labels.len() {
        builder.plan.index(label, id);
    }
    Ok(builder.plan)
}

struct Builder {
    plan: Plan,
    /// Labels that have a node table.
    present: Vec<String>,
}

impl Builder {
    fn table(&mut self, found: Found) -> Result<(), ImportError> {
        match found.shape.clone() {
            Shape::Node(label) => self.node_table(label, found),
            Shape::Relationship(start, verb, end) => {
                let ends = self.ends(&found)?;
                self.relationship_table(&found, [start, end], &verb, ends);
            }
            Shape::List(label, key) => self.list_table(label, key, &found)?,
        }
        Ok(())
    }

    fn node_table(&mut self, label: &'static str, found: Found) {
        let space = self.space(label);
        let labels = self.labels(label);
        let columns = found
            .header
            .iter()
            .map(|name| self.node_column(label, name))
            .collect();
        self.plan.nodes.push(NodeTable {
            table: table(&found),
            space: Some(space),
            labels,
            columns,
        });
    }

    fn node_column(&mut self, label: &str, name: &str) -> NodeColumn {
        match node_column(label, name) {
            Meaning::Id => NodeColumn::Id {
                key: Some(self.plan.keys.intern("id")),
            },
            Meaning::SubLabel => {
                let subs = columns::sub_labels(label).iter();
                NodeColumn::OneLabel(subs.map(|l| self.plan.labels.intern(l)).collect())
            }
            Meaning::Reference {
                rel_type,
                label,
                end,
            } => {
                let rel_type = self.plan.types.intern(rel_type);
                NodeColumn::Reference {
                    rel_type,
                    space: self.space(label),
                    end,
                }
            }
            Meaning::List(key) => NodeColumn::Property {
                key: self.plan.keys.intern(key),
                kind: Kind::Array(Box::new(Kind::Text), b';'),
            },
            Meaning::Property(key, kind) => NodeColumn::Property {
                key: self.plan.keys.intern(&key),
                kind,
            },
        }
    }

    /// Positions of the start and end columns.
    fn ends(&self, found: &Found) -> Result<[usize; 2], ImportError> {
        let ends: Vec<usize> = (0..found.header.len())
            .filter(|i| columns::is_end(&found.header[*i]))
            .collect();
        let [first, second] = ends[..] else {
            return Err(ImportError::Layout {
                path: found.files[0].path().to_path_buf(),
                reason: format!(
                    "the header '{}' should name two id columns, such as Person.id|Tag.id or \
                     :START_ID(Person)|:END_ID(Tag), and names {}",
                    found.header.join("|"),
                    ends.len()
                ),
            });
        };
        let turned = found.header[first].contains(":END_ID");
        Ok(if turned {
            [second, first]
        } else {
            [first, second]
        })
    }

    fn relationship_table(
        &mut self,
        found: &Found,
        [start, end]: [&'static str; 2],
        verb: &str,
        [start_column, end_column]: [usize; 2],
    ) {
        let rel_type = self.plan.types.intern(type_of(verb));
        let (start, end) = (self.space(start), self.space(end));
        let mut columns = Vec::new();
        for (i, name) in found.header.iter().enumerate() {
            columns.push(if i == start_column {
                RelationshipColumn::Start
            } else if i == end_column {
                RelationshipColumn::End
            } else {
                let (key, kind) = columns::relationship_property(verb, name);
                RelationshipColumn::Property {
                    key: self.plan.keys.intern(&key),
                    kind,
                }
            });
        }
        let direction = if verb == "knows" {
            self.plan.single.push(rel_type);
            RowDirection::SmallerToLarger
        } else {
            RowDirection::AsWritten
        };
        let rel_type = Some(rel_type);
        let table = table(found);
        self.plan.relationships.push(RelationshipTable {
            table,
            rel_type,
            start,
            end,
            columns,
            direction,
        });
    }

    fn list_table(
        &mut self,
        label: &'static str,
        key: &str,
        found: &Found,
    ) -> Result<(), ImportError> {
        let id_column = (0..found.header.len()).find(|i| columns::is_end(&found.header[*i]));
        let (Some(id_column), 2) = (id_column, found.header.len()) else {
            return Err(ImportError::Layout {
                path: found.files[0].path().to_path_buf(),
                reason: format!(
                    "the header '{}' should be {label}.id and one value column",
                    found.header.join("|")
                ),
            });
        };
        let (space, key) = (self.space(label), self.plan.keys.intern(key));
        let (table, value_column) = (table(found), 1 - id_column);
        self.plan.lists.push(ListTable {
            table,
            space,
            key,
            id_column,
            value_column,
        });
        Ok(())
    }

    fn labels(&mut self, label: &str) -> Vec<usize> {
        labels_with(label)
            .iter()
            .map(|l| self.plan.labels.intern(l))
            .collect()
    }

    /// The space in which ids of `label` are looked up.
    fn space(&mut self, label: &str) -> SpaceId {
        let is_there = |label: &str| self.present.iter().any(|p| p == label);
        let parent = columns::parent_table(label);
        let (name, made) = match parent {
            _ if is_there(label) => (label, false),
            Some(parent) if is_there(parent) => (parent, false),
            _ => (label, true),
        };
        if let Some(space) = self.plan.spaces.iter().position(|s| s.name == name) {
            return space;
        }
        let created = made.then(|| self.labels(name));
        let key = Some(self.plan.keys.intern("id"));
        self.plan.spaces.push(Space {
            name: name.to_owned(),
            key,
            ids: IdKind::Integer,
            created,
        });
        self.plan.spaces.len() - 1
    }
}

fn table(found: &Found) -> Table {
    Table {
        files: found.files.clone(),
        cut: found.cut,
        header: found.header.clone(),
        headers: Headers::EveryFile,
    }
}

#[cfg(test)]
mod tests;

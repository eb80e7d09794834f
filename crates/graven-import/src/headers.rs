//! Tables with Neo4j's header convention as a plan.
//!
//! # How it works
//! Every field of a header line is `name:TYPE(Space){options}`, every part optional. `field` reads
//! one; this file gives the fields their meaning and checks that a table has what it needs.
//!
//! | field | meaning |
//! | --- | --- |
//! | `name`, `name:string` | property; `int long short byte float double boolean char string date localtime time localdatetime datetime duration point` |
//! | `name:string[]` | list property, elements separated by the array delimiter |
//! | `id:ID`, `id:ID(Space)`, `:ID` | the node's id; with a name it is also a property, and indexed |
//! | `id:ID(Space){id-type:long}` | ids are `long` or `string`; without it numbers if all are |
//! | `:LABEL` | further labels, separated by the array delimiter |
//! | `:START_ID(Space)`, `:END_ID(Space)`, `:TYPE` | ends and type of a relationship |
//! | `:IGNORE` | the column is left out |
//!
//! # Deviations
//! Neo4j keeps untyped ids as strings; here ids that are all written as numbers are stored as
//! numbers. An empty field is no property, quoted or not.

mod field;

use crate::error::ImportError;
use crate::input::TableFile;
use crate::options::{CsvFormat, TableArgument, TableSource};
use crate::plan::{
    Headers, IdKind, NodeColumn, NodeTable, Plan, RelationshipColumn, RelationshipTable,
    RowDirection, Space, SpaceId, Table,
};
use crate::rows::{Cut, guess_delimiter, header_of};
use field::{Field, Role};

/// Reads the headers of all tables.
pub(crate) fn plan(source: &TableSource) -> Result<Plan, ImportError> {
    let mut builder = Builder {
        plan: Plan::default(),
        format: source.format,
    };
    for argument in &source.nodes {
        builder.node_table(argument)?;
        if !source.relationships.is_empty() {
            builder.check_has_id()?;
        }
    }
    for argument in &source.relationships {
        builder.relationship_table(argument)?;
    }
    if builder.plan.nodes.is_empty() {
        return Err(ImportError::Option(
            "no node table: give at least one --nodes Label=FILE".into(),
        ));
    }
    Ok(builder.plan)
}

struct Builder {
    plan: Plan,
    format: CsvFormat,
}

impl Builder {
    fn node_table(&mut self, argument: &TableArgument) -> Result<(), ImportError> {
        let (table, fields) = self.table(argument)?;
        let labels: Vec<usize> = argument
            .names
            .iter()
            .map(|n| self.plan.labels.intern(n))
            .collect();
        let (mut space, mut columns) = (None, Vec::new());
        for (i, field) in fields.into_iter().enumerate() {
            let wrong = |reason: &str| header_error(&table, i, reason.to_owned());
            columns.push(match field.role {
                Role::Ignore => NodeColumn::Ignore,
                Role::Label => NodeColumn::Labels(self.format.array_delimiter(table.cut.delimiter)),
                Role::Id { ids } if space.is_none() => {
                    let key = field.name.as_deref().map(|n| self.plan.keys.intern(n));
                    space = Some(self.id_space(field.space.as_deref(), ids));
                    if let Some(key) = key {
                        labels.iter().for_each(|label| self.plan.index(*label, key));
                    }
                    NodeColumn::Id { key }
                }
                Role::Id { .. } => return Err(wrong("is a second id: keep one :ID column")),
                Role::Property { kind } => {
                    let Some(name) = field.name else {
                        return Err(wrong("has no name: write name:type, or :IGNORE"));
                    };
                    NodeColumn::Property {
                        key: self.plan.keys.intern(&name),
                        kind,
                    }
                }
                Role::Start | Role::End | Role::Type => {
                    return Err(wrong(
                        "belongs in a relationship table: pass the file with --relationships",
                    ));
                }
            });
        }
        if labels.is_empty() && !columns.iter().any(|c| matches!(c, NodeColumn::Labels(_))) {
            return Err(ImportError::Layout {
                path: table.files[0].path().to_path_buf(),
                reason: "its nodes have no label: write Label=FILE or add a :LABEL column".into(),
            });
        }
        self.plan.nodes.push(NodeTable {
            table,
            space,
            labels,
            columns,
        });
        Ok(())
    }

    /// Refuses the last node table if no relationship could name its nodes.
    fn check_has_id(&self) -> Result<(), ImportError> {
        let Some(NodeTable {
            table, space: None, ..
        }) = self.plan.nodes.last()
        else {
            return Ok(());
        };
        let is_id = |field: &&String| {
            let name = field.split(':').next().unwrap_or_default();
            name.eq_ignore_ascii_case("id") || name.to_ascii_lowercase().ends_with("_id")
        };
        let likely = table.header.iter().find(is_id).or(table.header.first());
        let name = likely
            .and_then(|field| field.split(':').next())
            .unwrap_or("id");
        Err(ImportError::Layout {
            path: table.files[0].path().to_path_buf(),
            reason: format!(
                "its header has no :ID column, by which relationships name its nodes: write \
                    '{name}:ID' for the column that holds the ids"
            ),
        })
    }

    fn relationship_table(&mut self, argument: &TableArgument) -> Result<(), ImportError> {
        let (table, fields) = self.table(argument)?;
        let rel_type = match &argument.names[..] {
            [] => None,
            [name] => Some(self.plan.types.intern(name)),
            _ => {
                return Err(ImportError::Option(format!(
                    "a relationship has one type, not '{}'",
                    argument.names.join(":")
                )));
            }
        };
        let (mut start, mut end, mut columns) = (None, None, Vec::new());
        for (i, field) in fields.into_iter().enumerate() {
            let wrong = |reason: String| header_error(&table, i, reason);
            let space = field.space.as_deref();
            columns.push(match field.role {
                Role::Ignore => RelationshipColumn::Ignore,
                Role::Start => {
                    start = Some(self.space(space).map_err(wrong)?);
                    RelationshipColumn::Start
                }
                Role::End => {
                    end = Some(self.space(space).map_err(wrong)?);
                    RelationshipColumn::End
                }
                Role::Type => RelationshipColumn::Type,
                Role::Property { kind } => {
                    let Some(name) = field.name else {
                        return Err(wrong("has no name: write name:type, or :IGNORE".into()));
                    };
                    RelationshipColumn::Property {
                        key: self.plan.keys.intern(&name),
                        kind,
                    }
                }
                Role::Id { .. } | Role::Label => {
                    return Err(wrong(
                        "belongs in a node table: pass the file with --nodes".into(),
                    ));
                }
            });
        }
        let missing = |what: &str| ImportError::Layout {
            path: table.files[0].path().to_path_buf(),
            reason: format!("its header has no {what} column: add one"),
        };
        if rel_type.is_none()
            && !columns
                .iter()
                .any(|c| matches!(c, RelationshipColumn::Type))
        {
            return Err(ImportError::Layout {
                path: table.files[0].path().to_path_buf(),
                reason: "its rows have no type: write TYPE=FILE or add a :TYPE column".into(),
            });
        }
        let start = start.ok_or_else(|| missing(":START_ID"))?;
        let end = end.ok_or_else(|| missing(":END_ID"))?;
        let direction = RowDirection::AsWritten;
        self.plan.relationships.push(RelationshipTable {
            table,
            rel_type,
            start,
            end,
            columns,
            direction,
        });
        Ok(())
    }

    /// Opens the first file of an argument and reads its header.
    fn table(&self, argument: &TableArgument) -> Result<(Table, Vec<Field>), ImportError> {
        let first = &argument.files[0];
        let file = TableFile::Path(first.clone());
        let empty = || ImportError::Layout {
            path: first.clone(),
            reason: "is empty: its first line must be the header".into(),
        };
        let (delimiter, quote) = (self.format.delimiter, self.format.quote);
        let delimiter = match delimiter {
            Some(delimiter) => delimiter,
            None => guess_delimiter(&first_line(&file)?.ok_or_else(empty)?),
        };
        let array_delimiter = self.format.array_delimiter(delimiter);
        if Some(delimiter) == quote || delimiter == array_delimiter {
            return Err(ImportError::Option(format!(
                "'{}' is the delimiter of {} and also the quote or the array delimiter: choose \
                 another with --delimiter, --quote or --array-delimiter",
                delimiter as char,
                first.display()
            )));
        }
        let cut = Cut { delimiter, quote };
        let (header, _) = header_of(&file, Some(cut))?.ok_or_else(empty)?;
        let table = Table {
            files: argument
                .files
                .iter()
                .cloned()
                .map(TableFile::Path)
                .collect(),
            cut,
            header,
            headers: Headers::FirstFile,
        };
        let mut fields: Vec<Field> = Vec::new();
        for (i, text) in table.header.iter().enumerate() {
            let field = Field::parse(text, array_delimiter);
            let field = field.map_err(|reason| header_error(&table, i, reason))?;
            if let Some(first) = fields
                .iter()
                .position(|earlier| earlier.is_same_key(&field))
            {
                let reason = format!(
                    "names the property of column {} again: rename one, or write :IGNORE",
                    first + 1
                );
                return Err(header_error(&table, i, reason));
            }
            fields.push(field);
        }
        Ok((table, fields))
    }

    /// The space of an `:ID` column.
    fn id_space(&mut self, name: Option<&str>, ids: Option<IdKind>) -> SpaceId {
        let name = name.unwrap_or("");
        if let Some(space) = self.plan.spaces.iter().position(|s| s.name == name) {
            return space;
        }
        let ids = ids.unwrap_or(IdKind::Infer);
        self.plan.spaces.push(Space {
            name: name.to_owned(),
            key: None,
            ids,
            created: None,
        });
        self.plan.spaces.len() - 1
    }

    /// The space of an end column.
    fn space(&self, name: Option<&str>) -> Result<SpaceId, String> {
        let name = name.unwrap_or("");
        self.plan.spaces.iter().position(|s| s.name == name).ok_or_else(|| {
            let known: Vec<String> =
                self.plan.spaces.iter().map(|s| format!("'{}'", s.name)).collect();
            format!(
                "no node table has ids of the space '{name}': use one of {}, or pass that table",
                known.join(", ")
            )
        })
    }
}

fn first_line(file: &TableFile) -> Result<Option<String>, ImportError> {
    let cut = Cut {
        delimiter: b'\n',
        quote: None,
    };
    Ok(header_of(file, Some(cut))?.and_then(|(fields, _)| fields.into_iter().next()))
}

fn header_error(table: &Table, column: usize, reason: String) -> ImportError {
    ImportError::Header {
        path: table.files[0].path().to_path_buf(),
        column: column + 1,
        field: table.header[column].clone(),
        reason,
    }
}

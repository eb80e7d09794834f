//! What an import would make, as far as the headers of the tables tell: nothing but them is read.

use std::path::PathBuf;

use crate::error::ImportError;
use crate::options::ImportSource;
use crate::plan::{NodeColumn, Plan, ReferenceEnd, RelationshipColumn, Table};
use crate::{headers, ldbc};

/// What an import would make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Tables in the order in which they are read: nodes, relationships, lists.
    pub tables: Vec<TableOutline>,
    /// Indexed properties: label and key.
    pub indexes: Vec<(String, String)>,
    /// Files of the folder that are no table of the layout.
    pub ignored: Vec<PathBuf>,
}

/// What a table becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOutline {
    /// Its files.
    pub files: Vec<PathBuf>,
    /// What a row becomes, as Cypher writes it: `(:Person)`, `(:Person)-[:KNOWS]->(:Person)`.
    pub pattern: String,
    /// Its columns: the name as in the header, and what becomes of the field.
    pub columns: Vec<(String, String)>,
}

/// What [`import`](crate::import) would make of the tables.
///
/// # Errors
/// A header cannot be read, or does not say what it has to.
///
/// # Examples
/// ```no_run
/// use graven_import::{ImportSource, outline};
/// let outline = outline(&ImportSource::Ldbc("ldbc-snb-sf0.1".into()))?;
/// outline.tables.iter().for_each(|table| println!("{}", table.pattern));
/// # Ok::<(), graven_import::ImportError>(())
/// ```
pub fn outline(source: &ImportSource) -> Result<Outline, ImportError> {
    let plan = match source {
        ImportSource::Ldbc(folder) => ldbc::plan(folder)?,
        ImportSource::Tables(tables) => headers::plan(tables)?,
        ImportSource::Generated(_) => {
            let reason = "a generated network has no files whose headers could be looked at";
            return Err(ImportError::Option(reason.into()));
        }
    };
    let mut outline = Outline::default();
    for table in &plan.nodes {
        let meanings = table.columns.iter();
        let meanings = meanings
            .map(|column| of_node(&plan, table.space, column))
            .collect();
        let has_more =
            |column: &NodeColumn| matches!(column, NodeColumn::Labels(_) | NodeColumn::OneLabel(_));
        let more = if table.columns.iter().any(has_more) {
            ":..."
        } else {
            ""
        };
        let pattern = format!("({}{more})", labels(&plan, &table.labels));
        outline
            .tables
            .push(described(&table.table, pattern, meanings));
    }
    for table in &plan.relationships {
        let meanings = table.columns.iter();
        let meanings = meanings.map(|column| match column {
            RelationshipColumn::Ignore => "left out".to_owned(),
            RelationshipColumn::Start => format!("start, {}", space(&plan, table.start)),
            RelationshipColumn::End => format!("end, {}", space(&plan, table.end)),
            RelationshipColumn::Type => "type".to_owned(),
            RelationshipColumn::Property { key, kind } => {
                format!("property {}, {}", plan.keys.get(*key), kind.name())
            }
        });
        let kind = table.rel_type.map_or("...", |kind| plan.types.get(kind));
        let pattern = format!("()-[:{kind}]->()");
        outline
            .tables
            .push(described(&table.table, pattern, meanings.collect()));
    }
    for table in &plan.lists {
        let key = plan.keys.get(table.key);
        let meanings = (0..table.table.header.len()).map(|column| {
            if column == table.id_column {
                format!("node, {}", space(&plan, table.space))
            } else if column == table.value_column {
                format!("an element of the list {key}")
            } else {
                "left out".to_owned()
            }
        });
        let pattern = format!("({{{key}: [...]}})");
        outline
            .tables
            .push(described(&table.table, pattern, meanings.collect()));
    }
    let indexes = plan.indexes.iter().map(|index| {
        let (label, key) = (plan.labels.get(index.label), plan.keys.get(index.key));
        (label.to_owned(), key.to_owned())
    });
    outline.indexes = indexes.collect();
    outline.ignored.clone_from(&plan.ignored);
    Ok(outline)
}

fn described(table: &Table, pattern: String, meanings: Vec<String>) -> TableOutline {
    TableOutline {
        files: table.files.iter().map(|f| f.path().to_path_buf()).collect(),
        pattern,
        columns: table.header.iter().cloned().zip(meanings).collect(),
    }
}

fn labels(plan: &Plan, labels: &[usize]) -> String {
    labels
        .iter()
        .map(|label| format!(":{}", plan.labels.get(*label)))
        .collect()
}

fn space(plan: &Plan, space: usize) -> String {
    match plan.spaces[space].name.as_str() {
        "" => "an id".to_owned(),
        name => format!("an id of {name}"),
    }
}

fn of_node(plan: &Plan, own: Option<usize>, column: &NodeColumn) -> String {
    match column {
        NodeColumn::Ignore => "left out".to_owned(),
        NodeColumn::Id { key } => {
            let kept = key.map_or(String::new(), |key| {
                format!(", and the property {}", plan.keys.get(key))
            });
            let space = own.map_or("an id".to_owned(), |own| space(plan, own));
            format!("{space}{kept}")
        }
        NodeColumn::Labels(_) => "labels".to_owned(),
        NodeColumn::OneLabel(of) => format!("one of {}", labels(plan, of)),
        NodeColumn::Property { key, kind } => {
            format!("property {}, {}", plan.keys.get(*key), kind.name())
        }
        NodeColumn::Reference {
            rel_type,
            space: of,
            end,
        } => {
            let kind = plan.types.get(*rel_type);
            let of = space(plan, *of);
            match end {
                ReferenceEnd::End => format!("{of}: (row)-[:{kind}]->()"),
                ReferenceEnd::Start => format!("{of}: ()-[:{kind}]->(row)"),
            }
        }
    }
}

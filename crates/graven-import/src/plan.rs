//! What the tables hold: the common result of both fronts, and all that the later stages know.

use std::path::PathBuf;

use crate::input::TableFile;
use crate::rows::Cut;
use crate::value::Kind;

/// Number of an id space in `Plan::spaces`.
pub(crate) type SpaceId = usize;

/// Names given dense numbers in the order they are first met.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    names: Vec<String>,
}

impl Names {
    /// The number of `name`, a new one if it is new. A graph has few names, so a scan will do.
    pub(crate) fn intern(&mut self, name: &str) -> usize {
        self.names
            .iter()
            .position(|n| n == name)
            .unwrap_or_else(|| {
                self.names.push(name.to_owned());
                self.names.len() - 1
            })
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        &self.names[number]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

/// How the ids of a space are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// Integers; anything else is an error.
    Integer,
    /// Text as written.
    Text,
    /// Integers if every id of the space is written as one, else text.
    Infer,
}

/// A space in which ids are unique.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) name: String,
    /// Property that keeps the id of created nodes, as a number of `Plan::keys`.
    pub(crate) key: Option<usize>,
    pub(crate) ids: IdKind,
    /// Labels (numbers of `Plan::labels`) of nodes that only references name; `None` if an
    /// unknown id is an error.
    pub(crate) created: Option<Vec<usize>>,
}

/// Files that make one table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) files: Vec<TableFile>,
    pub(crate) cut: Cut,
    /// Column names as in the header.
    pub(crate) header: Vec<String>,
    /// Whether every file begins with the header, or only the first.
    pub(crate) headers: Headers,
}

impl Table {
    /// Whether the file of this number begins with the header.
    pub(crate) fn has_header(&self, number: usize) -> bool {
        number == 0 || self.headers == Headers::EveryFile
    }
}

/// Where a table's header stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Headers {
    /// At the top of every file.
    EveryFile,
    /// At the top of the first file only.
    FirstFile,
}

/// A table whose rows are nodes.
#[derive(Debug, Clone)]
pub(crate) struct NodeTable {
    pub(crate) table: Table,
    /// `None` if the nodes have no id and nothing can refer to them.
    pub(crate) space: Option<SpaceId>,
    /// Labels of every row, numbers of `Plan::labels`.
    pub(crate) labels: Vec<usize>,
    pub(crate) columns: Vec<NodeColumn>,
}

/// What a column of a node table means.
#[derive(Debug, Clone)]
pub(crate) enum NodeColumn {
    Ignore,
    /// The node's id; with a key it is a property too.
    Id {
        key: Option<usize>,
    },
    /// Further labels, separated by the byte.
    Labels(u8),
    /// One of these labels (numbers of `Plan::labels`), in upper or lower case.
    OneLabel(Vec<usize>),
    Property {
        key: usize,
        kind: Kind,
    },
    /// The id of another node: a relationship.
    Reference {
        rel_type: usize,
        space: SpaceId,
        end: ReferenceEnd,
    },
}

/// Which end of the relationship the referenced node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReferenceEnd {
    Start,
    End,
}

/// A table whose rows are relationships.
#[derive(Debug, Clone)]
pub(crate) struct RelationshipTable {
    pub(crate) table: Table,
    /// Type of every row, unless a column gives it.
    pub(crate) rel_type: Option<usize>,
    pub(crate) start: SpaceId,
    pub(crate) end: SpaceId,
    pub(crate) columns: Vec<RelationshipColumn>,
    pub(crate) direction: RowDirection,
}

/// How the two ends of a row become start and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowDirection {
    /// As written.
    AsWritten,
    /// Undirected and kept once: from the smaller id to the larger.
    SmallerToLarger,
}

/// What a column of a relationship table means.
#[derive(Debug, Clone)]
pub(crate) enum RelationshipColumn {
    Ignore,
    Start,
    End,
    Type,
    Property { key: usize, kind: Kind },
}

/// A table with one element of a list property per row.
#[derive(Debug, Clone)]
pub(crate) struct ListTable {
    pub(crate) table: Table,
    pub(crate) space: SpaceId,
    pub(crate) key: usize,
    pub(crate) id_column: usize,
    pub(crate) value_column: usize,
}

/// An index to build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexPlan {
    pub(crate) label: usize,
    pub(crate) key: usize,
}

/// All that is to be imported.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) labels: Names,
    pub(crate) types: Names,
    pub(crate) keys: Names,
    pub(crate) spaces: Vec<Space>,
    pub(crate) nodes: Vec<NodeTable>,
    pub(crate) relationships: Vec<RelationshipTable>,
    pub(crate) lists: Vec<ListTable>,
    /// Types whose repeated (start, end) pairs are kept once.
    pub(crate) single: Vec<usize>,
    pub(crate) indexes: Vec<IndexPlan>,
    pub(crate) ignored: Vec<PathBuf>,
}

impl Plan {
    /// Lets go of tables that the program made, which take memory and scratch files.
    pub(crate) fn forget_made(&mut self) {
        let nodes = self.nodes.iter_mut().map(|t| &mut t.table);
        let relationships = self.relationships.iter_mut().map(|t| &mut t.table);
        for table in nodes.chain(relationships) {
            table
                .files
                .retain(|file| matches!(file, TableFile::Path(_)));
        }
    }

    /// Adds an index unless it is there.
    pub(crate) fn index(&mut self, label: usize, key: usize) {
        let index = IndexPlan { label, key };
        if !self.indexes.contains(&index) {
            self.indexes.push(index);
        }
    }
}

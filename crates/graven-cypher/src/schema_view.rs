//! What the planner needs to know of the data: which names exist, what is indexed, how many there
//! are.

use crate::plan::LoadSource;
use crate::plan::expression::Literal;
use crate::plan::macros::Macro;
use crate::plan::schema::{IndexKind, SchemaSubject};
use crate::types::TypeSet;
use std::sync::Arc;

/// What a name of the schema is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Nodes.
    Label,
    /// Relationships.
    RelationshipType,
    /// A property.
    PropertyKey,
}

impl Named {
    /// As a word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::RelationshipType => "relationship type",
            Self::PropertyKey => "property key",
        }
    }

    /// The code of a notice about an unknown one.
    pub(crate) const fn unknown(self) -> &'static str {
        match self {
            Self::Label => "UnknownLabel",
            Self::RelationshipType => "UnknownRelationshipType",
            Self::PropertyKey => "UnknownPropertyKey",
        }
    }
}

/// Names, indexes and statistics of one snapshot, answered without I/O.
pub trait SchemaView {
    /// Nodes in all.
    fn node_count(&self) -> u64;
    /// Nodes with the label; `None` if the label is unknown.
    fn label_count(&self, label: &str) -> Option<u64>;
    /// Relationships of the type; `None` if the type is unknown.
    fn type_count(&self, rel_type: &str) -> Option<u64>;
    /// Nodes at which relationships of the type start (else: end); `None` if they were not counted.
    fn nodes_with(&self, rel_type: &str, start: bool) -> Option<u64> {
        let _ = (rel_type, start);
        None
    }
    /// Mean over relationships of the type of the degree of their start (else: end), in this type
    /// and direction: a size-biased mean. `None` if they were not counted.
    fn endpoint_degree(&self, rel_type: &str, start: bool) -> Option<f64> {
        let _ = (rel_type, start);
        None
    }
    /// Relationships in all.
    fn relationship_count(&self) -> u64;
    /// Relationships of `rel_type` (`None`: any) that start at a node labelled `start` and end at
    /// one labelled `end` (`None`: any); an estimate.
    fn pattern_count(&self, start: Option<&str>, rel_type: Option<&str>, end: Option<&str>) -> u64;
    /// The macro of this name, which is in lower case.
    fn macro_named(&self, name: &str) -> Option<Macro> {
        let _ = name;
        None
    }
    /// Whether the property key is known.
    fn knows_key(&self, key: &str) -> bool;
    /// Whether (label, key) has an index; its distinct values if so.
    fn index(&self, label: &str, key: &str) -> Option<IndexView>;
    /// All indexes over properties of nodes with the label.
    fn indexes(&self, label: &str) -> Vec<LabelIndex> {
        let _ = label;
        Vec::new()
    }
    /// Whether there is an index on exactly these properties, of this kind if one is given.
    fn has_index(&self, of: &SchemaSubject, keys: &[Arc<str>], kind: Option<IndexKind>) -> bool {
        let _ = (of, keys, kind);
        true
    }
    /// All names of a kind, for hints on misspelt ones.
    fn names(&self, of: Named) -> Vec<String>;
    /// How large something stored is; `None` if that is not known, or it is not there.
    fn stored(&self, what: Stored<'_>) -> Option<StoredSize> {
        let _ = what;
        None
    }
    /// How many values a property has, and how many of them differ; `None` if they were not
    /// counted.
    fn values(&self, of: Stored<'_>) -> Option<ValueCounts> {
        let _ = of;
        None
    }
    /// Share of the values of a property that equal `value`, or a usual one where it is not known;
    /// `None` if they were not counted.
    fn share_equal(&self, of: Stored<'_>, value: Option<&Literal>) -> Option<f64> {
        let _ = (of, value);
        None
    }
    /// Share of the values of a property between two, of which one may be missing; `None` if they
    /// were not counted.
    fn share_between(
        &self,
        of: Stored<'_>,
        low: Option<&Literal>,
        high: Option<&Literal>,
    ) -> Option<f64> {
        let _ = (of, low, high);
        None
    }
    /// Threads that a statement may use.
    fn threads(&self) -> usize {
        1
    }
    /// Whether it uses them wherever it can, however little there is to do: for tests.
    fn divides_always(&self) -> bool {
        false
    }
    /// Whether joins and rewrites that pay for many rows are made for few, too: for tests.
    fn joins_always(&self) -> bool {
        false
    }
    /// The columns of files or of a frame that a statement reads.
    ///
    /// # Errors
    /// Why they are not known.
    fn source(&self, source: &LoadSource) -> Result<SourceView, SourceFault> {
        Err(SourceFault::Wrong(format!("{source} cannot be read here")))
    }
    /// The table of that name: a label or a relationship type whose properties were declared.
    fn table(&self, name: &str) -> Option<TableView> {
        let _ = name;
        None
    }
    /// The table of that name, or the one whose name differs in letter case alone, with its own
    /// name.
    fn table_called(&self, name: &str) -> Option<(Arc<str>, TableView)> {
        self.table(name).map(|table| (name.into(), table))
    }
    /// The type that was given this name, in any letter case.
    fn type_called(&self, name: &str) -> Option<Arc<str>> {
        let _ = name;
        None
    }
    /// Whether it is a name of this database, in whatever letters.
    fn is_called(&self, name: &str) -> bool {
        let _ = name;
        false
    }
    /// The function of that name that the program has added to the connection, in any case.
    fn function(&self, name: &str) -> Option<FunctionView> {
        let _ = name;
        None
    }
    /// The names of all procedures, for hints on misspelt ones.
    fn procedures(&self) -> Vec<String> {
        Vec::new()
    }
    /// The procedure of that name, as it is called by `CALL`; names are compared exactly.
    fn procedure(&self, name: &str) -> Option<ProcedureView> {
        let _ = name;
        None
    }
}

/// Counts of the values of a property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueCounts {
    /// Values, nulls aside.
    pub values: u64,
    /// Different values, an estimate.
    pub distinct: u64,
}

/// Something stored in pages of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored<'a> {
    /// Which nodes have which labels.
    Labels,
    /// A property of nodes.
    NodeProperty(&'a str),
    /// A property of the nodes with a label. It is stored with that of all nodes; its values may be
    /// known apart.
    LabelProperty {
        /// The label.
        label: &'a str,
        /// The property.
        key: &'a str,
    },
    /// A property of relationships.
    RelationshipProperty {
        /// Their type.
        rel_type: &'a str,
        /// The property.
        key: &'a str,
    },
    /// The lists of relationships by their start (`forward`) or end.
    Lists {
        /// Their type; none: all types together.
        rel_type: Option<&'a str>,
        /// By their start.
        forward: bool,
    },
    /// An index.
    Index {
        /// Label of its nodes.
        label: &'a str,
        /// Properties, in order.
        keys: &'a [std::sync::Arc<str>],
    },
}

/// The size of something stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredSize {
    /// Pages.
    pub pages: u64,
    /// Values, relationships or entries.
    pub entries: u64,
}

/// An index as the planner sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexView {
    /// At most one node per value.
    pub unique: bool,
    /// Distinct values, an estimate.
    pub distinct: u64,
}

/// An index over one or several properties, as the planner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelIndex {
    /// The properties, in order.
    pub keys: Vec<std::sync::Arc<str>>,
    /// At most one node per combination of values.
    pub unique: bool,
    /// Distinct combinations, an estimate.
    pub distinct: u64,
}

/// The source of `LOAD FROM` as the binder sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceView {
    /// Columns in order: name, kinds of values, and the type that the source states, where the
    /// kinds say less of it.
    pub columns: Vec<(Arc<str>, TypeSet, Option<Arc<str>>)>,
    /// Rows, where they are known.
    pub rows: Option<u64>,
}

/// A label or a relationship type whose properties were declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableView {
    /// It is a label.
    pub of_nodes: bool,
    /// The properties in order.
    pub columns: Vec<ColumnView>,
    /// The property that is the key.
    pub key: Option<Arc<str>>,
    /// Labels that relationships join.
    pub ends: Vec<(Arc<str>, Arc<str>)>,
}

impl TableView {
    /// The columns that a source of a `COPY` has values for, in order.
    pub(crate) fn copied_columns(&self) -> impl Iterator<Item = &ColumnView> {
        let given = |column: &&ColumnView| &*column.of != "SERIAL";
        self.columns.iter().filter(given)
    }

    /// The column of that name; where there is none, that of the name in other letter case.
    pub(crate) fn column(&self, name: &str) -> Option<&ColumnView> {
        let exact = self.columns.iter().find(|column| *column.name == *name);
        exact.or_else(|| {
            let mut columns = self.columns.iter();
            columns.find(|column| column.name.eq_ignore_ascii_case(name))
        })
    }
}

/// A property that was declared.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnView {
    /// Its name.
    pub name: Arc<str>,
    /// The text of its type.
    pub of: Arc<str>,
    /// The text of what it is where nothing is given; none: null.
    pub default: Option<Arc<str>>,
}

/// Why the columns of a source are not known.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceFault {
    /// The statement may not name such files.
    Forbidden(String),
    /// There is no such file, it is not what it should be, or the options are wrong.
    Wrong(String),
}

/// A function of the program as the binder sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionView {
    /// Its name in lower case: the one that plans carry.
    pub name: Arc<str>,
    /// Kinds that its arguments may be, in order.
    pub arguments: Vec<TypeSet>,
    /// Kinds that it returns.
    pub returns: TypeSet,
}

/// A procedure as the binder sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcedureView {
    /// Arguments in order: name, kinds accepted.
    pub arguments: Vec<(String, TypeSet)>,
    /// Trailing arguments that may be left out.
    pub optional: usize,
    /// Result columns in order: name, kind.
    pub columns: Vec<(String, TypeSet)>,
    /// It changes the graph, in the transaction of the statement that calls it.
    pub writes: bool,
}

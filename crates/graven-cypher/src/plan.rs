//! The plan: a tree of operators in execution order, all names bound, all patterns ordered.
//!
//! The planner chooses order, access paths and strategies (index or scan, expand or expand-into,
//! trails or reachability); `graven-exec` turns each node into one operator and chooses nothing.
//!
//! # Invariants
//! * CY-1 Every [`VarId`] read by an expression is produced below it in the tree, or by the
//!   enclosing [`Operator::Argument`].
//! * CY-2 `PlanNode::id`s are dense, 0-based and unique within a plan; `PROFILE` reports by them.
//! * CY-3 Names (labels, types, keys) stay text; the executor resolves them against its snapshot,
//!   so a plan may outlive a catalogue change. Unknown names select nothing.

pub(crate) mod access;
pub(crate) mod builder;
pub(crate) mod candidate;
pub mod constraint;
mod creation;
pub(crate) mod depth;
mod describe;
pub mod expression;
mod files;
pub mod forced;
pub(crate) mod functional_dependencies;
mod index_access;
mod join;
mod json;
pub mod macros;
pub mod mutant;
mod operator;
pub(crate) mod order;
mod patterns;
pub(crate) mod placement;
mod rel_pattern;
mod repeat;
pub(crate) mod resource_estimate;
pub(crate) mod rules;
pub mod schema;
pub mod sequences;
pub(crate) mod share;
mod subqueries;
pub mod tables;
pub mod trace;
pub mod users;
pub(crate) mod valid;
pub mod variables;
pub mod walk;
pub mod write;
mod writing;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::token::Span;
use crate::types::TypeSet;

pub use crate::diagnostic::Notice;
pub use creation::{CreateNode, CreateRelationship, Creation, RelType, SetItem};
pub use expression::{AggregateCall, AggregateFunction, BinaryOp, Expr, Literal, UnaryOp};
pub use files::{ColumnBound, FileNames, LoadSource, OptionValue};
pub use operator::Operator;
pub use rel_pattern::{
    CountTree, EndJoin, ExpandFilter, JoinKind, PathCount, RelExtreme, RelPattern, ShortestPaths,
    VarExpandMode,
};
pub use write::{InOrder, WrittenNames};

/// What an operator is expected to cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResourceEstimate {
    /// Distinct pages touched.
    pub pages: f64,
    /// Bytes kept beyond a batch of rows, as long as the operator runs.
    pub memory: f64,
}

/// A row variable: index into the plan's variable table, 0-based.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// What a variable is known to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VarKind {
    /// A node (or null after `OPTIONAL MATCH`).
    Node,
    /// A relationship (or null).
    Relationship,
    /// A list of relationships, the value of a variable-length pattern's name.
    RelationshipList,
    /// A path (or null).
    Path,
    /// Any value.
    Value,
}

/// One entry of the variable table.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name as written, or a generated one starting with two spaces for anonymous pattern parts.
    pub name: Arc<str>,
    /// What it holds.
    pub kind: VarKind,
}

/// A complete statement.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Root operator.
    pub root: PlanNode,
    /// The variable table.
    pub variables: Vec<Variable>,
    /// Result columns in order: heading and variable. Empty for statements without `RETURN`.
    pub columns: Vec<(Arc<str>, VarId)>,
    /// Declared types of the result columns, where a table or a cast says them.
    pub declared: Vec<Option<Arc<str>>>,
    /// `EXPLAIN`, `PROFILE` or neither.
    pub mode: PlanMode,
    /// Notices for the user: unknown labels, types or property keys, cartesian products, ...
    pub notices: Vec<Notice>,
    /// Parameters that stand for labels or types, and the texts they hold: it is the plan for these
    /// alone.
    pub planned_for: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// What parameters must be, by the places where they stand.
    pub expected: Vec<ExpectedParameter>,
    /// Of an explained or profiled statement what each operator is expected to cost, by its id.
    pub estimates: Vec<ResourceEstimate>,
}

/// What a parameter must be at a place of the text; it may be null everywhere.
#[derive(Clone, Debug)]
pub struct ExpectedParameter {
    /// Its name.
    pub name: Arc<str>,
    /// Where it stands.
    pub at: Span,
    /// Kinds that are taken there.
    pub wanted: TypeSet,
    /// What it is there, in words.
    pub what: Box<str>,
}

/// How the statement is to be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlanMode {
    /// Run it.
    #[default]
    Execute,
    /// Only show the plan.
    Explain,
    /// Run it and report rows, time and pages per operator.
    Profile,
}

/// One operator with its estimate.
#[derive(Clone, Debug)]
pub struct PlanNode {
    /// Dense id within the plan.
    pub id: u32,
    /// What it does.
    pub op: Operator,
    /// Estimated output rows per execution.
    pub estimated_rows: f64,
}

/// What identifies a node or a relationship.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum IdForm {
    /// The number that `id()` gives.
    Number,
    /// The text that `elementId()` gives.
    Element,
}

/// Which way a relationship is followed from the node at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Direction {
    /// From start to end.
    Out,
    /// From end to start.
    In,
    /// Either; a loop is met once.
    Both,
}

/// How the batches of a subquery in transactions are made and what follows on a failure.
#[derive(Clone, Debug, Default)]
pub struct InTransactions {
    /// Input rows of one batch, constant; none: [`InTransactions::ROWS`].
    pub rows: Option<Expr>,
    /// What happens when a batch fails.
    pub on_error: OnError,
    /// For so many seconds, constant, a batch is run again before it has failed, where that may
    /// help.
    pub retry: Option<Expr>,
    /// Where the seconds stand in the text, which a literal does not say.
    pub retry_at: Span,
    /// Where each row has the outcome of its batch.
    pub status: Option<VarId>,
    /// What the subquery returns.
    pub columns: Vec<VarId>,
    /// Whether a row for which it returns nothing goes on with nulls.
    pub optional: bool,
}

impl InTransactions {
    /// Input rows of one batch where nothing is said.
    pub const ROWS: u64 = 1000;

    /// Seconds for which a batch is run again where nothing is said.
    pub const RETRY_SECONDS: i64 = 30;
}

/// What happens when a batch of a subquery in transactions fails and is rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnError {
    /// The statement fails; batches done stay.
    #[default]
    Fail,
    /// Its rows go on with nulls, and so do the following batches, unrun.
    Break,
    /// Its rows go on with nulls, and the next batch is run.
    Continue,
}

/// What is repeated, and what is kept of it.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Where it begins, and where it ends.
    pub from: VarId,
    /// The other end.
    pub to: VarId,
    /// The other end is bound already.
    pub into: bool,
    /// Where one repetition begins.
    pub entry: VarId,
    /// Where one repetition ends.
    pub exit: VarId,
    /// Fewest repetitions.
    pub min: u32,
    /// Most repetitions.
    pub max: Option<u32>,
    /// Relationships of one repetition, in order from entry to exit.
    pub rels: Vec<VarId>,
    /// All relationships in the order of the pattern.
    pub path: VarId,
    /// Parts of one repetition and the lists of them, in the order of the pattern.
    pub groups: Vec<(VarId, VarId)>,
    /// It is followed from the end of the pattern: lists are turned round.
    pub reversed: bool,
    /// Single relationships of the same `MATCH` that all must differ from.
    pub distinct_from: Vec<VarId>,
    /// Lists of such relationships.
    pub disjoint_from: Vec<VarId>,
}

/// What an index scan demands of a value.
#[derive(Clone, Debug)]
pub enum IndexPart {
    /// Nothing but that it is there.
    All,
    /// That it lies between bounds, of which there is at least one.
    Range {
        /// The lower one.
        low: Option<(Expr, Inclusion)>,
        /// The upper one.
        high: Option<(Expr, Inclusion)>,
    },
    /// That it is text that begins so.
    StartsWith(Expr),
    /// That it is text that contains this; all texts of the index are looked at.
    Contains(Expr),
    /// That it is text that ends so; likewise.
    EndsWith(Expr),
}

impl IndexPart {
    /// What is demanded of a text, in words and as the other text.
    pub(crate) fn text(&self) -> Option<(&'static str, &Expr)> {
        match self {
            IndexPart::All | IndexPart::Range { .. } => None,
            IndexPart::StartsWith(text) => Some(("starts with", text)),
            IndexPart::Contains(text) => Some(("contains", text)),
            IndexPart::EndsWith(text) => Some(("ends with", text)),
        }
    }
}

/// The order in which an index scan hands out nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOrder {
    /// Smallest or largest first, as `ORDER BY` sees it.
    pub direction: SortOrder,
    /// Whether nodes without the property are handed out too, where nothing is demanded of it.
    pub nulls: bool,
}

/// Whether a bound belongs to the range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inclusion {
    /// `<=` or `>=`.
    Inclusive,
    /// `<` or `>`.
    Exclusive,
}

/// Order of one sort key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortOrder {
    /// Smallest first; null last.
    Ascending,
    /// Largest first; null first.
    Descending,
}

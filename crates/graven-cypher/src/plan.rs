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
pub(crate) mod depth;
mod describe;
pub mod expression;
mod files;
pub(crate) mod functional_dependencies;
mod index_access;
mod join;
mod json;
pub mod macros;
pub mod mutant;
pub(crate) mod order;
mod patterns;
mod repeat;
pub(crate) mod resource_estimate;
pub(crate) mod rules;
pub mod schema;
pub mod sequences;
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

pub use crate::diagnostic::Notice;
pub use expression::{AggregateCall, AggregateFunction, BinaryOp, Expr, Literal, UnaryOp};
pub use files::{ColumnBound, FileNames, LoadSource, OptionValue};
pub use write::{CreateNode, CreateRelationship, Creation, RelType, SetItem, WrittenNames};

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
    /// Of an explained or profiled statement what each operator is expected to cost, by its id.
    pub estimates: Vec<ResourceEstimate>,
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

/// Relationship pattern common to single and variable-length expansion.
#[derive(Clone, Debug)]
pub struct RelPattern {
    /// Types to follow; empty means all.
    pub types: Vec<Arc<str>>,
    /// Which way, seen from `from`.
    pub direction: Direction,
    /// Condition on each single relationship, over [`RelPattern::each`]; evaluated while expanding.
    pub filter: Option<Expr>,
    /// Variable that stands for one relationship inside `filter` (always present when `filter` is).
    pub each: Option<VarId>,
    /// Single relationships bound earlier in the same `MATCH` that this one must differ from.
    pub distinct_from: Vec<VarId>,
    /// Start and end of relationships bound earlier in the same `MATCH` that this one must differ
    /// from and that no operator reads, like this one: of those found between the same two nodes
    /// one is left out for each.
    pub distinct_ends: Vec<(VarId, VarId)>,
    /// Relationship lists bound earlier in the same `MATCH` that this one must not touch.
    pub disjoint_from: Vec<VarId>,
    /// Conditions on the far end, decided while expanding; [`Operator::Expand`] has them, where
    /// relationships are named or looked at one by one only labels, and
    /// [`Operator::ReachableCount`] what the end is not.
    pub ends: ExpandFilter,
}

/// Conditions on the far end of an expansion; all of them hold.
#[derive(Clone, Debug, Default)]
pub struct ExpandFilter {
    /// Labels it has.
    pub labels: Vec<Arc<str>>,
    /// Nodes of the row that it is not; no end is unlike null.
    pub not_equal: Vec<VarId>,
    /// Relationships between it and nodes of the row.
    pub joins: Vec<EndJoin>,
    /// Groups of such relationships, all of kind [`JoinKind::Semi`], of which one is enough.
    pub semi_join_groups: Vec<Vec<EndJoin>>,
}

impl ExpandFilter {
    /// Whether they depend on the row.
    #[must_use]
    pub fn read_the_row(&self) -> bool {
        !(self.not_equal.is_empty() && self.joins.is_empty() && self.semi_join_groups.is_empty())
    }
}

/// A relationship between the far end of an expansion and a node of the row.
#[derive(Clone, Debug)]
pub struct EndJoin {
    /// The node of the row.
    pub near: VarId,
    /// The relationship, seen from `near`; it has no conditions of its own but `distinct_ends`,
    /// where the far end of the expansion may be named.
    pub pattern: RelPattern,
    /// What it decides.
    pub kind: JoinKind,
}

/// What relationships between two nodes decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// A row for each.
    Inner,
    /// There is one.
    Semi,
    /// There is none.
    Anti,
}

/// How a variable-length pattern is answered.
#[derive(Clone, Debug, PartialEq)]
pub enum VarExpandMode {
    /// Every trail is a row.
    Trails,
    /// Only which end nodes are reachable matters, each end once per input row; relationship list
    /// unbound. `proven` is true where breadth-first search is equivalent to trail enumeration
    /// (lower bound 0 or 1 and no interplay with other relationships of the `MATCH` except
    /// `distinct_from`/`disjoint_from` of earlier ones); where it is false the executor must
    /// enumerate trails, deduplicating ends, in bounded memory.
    Reachable {
        /// Breadth-first search is exact here.
        proven: bool,
    },
    /// Only the shortest trails between the two ends, which are both bound, are rows.
    Shortest(ShortestPaths),
}

/// Which of the trails between two ends are wanted, shortest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortestPaths {
    /// How many.
    pub count: PathCount,
    /// Whether a trail may lead back to where it started; `shortestPath()` finds none there.
    pub closed: bool,
    /// Rows that are expected to have the start, and the end, in common.
    pub sharing: [u32; 2],
}

/// How many trails are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathCount {
    /// So many.
    Paths(u32),
    /// All of the first so many lengths.
    Lengths(u32),
}

/// A pattern that hangs on a node: of its matches only the number is wanted.
#[derive(Clone, Debug)]
pub struct CountTree {
    /// The relationship from the node; without conditions on the relationship. What depends on the
    /// row (`distinct_ends`, `ends`) is there only in a pattern that hangs on a node of the row,
    /// never in a branch.
    pub pattern: RelPattern,
    /// The other end, as `pattern` may name it; the row does not hold it.
    pub end: VarId,
    /// Labels of the other end.
    pub labels: Vec<Arc<str>>,
    /// No match counts as one: `OPTIONAL MATCH`.
    pub optional: bool,
    /// What hangs on the other end.
    pub branches: Vec<CountTree>,
}

/// An operator. Boxed inputs come first in every variant.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug)]
pub enum Operator {
    /// One row without variables.
    Unit,
    /// The row of the enclosing [`Operator::Apply`], [`Operator::Optional`] or
    /// [`Operator::SemiApply`].
    Argument {
        /// Variables handed in.
        vars: Vec<VarId>,
    },
    /// Every node, once per input row.
    AllNodesScan { input: Box<PlanNode>, var: VarId },
    /// Every node with the label, ascending id, once per input row.
    LabelScan {
        input: Box<PlanNode>,
        var: VarId,
        label: Arc<str>,
    },
    /// Nodes that have all of the labels that `names` gives, a text or a list of texts; and perhaps
    /// others, where no index tells: those with the first of the labels and, if one of the
    /// properties of `equal` is indexed with it, this value.
    ComputedLabelScan {
        input: Box<PlanNode>,
        var: VarId,
        names: Expr,
        equal: Vec<(Arc<str>, Expr)>,
    },
    /// Nodes with the label whose indexed property equals `value` (a list with `any`: each
    /// element). A node is produced once per input row however often its value is listed; null
    /// selects nothing.
    IndexSeek {
        input: Box<PlanNode>,
        var: VarId,
        label: Arc<str>,
        key: Arc<str>,
        value: Expr,
        any: bool,
    },
    /// Nodes with the label whose indexed property lies in the range.
    IndexRange {
        input: Box<PlanNode>,
        var: VarId,
        label: Arc<str>,
        key: Arc<str>,
        low: Option<(Expr, Inclusion)>,
        high: Option<(Expr, Inclusion)>,
    },
    /// Nodes with the label that are in the index over `keys`: the first values equal `equal`, the
    /// next one is as `part` says. With `order` in the order of that value, and then, if nothing is
    /// demanded of it, also nodes without it.
    IndexScan {
        input: Box<PlanNode>,
        var: VarId,
        label: Arc<str>,
        keys: Vec<Arc<str>>,
        equal: Vec<Expr>,
        part: IndexPart,
        order: Option<IndexOrder>,
    },
    /// Nodes by what identifies them (`WHERE id(n) = ...`); with `any` the expression is a list.
    /// Each node once per input row; what identifies no node of this store selects nothing.
    NodeByIdSeek {
        input: Box<PlanNode>,
        var: VarId,
        form: IdForm,
        value: Expr,
        any: bool,
    },
    /// As [`Operator::NodeByIdSeek`] for relationships; binds the relationship alone.
    RelationshipByIdSeek {
        input: Box<PlanNode>,
        var: VarId,
        form: IdForm,
        value: Expr,
        any: bool,
    },
    /// One row per relationship of `from` that matches; binds `to` and, if named, `rel`.
    Expand {
        input: Box<PlanNode>,
        from: VarId,
        rel: Option<VarId>,
        to: VarId,
        pattern: RelPattern,
    },
    /// As [`Operator::Expand`] where `to` is already bound.
    ExpandInto {
        input: Box<PlanNode>,
        from: VarId,
        rel: Option<VarId>,
        to: VarId,
        pattern: RelPattern,
    },
    /// Variable-length expansion, `min..=max` relationships (`max` `None`: unbounded). `into`: `to`
    /// is bound already.
    VarExpand {
        input: Box<PlanNode>,
        from: VarId,
        rels: Option<VarId>,
        to: VarId,
        into: bool,
        pattern: RelPattern,
        min: u32,
        max: Option<u32>,
        mode: VarExpandMode,
    },
    /// Repeats `inner`, whose leaf is an [`Operator::Argument`] with `entry` and what else it
    /// reads, `min..=max` times, each time from where it ended: `entry` is `from` at first, then
    /// `exit` of the time before. All relationships differ. Binds `to` (`into`: it is bound
    /// already), the relationships in order, and lists of the groups.
    Repeat {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
        repeat: Box<Repeat>,
    },
    /// Of the rows with the same ends only those with the shortest paths; `lengths` are the single
    /// relationships and lists of them that a path consists of.
    SelectPaths {
        input: Box<PlanNode>,
        from: VarId,
        to: VarId,
        lengths: Vec<VarId>,
        count: PathCount,
    },
    /// Binds a path variable from the nodes and relationships of its pattern, in order.
    BuildPath {
        input: Box<PlanNode>,
        path: VarId,
        parts: Vec<VarId>,
    },
    /// Keeps rows whose predicate is true (not false, not null).
    Filter {
        input: Box<PlanNode>,
        predicate: Expr,
    },
    /// Rows with exactly these variables.
    Project {
        input: Box<PlanNode>,
        items: Vec<(VarId, Expr)>,
    },
    /// Adds computed variables to the row, keeping the others.
    Extend {
        input: Box<PlanNode>,
        items: Vec<(VarId, Expr)>,
    },
    /// Groups by `keys`; without keys exactly one row.
    Aggregate {
        input: Box<PlanNode>,
        keys: Vec<(VarId, Expr)>,
        aggregates: Vec<(VarId, AggregateCall)>,
    },
    /// Fused `count(DISTINCT end)` per input row over a reachability expansion, optionally with a
    /// predicate on the end node: one output row per input row holding `count`. The planner emits
    /// it only where the grouping keys determine the input row (each input row is its own group, or
    /// there is one input row).
    ReachableCount {
        input: Box<PlanNode>,
        from: VarId,
        to: VarId,
        pattern: RelPattern,
        min: u32,
        max: Option<u32>,
        end_labels: Vec<Arc<str>>,
        end_filter: Option<Expr>,
        count: VarId,
    },
    /// The number of matches of the patterns that hang on nodes of the row, multiplied, as `count`;
    /// rows without a match are dropped. Stands below an aggregation that adds the numbers up.
    CountMatches {
        input: Box<PlanNode>,
        patterns: Vec<(VarId, CountTree)>,
        count: VarId,
    },
    /// Distinct rows over the given variables; the others are dropped. `runs`: equal rows follow
    /// each other in the input.
    Distinct {
        input: Box<PlanNode>,
        vars: Vec<VarId>,
        runs: bool,
    },
    /// Sorted rows; stable.
    Sort {
        input: Box<PlanNode>,
        keys: Vec<(Expr, SortOrder)>,
    },
    /// The first `limit` rows of the sort.
    TopN {
        input: Box<PlanNode>,
        keys: Vec<(Expr, SortOrder)>,
        limit: Expr,
    },
    /// Drops the first rows; the expression is constant and a non-negative integer.
    Skip { input: Box<PlanNode>, count: Expr },
    /// Stops after so many rows.
    Limit { input: Box<PlanNode>, count: Expr },
    /// One row per list element; null gives none, a single value gives one row.
    Unwind {
        input: Box<PlanNode>,
        list: Expr,
        var: VarId,
        /// The list is a variable that no operator above reads: rows do not carry it on.
        last: bool,
    },
    /// For each input row runs `inner` (whose leaf is [`Operator::Argument`]) and joins the results
    /// to it.
    Apply {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
    },
    /// As [`Operator::Apply`]; an input row without results survives once with `nulls` set to null.
    Optional {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
        nulls: Vec<VarId>,
    },
    /// As [`Operator::Apply`] for batches of input rows, each in a transaction of its own that is
    /// committed before the next one begins. All of it is done before the first row is handed out.
    /// Stands only in the pipeline of the statement itself.
    InTransactions {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
        batches: InTransactions,
    },
    /// Keeps input rows for which `inner` has (`anti`: has not) a row.
    SemiApply {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
        anti: bool,
    },
    /// Equi-join on variables both sides produce; builds on `build`. Null joins with nothing. In an
    /// inner tree `build` may stand alone, without any [`Operator::Argument`]: what was built
    /// serves all rows then.
    HashJoin {
        input: Box<PlanNode>,
        build: Box<PlanNode>,
        on: Vec<VarId>,
    },
    /// The rows of `input`, a pipeline that begins with a scan or an [`Operator::Exchange`], in its
    /// order, found by several threads.
    Parallel { input: Box<PlanNode> },
    /// The rows of `input`, which one thread makes, divided among the threads of the pipeline
    /// above.
    Exchange { input: Box<PlanNode> },
    /// Every pair of rows.
    CartesianProduct {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
    },
    /// Rows of all inputs; with the variables of [`Plan::variables`] made equal by a projection in
    /// each.
    Union { inputs: Vec<PlanNode> },
    /// `CALL name(args) YIELD ...`; once per input row.
    Procedure {
        input: Box<PlanNode>,
        name: Arc<str>,
        args: Vec<Expr>,
        yields: Vec<(Arc<str>, VarId)>,
        /// It changes the graph.
        writes: bool,
        at: Span,
    },
    /// Creates nodes and relationships, once per input row, and binds them.
    Create {
        input: Box<PlanNode>,
        creation: Creation,
    },
    /// For each input row, one after the other: the rows of `inner` (whose leaf is
    /// [`Operator::Argument`]), changed by `on_match`; where there are none, one row with the
    /// creation, changed by `on_create`.
    Merge {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
        creation: Creation,
        on_create: Vec<SetItem>,
        on_match: Vec<SetItem>,
        /// Bound to whether the row was created, if anything asks.
        created: Option<VarId>,
    },
    /// `SET` and `REMOVE`, row by row, items in order.
    Set {
        input: Box<PlanNode>,
        items: Vec<SetItem>,
    },
    /// Deletes the nodes, relationships and paths that the expressions give; with `detach` also the
    /// relationships of the nodes.
    Delete {
        input: Box<PlanNode>,
        targets: Vec<Expr>,
        detach: bool,
        at: Span,
    },
    /// For each input row runs `inner` (whose leaf is [`Operator::Argument`]) once per element of
    /// the list, in order; hands on the input row.
    Foreach {
        input: Box<PlanNode>,
        inner: Box<PlanNode>,
        list: Expr,
        var: VarId,
        at: Span,
    },
    /// Takes in all its input before it hands out the first row (see `plan/rules/eager.rs` on
    /// where).
    Eager {
        input: Box<PlanNode>,
        reason: Arc<str>,
    },
    /// Runs its input to the end and hands out nothing.
    EmptyResult { input: Box<PlanNode> },
    /// Changes the schema; hands out nothing.
    Schema {
        input: Box<PlanNode>,
        command: schema::SchemaCommand,
    },
    /// One row per row of some files, or of a frame; once per input row.
    LoadFrom {
        input: Box<PlanNode>,
        source: LoadSource,
        /// Columns that are wanted.
        yields: Vec<(Arc<str>, VarId)>,
        /// Conditions, also above, by which parts of files may be passed over.
        bounds: Vec<ColumnBound>,
        at: Span,
    },
    /// Writes the rows of `input` to a file; no rows.
    CopyTo {
        input: Box<PlanNode>,
        columns: Vec<(Arc<str>, VarId)>,
        file: Arc<str>,
        options: Vec<(Arc<str>, OptionValue)>,
        at: Span,
    },
    /// One row per line of a delimited file: a list of its fields or, with `headers`, a map of
    /// them.
    LoadCsv {
        input: Box<PlanNode>,
        url: Expr,
        headers: bool,
        terminator: Option<Expr>,
        var: VarId,
        /// Bound to the line on which the record begins.
        line: Option<VarId>,
        /// Bound to the path of the file.
        file: Option<VarId>,
        at: Span,
    },
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

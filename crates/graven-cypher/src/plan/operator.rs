//! The operators of a plan.

use std::sync::Arc;

use super::{
    CountTree, IdForm, InTransactions, Inclusion, IndexOrder, IndexPart, PathCount, PlanNode,
    RelPattern, Repeat, SortOrder, VarExpandMode, VarId, schema,
};
use crate::token::Span;

use super::creation::{Creation, SetItem};
use super::expression::{AggregateCall, Expr};
use super::files::{ColumnBound, LoadSource, OptionValue};

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
    /// Nodes with the label and an indexed property equal to `value` (a list with `any`: each
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
    /// Nodes with the label and an indexed property within the range.
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
    /// Repeats `inner`; its leaf is an [`Operator::Argument`] with `entry` and what else it
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
        /// All rows have the same ends, and shorter paths come first.
        ordered: bool,
    },
    /// Binds a path variable from the nodes and relationships of its pattern, in order.
    BuildPath {
        input: Box<PlanNode>,
        path: VarId,
        parts: Vec<VarId>,
    },
    /// Keeps rows for which the predicate is true (not false, not null).
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
    /// The number of matches of the patterns that hang on nodes of the row, multiplied, as `count`,
    /// and the extremes that the patterns name; rows without a match are dropped. Stands below an
    /// aggregation that adds the numbers up and compares the extremes.
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
    /// For each input row runs `inner` (its leaf is [`Operator::Argument`]) and joins the results
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
    /// For each input row, one after the other: the rows of `inner` (its leaf is
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
    /// For each input row runs `inner` (its leaf is [`Operator::Argument`]) once per element of
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

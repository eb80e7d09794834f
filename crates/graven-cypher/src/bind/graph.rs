//! The bound query: names are variables, patterns are graphs, aggregates are taken out; nothing is
//! ordered.
//!
//! # Invariants
//! * CY-20 Consecutive `MATCH` clauses form one [`QueryGraph`]; [`Edge::group`] keeps apart the
//!   clauses, since relationships must differ only within one.
//! * CY-21 A subquery inside an expression is a variable of that expression; its definition is in
//!   [`Bound::subqueries`], and the planner computes it before the expression is evaluated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::scope::Record;
use crate::diagnostic::Notice;
use crate::plan::expression::{Quantifier, UnaryOp};
use crate::plan::schema::SchemaCommand;
use crate::plan::variables::{is_volatile, substitute};
use crate::plan::{
    AggregateCall, ColumnBound, Creation, Direction, ExpectedParameter, Expr, InTransactions,
    LoadSource, OptionValue, PlanMode, SetItem, SortOrder, VarId, Variable,
};
use crate::token::Span;

/// A bound statement.
pub(crate) struct Bound {
    pub mode: PlanMode,
    pub query: BoundQuery,
    pub variables: Vec<Variable>,
    pub subqueries: BTreeMap<VarId, Subquery>,
    pub notices: Vec<Notice>,
    pub planned_for: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    pub expected: Vec<ExpectedParameter>,
    /// Variables of [`Record`]s that are read.
    pub known_columns: BTreeSet<VarId>,
    /// Declared types of the result columns.
    pub declared: Vec<Option<Arc<str>>>,
}

/// Single queries joined by `UNION`.
pub(crate) struct BoundQuery {
    pub branches: Vec<Branch>,
    /// `UNION ALL`.
    pub all: bool,
    /// Result columns: heading and variable; with several branches the variables are common to all.
    pub columns: Vec<(Arc<str>, VarId)>,
}

impl BoundQuery {
    /// Whether any clause changes something, subqueries of expressions aside, which cannot.
    pub(crate) fn writes(&self) -> bool {
        let mut steps = self.branches.iter().flat_map(|branch| &branch.steps);
        steps.any(|step| match step {
            Step::Call { query, .. } => query.writes(),
            Step::Create { .. }
            | Step::Merge(_)
            | Step::Set(_)
            | Step::Delete { .. }
            | Step::Foreach { .. }
            | Step::Schema(_) => true,
            Step::Match(_)
            | Step::OptionalMatch(_)
            | Step::Select { .. }
            | Step::Unwind { .. }
            | Step::Project(_)
            | Step::Procedure { .. }
            | Step::LoadCsv { .. }
            | Step::LoadFrom { .. }
            | Step::CopyTo { .. } => false,
        })
    }
}

/// One single query.
pub(crate) struct Branch {
    pub steps: Vec<Step>,
    /// Its own variables of the result columns.
    pub columns: Vec<VarId>,
}

/// One clause, or several `MATCH` clauses together.
pub(crate) enum Step {
    Match(QueryGraph),
    OptionalMatch(QueryGraph),
    /// Of the matches of a pattern only the shortest paths between each two ends; then the
    /// conditions.
    Select {
        graph: QueryGraph,
        from: VarId,
        to: VarId,
        lengths: Vec<VarId>,
        count: crate::plan::PathCount,
        conditions: Vec<Expr>,
    },
    Unwind {
        list: Expr,
        var: VarId,
    },
    Project(Box<Projection>),
    Procedure {
        name: Arc<str>,
        args: Vec<Expr>,
        yields: Vec<(Arc<str>, VarId)>,
        filter: Option<Expr>,
        writes: bool,
        at: Span,
    },
    Call {
        query: BoundQuery,
        /// Columns that are copies of variables of the row.
        copied: Vec<(VarId, Expr)>,
        imports: Vec<VarId>,
        transactions: Option<InTransactions>,
        /// A row for which it returns nothing is kept, with nulls.
        optional: bool,
    },
    Create {
        creation: Creation,
        /// Path variables with the nodes and relationships they consist of.
        paths: Vec<(VarId, Vec<VarId>)>,
    },
    Merge(Box<Merge>),
    /// `SET` and `REMOVE`.
    Set(Vec<SetItem>),
    Delete {
        targets: Vec<Expr>,
        detach: bool,
        at: Span,
    },
    Foreach {
        list: Expr,
        var: VarId,
        body: Branch,
        imports: Vec<VarId>,
        at: Span,
    },
    Schema(SchemaCommand),
    LoadFrom {
        source: LoadSource,
        yields: Vec<(Arc<str>, VarId)>,
        bounds: Vec<ColumnBound>,
        /// Rows, where they are known.
        rows: Option<u64>,
        filter: Vec<Expr>,
        at: Span,
    },
    CopyTo {
        query: BoundQuery,
        file: Arc<str>,
        options: Vec<(Arc<str>, OptionValue)>,
        at: Span,
    },
    LoadCsv {
        url: Expr,
        headers: bool,
        terminator: Option<Expr>,
        var: VarId,
        record: Record,
        at: Span,
    },
}

impl Step {
    /// A subquery of one branch that reads `imports` of each row and adds `columns` to it; an
    /// `optional` one keeps a row for which it gives nothing.
    pub(super) fn inner(
        steps: Vec<Step>,
        columns: Vec<(Arc<str>, VarId)>,
        imports: Vec<VarId>,
        optional: bool,
    ) -> Step {
        Step::Call {
            query: BoundQuery {
                branches: vec![Branch {
                    steps,
                    columns: columns.iter().map(|(_, var)| *var).collect(),
                }],
                all: true,
                columns,
            },
            copied: Vec::new(),
            imports,
            transactions: None,
            optional,
        }
    }
}

/// `MERGE`: what is looked for, and what is created where it is not found.
pub(crate) struct Merge {
    pub graph: QueryGraph,
    pub creation: Creation,
    pub on_create: Vec<SetItem>,
    pub on_match: Vec<SetItem>,
    /// Set to whether the row was created.
    pub created: Option<VarId>,
    pub paths: Vec<(VarId, Vec<VarId>)>,
}

/// Patterns to be found together.
#[derive(Clone, Default)]
pub(crate) struct QueryGraph {
    /// Node variables, also those bound before.
    pub nodes: Vec<VarId>,
    pub edges: Vec<Edge>,
    /// Path variables with the nodes and relationships they consist of.
    pub paths: Vec<(VarId, Vec<VarId>)>,
    /// Conditions, split at `AND`.
    pub predicates: Vec<Expr>,
    pub hints: Vec<AccessHint>,
}

/// How the statement wants a node to be found, where it is looked for.
#[derive(Clone)]
pub(crate) struct AccessHint {
    pub node: VarId,
    pub label: Arc<str>,
    /// First property of an index; none: by reading the label.
    pub key: Option<Arc<str>>,
}

impl QueryGraph {
    /// What it binds, and what of it is bound before.
    pub(crate) fn variables(&self) -> BTreeSet<VarId> {
        let mut all: BTreeSet<VarId> = self.nodes.iter().copied().collect();
        for edge in &self.edges {
            all.extend(edge.made());
        }
        all.extend(self.paths.iter().map(|(path, _)| *path));
        all
    }

    /// `all(x IN rels WHERE p)` and `none(...)` over the list of a variable-length relationship
    /// that `takes` such conditions become conditions on each relationship, which are decided while
    /// expanding. Whether the condition has.
    pub(crate) fn decided_on_each(
        &mut self,
        condition: &Expr,
        takes: impl Fn(&Edge) -> bool,
    ) -> bool {
        let Expr::Quantifier {
            kind,
            var,
            list,
            predicate,
            ..
        } = condition
        else {
            return false;
        };
        // What differs each time is decided for each match, not once for each relationship.
        if is_volatile(predicate) {
            return false;
        }
        let list = match &**list {
            Expr::Variable(list) => *list,
            // The relationships of a path that is one variable-length relationship.
            Expr::Call { name, args, .. } if &**name == "relationships" => {
                let mut paths = self.paths.iter();
                let path = paths.find(|(path, _)| args[..] == [Expr::Variable(*path)]);
                match path.map(|(_, parts)| &parts[..]) {
                    Some([_, list, _]) => *list,
                    _ => return false,
                }
            }
            _ => return false,
        };
        let mut edges = self.edges.iter_mut();
        let Some(edge) = edges.find(|e| e.rel == list && e.length.is_some() && takes(e)) else {
            return false;
        };
        let mut each = (**predicate).clone();
        substitute(&mut each, *var, &Expr::Variable(edge.each));
        let own = each.variables();
        if own.contains(&edge.rel) || own.iter().any(|v| *v != edge.each) {
            return false;
        }
        match kind {
            Quantifier::All => edge.filters.push(each),
            Quantifier::None => edge.filters.push(Expr::Unary {
                op: UnaryOp::Not,
                operand: Box::new(each),
                at: Span::default(),
            }),
            _ => return false,
        }
        true
    }
}

/// A relationship pattern.
#[derive(Clone)]
pub(crate) struct Edge {
    pub rel: VarId,
    pub from: VarId,
    pub to: VarId,
    pub types: Vec<Arc<str>>,
    pub direction: Direction,
    /// Bounds of a variable-length pattern.
    pub length: Option<(u32, Option<u32>)>,
    /// Stands for each relationship in `filters`.
    pub each: VarId,
    /// Conditions on each relationship.
    pub filters: Vec<Expr>,
    /// Which `MATCH` it belongs to.
    pub group: u32,
    /// The relationship itself is bound before.
    pub bound: bool,
    /// Of its trails only these are wanted; both ends are found first.
    pub shortest: Option<crate::plan::ShortestPaths>,
    /// The one relationship of the list, where a shortest path of one relationship names it.
    pub single: Option<VarId>,
    /// What is repeated, where that is more than one relationship; types are those of all of it,
    /// and nothing is said by direction and filters.
    pub repeated: Option<Box<Repeated>>,
}

impl Edge {
    /// One relationship of any type, of the `MATCH` of this number, from a node to a node that is
    /// yet to be said.
    pub(crate) fn from(from: VarId, rel: VarId, each: VarId, group: u32) -> Self {
        Self {
            rel,
            from,
            to: from,
            types: Vec::new(),
            direction: Direction::Both,
            length: None,
            each,
            filters: Vec::new(),
            group,
            bound: false,
            shortest: None,
            single: None,
            repeated: None,
        }
    }

    /// What following it binds besides its ends: the relationship or list, the one relationship of
    /// the list, and the lists of what a repetition names.
    pub(crate) fn made(&self) -> impl Iterator<Item = VarId> {
        let groups = self.repeated.iter().flat_map(|repeated| &repeated.groups);
        let lists = groups.map(|(_, list)| *list);
        [self.rel].into_iter().chain(self.single).chain(lists)
    }

    /// Whether its relationships and those of the other must differ, and may be the same.
    pub(crate) fn differs(&self, other: &Edge) -> bool {
        let mut types = self.types.iter();
        let any = self.types.is_empty() || other.types.is_empty();
        self.group == other.group && (any || types.any(|it| other.types.contains(it)))
    }
}

/// A quantified pattern of several relationships, or with conditions on its nodes.
#[derive(Clone)]
pub(crate) struct Repeated {
    /// One repetition, from [`Repeated::entry`] to [`Repeated::exit`].
    pub graph: QueryGraph,
    pub entry: VarId,
    pub exit: VarId,
    /// Its relationships in the order of the path.
    pub rels: Vec<VarId>,
    /// Its named parts, and the lists of them over all repetitions.
    pub groups: Vec<(VarId, VarId)>,
}

impl Repeated {
    /// Its conditions, which may read what is around it.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Expr> {
        let of_edges = self.graph.edges.iter().flat_map(|edge| &edge.filters);
        self.graph.predicates.iter().chain(of_edges)
    }
}

/// `WITH` or `RETURN`.
pub(crate) struct Projection {
    /// Result variables and what they hold; above an aggregation they read its keys and aggregates.
    pub items: Vec<(VarId, Expr)>,
    pub aggregation: Option<Aggregation>,
    pub distinct: bool,
    pub order: Vec<(Expr, SortOrder)>,
    pub skip: Option<Expr>,
    pub limit: Option<Expr>,
    pub filter: Option<Expr>,
}

/// Grouping of a projection.
#[derive(Default)]
pub(crate) struct Aggregation {
    pub keys: Vec<(VarId, Expr)>,
    pub aggregates: Vec<(VarId, AggregateCall)>,
}

/// A subquery inside an expression.
pub(crate) struct Subquery {
    pub kind: SubqueryValue,
    pub query: BoundQuery,
    /// Variables of the surrounding row it reads.
    pub imports: Vec<VarId>,
    /// Where this is not true the value is not asked for, and the query does not run.
    pub guard: Option<Expr>,
    /// It may have another value each time, for the same row.
    pub differs: bool,
}

/// What a subquery's variable holds.
pub(crate) enum SubqueryValue {
    /// Whether there is a row.
    Exists,
    /// How many rows there are.
    Count,
    /// The list of this value over all rows.
    Collect(Expr),
}

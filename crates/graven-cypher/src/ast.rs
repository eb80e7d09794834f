//! The syntax tree: what the text says, nothing resolved.
//!
//! # Invariants
//! * CY-10 [`Expr::height`] is one more than the largest of its children; the parser refuses trees
//!   higher than its limit, so walking a tree recursively cannot overflow the stack.
//! * CY-11 Equality of trees ignores places: `n.age` equals `n . age`.

mod expression;

use std::sync::Arc;

use crate::plan::schema::{IndexKind, SchemaCommand};
use crate::plan::{Direction, LoadSource, OnError, OptionValue, PlanMode, SortOrder};
use crate::token::Span;
pub(crate) use expression::{Expr, ExprKind, MapItem, SubqueryKind};

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub text: Arc<str>,
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub mode: PlanMode,
    pub query: Query,
    /// The databases that it says it uses, wherever it does.
    pub used: Vec<Name>,
    /// Whether it calls a function that takes a number of a sequence, or may be a macro that does.
    pub may_advance: bool,
}

/// Single queries combined by `UNION`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    pub first: SingleQuery,
    pub unions: Vec<Union>,
}

/// One `UNION [ALL]` with what follows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Union {
    pub all: bool,
    pub span: Span,
    pub query: SingleQuery,
}

/// Clauses in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SingleQuery {
    pub clauses: Vec<Clause>,
}

/// A clause with the place of its keyword.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause {
    pub kind: ClauseKind,
    pub span: Span,
}

/// A hint to the planner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hint {
    pub variables: Vec<Name>,
    pub kind: HintKind,
}

/// What is to be used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum HintKind {
    /// An index of a label or type, of any kind where none is named.
    Index {
        kind: Option<IndexKind>,
        label: Arc<str>,
        keys: Vec<Arc<str>>,
    },
    Scan {
        label: Arc<str>,
    },
    Join,
}

/// What a clause does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClauseKind {
    Match {
        optional: bool,
        patterns: Vec<PathPattern>,
        hints: Vec<Hint>,
        filter: Option<Expr>,
    },
    With {
        projection: Projection,
        filter: Option<Expr>,
    },
    /// `LET name = value, ...`: the rows with more columns.
    Let(Vec<(Name, Expr)>),
    /// `FILTER condition`: the rows of which it is true.
    Filter(Expr),
    Return(Projection),
    /// The end of a query that returns nothing.
    Finish,
    Unwind {
        list: Expr,
        name: Name,
    },
    Call(ProcedureCall),
    Subquery {
        /// A row without results is kept, with nulls.
        optional: bool,
        imports: Imports,
        query: Box<Query>,
        /// `IN TRANSACTIONS`.
        transactions: Option<Box<InTransactions>>,
    },
    /// A whole statement.
    Schema(SchemaCommand),
    LoadCsv {
        headers: bool,
        url: Expr,
        name: Name,
        terminator: Option<Expr>,
    },
    LoadFrom(Box<LoadFrom>),
    /// A whole statement.
    CopyFrom(Box<CopyFrom>),
    /// `COPY (query) TO 'file'`, a whole statement.
    CopyTo {
        query: Box<Query>,
        file: Arc<str>,
        options: Vec<(Arc<str>, OptionValue)>,
        at: Span,
    },
    Create {
        patterns: Vec<PathPattern>,
    },
    Merge {
        pattern: PathPattern,
        on_create: Vec<SetItem>,
        on_match: Vec<SetItem>,
    },
    Set(Vec<SetItem>),
    Remove(Vec<RemoveItem>),
    Delete {
        detach: bool,
        targets: Vec<Expr>,
    },
    Foreach {
        name: Name,
        list: Expr,
        clauses: Vec<Clause>,
    },
}

/// `LOAD FROM source (columns) (options) WHERE filter`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadFrom {
    pub source: LoadSource,
    pub filter: Option<Expr>,
    pub at: Span,
}

/// Where copied rows come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CopySource {
    Files(Box<LoadFrom>),
    Query(Box<Query>),
}

/// `COPY target (properties) FROM source`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CopyFrom {
    /// A label, or with `ends` a relationship type.
    pub target: Name,
    pub properties: Option<Vec<Name>>,
    pub source: CopySource,
    pub ends: Option<(CopyEnd, CopyEnd)>,
    pub transactions: Option<Box<InTransactions>>,
    /// The table is made of what is copied.
    pub creates: Option<CreatedTable>,
}

/// What `CREATE NODE TABLE name AS query` says of the table besides the query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CreatedTable {
    /// Whether nothing is wrong, and nothing done, if it is there already.
    pub lenient: bool,
    /// Of relationships: whether at most one starts, and ends, at a node.
    pub limits: (bool, bool),
}

/// Nodes between which relationships are copied; the key is the only unique property where it is
/// not said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CopyEnd {
    pub label: Arc<str>,
    pub key: Option<Arc<str>>,
    pub at: Span,
}

/// What a `CALL {}` subquery takes from the row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Imports {
    /// `CALL { WITH a, b ... }`: each part says by itself.
    ByWith,
    /// `CALL (*) { ... }`.
    All,
    /// `CALL (a, b) { ... }`.
    Names(Vec<Name>),
}

/// `IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR ...] [REPORT STATUS AS name]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InTransactions {
    pub concurrency: Option<Expr>,
    pub rows: Option<Expr>,
    pub on_error: Option<OnError>,
    /// `RETRY`: for so many seconds, if it says so.
    pub retry: Option<Option<Expr>>,
    pub status: Option<Name>,
    pub span: Span,
}

/// `CALL name(args) YIELD ...`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProcedureCall {
    pub name: Name,
    /// `None`: no parentheses, arguments come from parameters of their names.
    pub args: Option<Vec<Expr>>,
    pub yields: Yields,
    pub filter: Option<Expr>,
    /// Written as `SHOW ...`: all columns may be taken also where more follows.
    pub shown: bool,
    /// Written as `OPTIONAL CALL` without `YIELD`.
    pub optional: bool,
}

impl ProcedureCall {
    /// The call that a statement without the word `CALL` stands for: it yields nothing by name.
    pub(crate) fn of(procedure: &str, args: Vec<Expr>, span: Span) -> Self {
        ProcedureCall {
            name: Name {
                text: procedure.into(),
                span,
            },
            args: Some(args),
            yields: Yields::None,
            filter: None,
            shown: false,
            optional: false,
        }
    }
}

/// The `YIELD` part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Yields {
    None,
    Star(Span),
    Items(Vec<(Name, Option<Name>)>),
}

/// Body of `WITH` and `RETURN`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Projection {
    pub distinct: bool,
    pub star: Option<Span>,
    pub items: Vec<ProjectionItem>,
    pub order: Vec<(Expr, SortOrder)>,
    pub skip: Option<Expr>,
    pub limit: Option<Expr>,
}

impl Projection {
    /// `*`.
    pub(crate) fn of_all(span: Span) -> Self {
        Projection {
            distinct: false,
            star: Some(span),
            items: Vec::new(),
            order: Vec::new(),
            skip: None,
            limit: None,
        }
    }
}

/// `expression [AS alias]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProjectionItem {
    pub expr: Expr,
    pub alias: Option<Name>,
    /// `n.*` of a variable with this label or type: the columns of its table.
    pub spread: Option<Arc<str>>,
}

/// One item of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetItem {
    Property { target: Expr, value: Expr },
    Replace { name: Name, value: Expr },
    Merge { name: Name, value: Expr },
    Labels { name: Name, labels: LabelExpr },
}

impl SetItem {
    /// Visits its expressions.
    pub(crate) fn expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            SetItem::Property { target, value } => [target, value].into_iter().for_each(visit),
            SetItem::Replace { value, .. } | SetItem::Merge { value, .. } => visit(value),
            SetItem::Labels { labels, .. } => labels.expressions(visit),
        }
    }
}

/// One item of `REMOVE`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RemoveItem {
    Property(Expr),
    Labels { name: Name, labels: LabelExpr },
}

/// A path: `name = (a)-[r]->(b)...`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathPattern {
    pub name: Option<Name>,
    pub shortest: Option<Shortest>,
    pub first: NodePattern,
    pub steps: Vec<(RelationshipPattern, NodePattern)>,
    /// `((a)-->(b) WHERE filter)`: what every path has to fulfil before any is selected.
    pub filter: Option<Box<Expr>>,
    pub span: Span,
}

/// `shortestPath` and its kin: which paths between two ends are wanted.
pub(crate) type Shortest = crate::plan::ShortestPaths;

/// `(name:Labels {properties} WHERE filter)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodePattern {
    pub name: Option<Name>,
    pub labels: Option<LabelExpr>,
    pub properties: Option<Expr>,
    pub filter: Option<Box<Expr>>,
    pub span: Span,
}

/// `-[name:TYPE*min..max {properties} WHERE filter]->`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RelationshipPattern {
    pub name: Option<Name>,
    pub types: Option<LabelExpr>,
    pub direction: Direction,
    pub length: Option<Length>,
    pub properties: Option<Expr>,
    pub filter: Option<Box<Expr>>,
    /// `(r, n | WHERE ...)` behind the bounds of a variable length.
    pub parts: Option<Box<PathParts>>,
    /// Of a quantified pattern that is more than one relationship: what is repeated. `filter` is
    /// about all of it, and name, types, direction and properties say nothing.
    pub repeated: Option<Box<PathPattern>>,
    pub span: Span,
}

/// Kuzu's `(r, n | WHERE condition)`: names for each relationship of a variable length and for each
/// node between its ends, and what is asked of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathParts {
    pub relationship: Name,
    pub node: Option<Name>,
    pub filter: Option<Expr>,
    /// The properties that Kuzu would give with the parts; here a part is whole.
    pub shown: Vec<Expr>,
    /// Whether the path meets no node twice.
    pub acyclic: bool,
    /// What relationships cost, where paths of least cost are wanted.
    pub weight: Option<Weight>,
}

impl PathParts {
    /// Whether the condition reads the nodes.
    pub(crate) fn asks_nodes(&self) -> bool {
        match (&self.node, &self.filter) {
            (Some(node), Some(filter)) => !filter.reads_only(&|read| read != &*node.text),
            _ => false,
        }
    }
}

impl PathPattern {
    /// The relationship along which paths of least cost are wanted.
    pub(crate) fn weighted(&self) -> Option<(&RelationshipPattern, &Weight)> {
        self.steps.iter().find_map(|(relationship, _)| {
            let parts = relationship.parts.as_deref()?;
            Some((relationship, parts.weight.as_ref()?))
        })
    }
}

/// `WSHORTEST(key)`, or `ALL WSHORTEST(key)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weight {
    pub key: Name,
    /// Whether all paths of the least cost are wanted, not one.
    pub all: bool,
    pub span: Span,
}

/// `*min..max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Length {
    pub min: Option<u32>,
    pub max: Option<u32>,
}

/// A condition on labels or types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LabelExpr {
    Label(Name),
    And(Vec<LabelExpr>),
    Or(Vec<LabelExpr>),
    Not(Box<LabelExpr>),
    /// `%`: any label at all.
    Any,
    /// `$(names)`, `$all(names)`: all of the names that the expression gives; `$any(names)`: one of
    /// them.
    Computed {
        any: bool,
        names: Box<Expr>,
    },
}

impl LabelExpr {
    /// Visits the expressions that give names.
    pub(crate) fn expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            LabelExpr::Label(_) | LabelExpr::Any => {}
            LabelExpr::And(items) | LabelExpr::Or(items) => {
                items.iter().for_each(|item| item.expressions(visit));
            }
            LabelExpr::Not(item) => item.expressions(visit),
            LabelExpr::Computed { names, .. } => visit(names),
        }
    }
}

impl PathPattern {
    /// The names of the path, its nodes and its relationships.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        let steps = self.steps.iter();
        let inner = steps.flat_map(|(relationship, node)| [&relationship.name, &node.name]);
        let all = [&self.name, &self.first.name].into_iter().chain(inner);
        all.flatten()
    }

    /// Visits the expressions of the pattern: computed labels, property maps and inline filters.
    pub(crate) fn expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        let node = |node: &'a NodePattern, visit: &mut dyn FnMut(&'a Expr)| {
            node.labels
                .iter()
                .for_each(|labels| labels.expressions(visit));
            node.properties
                .iter()
                .chain(node.filter.as_deref())
                .for_each(visit);
        };
        node(&self.first, visit);
        for (relationship, end) in &self.steps {
            if let Some(repeated) = &relationship.repeated {
                repeated.expressions(visit);
            }
            let types = relationship.types.iter();
            types.for_each(|types| types.expressions(visit));
            relationship
                .properties
                .iter()
                .chain(relationship.filter.as_deref())
                .for_each(&mut *visit);
            let parts = relationship.parts.iter();
            parts
                .flat_map(|parts| parts.filter.iter().chain(&parts.shown))
                .for_each(&mut *visit);
            node(end, visit);
        }
        self.filter.as_deref().into_iter().for_each(visit);
    }
}

//! The part of Cypher that is generated, as a tree.

use crate::value::V;

pub(crate) type Name = String;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    And,
    Or,
    Xor,
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
    In,
    StartsWith,
    EndsWith,
    Contains,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantifier {
    All,
    Any,
    None,
    Single,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sub {
    Exists,
    Count,
    Collect,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
    Avg,
    Collect,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Literal(V),
    Var(Name),
    Property(Box<Expr>, &'static str),
    Binary(Op, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    IsNull(Box<Expr>),
    IsNotNull(Box<Expr>),
    HasLabel(Box<Expr>, &'static str),
    Call(&'static str, Vec<Expr>),
    List(Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, i64, i64),
    /// `[var IN list WHERE condition | item]`.
    Comprehension(Name, Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Quantified(Quantifier, Name, Box<Expr>, Box<Expr>),
    /// `reduce(sum = first, var IN list | body)`.
    Reduce(Name, Box<Expr>, Name, Box<Expr>, Box<Expr>),
    /// Condition, value, other value.
    Case(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `CASE of WHEN value THEN then ELSE other END`.
    Choice(Box<Expr>, Box<Expr>, Box<Expr>, Box<Expr>),
    /// The same value in a form whose type the text does not tell; the number chooses the form.
    Hidden(Box<Expr>, u8),
    /// Fails where it is computed; the number chooses how.
    Poison(u8),
    /// Another value each time; the number chooses the function.
    Random(u8),
    Map(Vec<(&'static str, Expr)>),
    /// `var {parts}`: of a node, a relationship or a map.
    MapOf(Name, Vec<Part>),
    Exists(Vec<Path>, Option<Box<Expr>>),
    CountOf(Vec<Path>, Option<Box<Expr>>),
    /// `COLLECT { MATCH ... RETURN item }`.
    CollectOf(Vec<Path>, Option<Box<Expr>>, Box<Expr>),
    /// `EXISTS`, `COUNT` or `COLLECT` of a whole query.
    Sub(Sub, Box<Query>),
    /// A date and how many months and days later.
    Later(Box<Expr>, i64, i64),
    /// The moment or duration later by months, days, nanoseconds.
    Shifted(Box<Expr>, i64, i64, i64),
    /// Days from one date to another.
    DaysBetween(Box<Expr>, Box<Expr>),
    /// A pattern as a condition.
    Pattern(Box<Path>),
    /// `[pattern | item]`.
    PatternComprehension(Box<Path>, Option<Box<Expr>>, Box<Expr>),
    /// With or without `DISTINCT`; `count(*)` has no argument.
    Aggregate(Aggregate, bool, Option<Box<Expr>>),
}

/// Part of a map projection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// `.key`.
    Property(&'static str),
    /// `.*`.
    Everything,
    /// `key: value`.
    Entry(&'static str, Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Labels {
    Any,
    All(Vec<&'static str>),
    OneOf(Vec<&'static str>),
    Not(&'static str),
    Some,
    /// `$(name)`: what the variable names.
    Named(Name),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NodePattern {
    pub(crate) var: Option<Name>,
    pub(crate) labels: Labels,
    pub(crate) properties: Vec<(&'static str, Expr)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Direction {
    Out,
    In,
    Both,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Length {
    One,
    /// `*low..high`.
    Star(usize, usize),
    /// `{low,high}` behind the relationship.
    Braces(usize, usize),
    /// A pattern in brackets, repeated; it stands in the place of the relationship.
    Group(Box<Group>),
}

/// `(start-steps WHERE filter){low,high}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) start: NodePattern,
    pub(crate) steps: Vec<(RelPattern, NodePattern)>,
    pub(crate) filter: Option<Expr>,
    pub(crate) low: usize,
    pub(crate) high: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RelPattern {
    pub(crate) var: Option<Name>,
    pub(crate) types: Vec<&'static str>,
    pub(crate) direction: Direction,
    pub(crate) length: Length,
    pub(crate) properties: Vec<(&'static str, Expr)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Plain,
    Shortest,
    AllShortest,
    /// `SHORTEST k GROUPS`, or `ALL SHORTEST` for one: all paths of the first lengths between each
    /// two ends.
    Groups(usize),
    /// `SHORTEST k`, between each two ends.
    Some(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(crate) var: Option<Name>,
    pub(crate) shape: Shape,
    pub(crate) start: NodePattern,
    pub(crate) steps: Vec<(RelPattern, NodePattern)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) expr: Expr,
    pub(crate) name: Name,
    /// A list whose order means nothing.
    pub(crate) bag: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Projection {
    pub(crate) distinct: bool,
    pub(crate) items: Vec<Item>,
    /// By what, and whether descending.
    pub(crate) order: Vec<(Expr, bool)>,
    /// The order leaves nothing open but rows that are the same.
    pub(crate) total: bool,
    pub(crate) skip: Option<usize>,
    pub(crate) limit: Option<usize>,
    pub(crate) filter: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// `var.key = value`.
    Set(Name, &'static str, V),
    /// `var += {key: value}`.
    Add(Name, &'static str, V),
    /// `var = {key: value, ...}`.
    Replace(Name, Vec<(&'static str, V)>),
    /// `var.key = var.key + number`.
    Increase(Name, &'static str, i64),
    /// `var.key = expression`, which may read what rows and items before it wrote.
    Compute(Name, &'static str, Box<Expr>),
    Label(Name, &'static str),
    RemoveLabel(Name, &'static str),
    RemoveProperty(Name, &'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Clause {
    Match {
        optional: bool,
        paths: Vec<Path>,
        filter: Option<Expr>,
    },
    Unwind(Expr, Name),
    With(Projection),
    /// `WITH *`.
    Star,
    /// `FILTER condition`.
    Filter(Expr),
    Return(Projection),
    Call(Call),
    Create(Vec<Path>),
    /// `SET` of all, or `REMOVE` of all.
    Change(Vec<Change>),
    Delete {
        detach: bool,
        vars: Vec<Name>,
    },
    Merge {
        path: Path,
        on_create: Vec<Change>,
        on_match: Vec<Change>,
    },
    /// Variable, list, what is done with each item.
    Foreach(Name, Expr, Vec<Clause>),
}

/// How a subquery gets variables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Import {
    /// `CALL (a, b) {`: they are visible in all of it.
    Listed,
    /// `CALL (*) {`.
    Star,
    /// `CALL { WITH a, b`: they go with the first projection that drops them.
    With,
}

/// A subquery and the variables it is given; it returns or only writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) optional: bool,
    pub(crate) import: Import,
    pub(crate) given: Vec<Name>,
    pub(crate) query: Query,
    /// Rows for each transaction, where it runs in transactions of its own.
    pub(crate) rows_each: Option<usize>,
}

/// Branches put together by `UNION` or `UNION ALL`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Query {
    pub(crate) branches: Vec<Vec<Clause>>,
    pub(crate) all: bool,
}

impl Expr {
    /// Whether an aggregate stands in it.
    pub(crate) fn aggregates(&self) -> bool {
        match self {
            Expr::Aggregate(..) => true,
            Expr::Binary(_, a, b) => a.aggregates() || b.aggregates(),
            Expr::Call(_, items) => items.iter().any(Expr::aggregates),
            _ => false,
        }
    }
}

impl Query {
    /// Whether a clause writes.
    pub(crate) fn writes(&self) -> bool {
        let writes = |clause: &Clause| match clause {
            Clause::Call(call) => call.query.writes(),
            Clause::Create(_)
            | Clause::Change(_)
            | Clause::Delete { .. }
            | Clause::Merge { .. }
            | Clause::Foreach(..) => true,
            _ => false,
        };
        self.branches.iter().flatten().any(writes)
    }

    /// The projection that ends the first branch, if one does.
    pub(crate) fn last(&self) -> Option<&Projection> {
        match self.branches.first()?.last()? {
            Clause::Return(projection) => Some(projection),
            _ => None,
        }
    }
}

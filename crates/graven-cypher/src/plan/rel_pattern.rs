//! A relationship of a pattern, and what is asked of those that match it.

use std::sync::Arc;

use super::expression::Expr;
use super::{Direction, VarId};

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
    /// Whether the `WHERE` of its `MATCH` is asked of paths before they are selected, as that of
    /// `shortestPath()` is.
    pub tested: bool,
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
    /// All, for an operator above that takes as many as it needs.
    All,
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
    /// Extremes of the relationships of each node; only in a pattern that hangs on a node of the
    /// row, without conditions that read the row and without branches.
    pub extremes: Vec<RelExtreme>,
}

/// The smallest or largest value of a property over the relationships that a node has by a
/// pattern; null where none has the property.
#[derive(Clone, Debug)]
pub struct RelExtreme {
    /// The variable that gets it.
    pub var: VarId,
    /// Whether it is the largest one.
    pub largest: bool,
    /// The property.
    pub key: Arc<str>,
}

//! Which planner rules fire, and where: the record that the fuzzer prints as a table of coverage.
//!
//! # How it works
//! Between [`start`] and [`take`] every plan that this thread makes is looked at: a rewrite has
//! fired at the topmost operators that it changed, on every branch; a choice of the builder (a
//! seek, a hash join, a semi-join) has fired where the finished plan holds its operator. What
//! surrounds the place gives the contexts.
//!
//! # Concurrency
//! The record belongs to the thread that plans. Builds without debug assertions and without the
//! feature `mutants` record nothing.

#[cfg(any(debug_assertions, feature = "mutants"))]
mod record;

use std::collections::BTreeMap;

#[cfg(any(debug_assertions, feature = "mutants"))]
pub(crate) use record::{chosen, is_on, planned, rewritten};
#[cfg(any(debug_assertions, feature = "mutants"))]
pub use record::{plans, start, take};

/// A rule of the planner: the rewrites and the placement, in the order in which they are first
/// applied, then the choices of the builder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Rule {
    /// `plan/rules/column_pruning.rs`.
    ColumnPruning,
    /// `plan/rules/uniqueness_by_endpoints.rs`.
    UniquenessByEndpoints,
    /// `plan/rules/reachability.rs`.
    Reachability,
    /// `plan/rules/eager.rs`.
    Eager,
    /// `plan/rules/push_filters_into_expand.rs`.
    PushFiltersIntoExpand,
    /// `plan/rules/semi_join_reduction.rs`.
    SemiJoinReduction,
    /// `plan/rules/aggregate_push_down.rs`.
    AggregatePushDown,
    /// `plan/rules/interesting_orders.rs`.
    InterestingOrders,
    /// `plan/placement/shared_endpoint.rs`.
    SharedEndpoint,
    /// `plan/placement/parallel.rs`.
    Parallel,
    /// `plan/access.rs`: nodes by their ids.
    IdSeek,
    /// `plan/patterns.rs`: relationships by their ids.
    RelationshipSeek,
    /// `plan/access.rs`: nodes by a value in an index.
    IndexSeek,
    /// `plan/access.rs`: nodes by a range of an index.
    IndexRange,
    /// `plan/index_access.rs`: nodes by several properties, or by the beginning of a text.
    IndexScan,
    /// `plan/access.rs`: nodes by labels that are computed.
    ComputedLabels,
    /// `plan/join.rs`: two parts of a pattern joined by an equality.
    HashJoin,
    /// `plan/subqueries.rs`: a condition that is an existence test alone.
    SemiApply,
    /// `plan/patterns.rs`: conditions on a relationship, decided while it is followed.
    RelationshipConditions,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 19] = [
        Rule::ColumnPruning,
        Rule::UniquenessByEndpoints,
        Rule::Reachability,
        Rule::Eager,
        Rule::PushFiltersIntoExpand,
        Rule::SemiJoinReduction,
        Rule::AggregatePushDown,
        Rule::InterestingOrders,
        Rule::SharedEndpoint,
        Rule::Parallel,
        Rule::IdSeek,
        Rule::RelationshipSeek,
        Rule::IndexSeek,
        Rule::IndexRange,
        Rule::IndexScan,
        Rule::ComputedLabels,
        Rule::HashJoin,
        Rule::SemiApply,
        Rule::RelationshipConditions,
    ];

    /// The name of the file, or what the builder chooses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Rule::ColumnPruning => "column_pruning",
            Rule::UniquenessByEndpoints => "uniqueness_by_endpoints",
            Rule::Reachability => "reachability",
            Rule::Eager => "eager",
            Rule::PushFiltersIntoExpand => "push_filters_into_expand",
            Rule::SemiJoinReduction => "semi_join_reduction",
            Rule::AggregatePushDown => "aggregate_push_down",
            Rule::InterestingOrders => "interesting_orders",
            Rule::SharedEndpoint => "shared_endpoint",
            Rule::Parallel => "parallel",
            Rule::IdSeek => "id_seek",
            Rule::RelationshipSeek => "relationship_seek",
            Rule::IndexSeek => "index_seek",
            Rule::IndexRange => "index_range",
            Rule::IndexScan => "index_scan",
            Rule::ComputedLabels => "computed_labels",
            Rule::HashJoin => "hash_join",
            Rule::SemiApply => "semi_apply",
            Rule::RelationshipConditions => "relationship_conditions",
        }
    }

    /// Whether the rule may fire in such a place at all.
    #[must_use]
    pub const fn reaches(self, context: Context) -> bool {
        match context {
            Context::Anywhere | Context::OnOptional => true,
            // CY-47 and its like: what changes the order of reads stays away from writes.
            Context::BesideWrite => !matches!(
                self,
                Rule::PushFiltersIntoExpand | Rule::SemiJoinReduction | Rule::Parallel
            ),
            // They begin at the leaf of the statement itself, or look at rows of all inner runs.
            Context::InOptional | Context::InSubquery | Context::Correlated => {
                !matches!(self, Rule::Parallel | Rule::SharedEndpoint | Rule::Eager)
            }
        }
    }
}

/// Where a rule fired.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Context {
    /// Wherever it was.
    Anywhere,
    /// In the inner tree of an `OPTIONAL MATCH` or an optional subquery.
    InOptional,
    /// Above an optional part whose variables are read there.
    OnOptional,
    /// In a subquery, of a clause or of an expression.
    InSubquery,
    /// In an inner tree, where a variable of the row around is read.
    Correlated,
    /// In a statement that writes.
    BesideWrite,
}

impl Context {
    /// All of them.
    pub const ALL: [Context; 6] = [
        Context::Anywhere,
        Context::InOptional,
        Context::OnOptional,
        Context::InSubquery,
        Context::Correlated,
        Context::BesideWrite,
    ];

    /// As a heading of a table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Context::Anywhere => "fired",
            Context::InOptional => "below OPTIONAL",
            Context::OnOptional => "on an optional variable",
            Context::InSubquery => "below a subquery",
            Context::Correlated => "with a correlated variable",
            Context::BesideWrite => "beside a write",
        }
    }
}

/// How often each rule fired in each context.
pub type Fired = BTreeMap<(Rule, Context), u64>;

//! Seeded faults of the planner: rules without one of their side conditions, to see that the fuzzer
//! finds them.
//!
//! # How it works
//! [`activate`] switches one on for the plans that this thread makes from then on. Plans that a
//! database keeps are not made anew, so each mutant wants a database of its own. The rules ask for
//! a mutant where its side condition decides; [`asked`] says for which ones they did, so that a
//! statement is tried with these alone.
//!
//! Three side conditions have no mutant, because no answer can tell. `shared_endpoint` writes an
//! estimate, which the executor checks for each row. That `push_filters_into_expand` stays away
//! from writes (CY-47) is caution: a barrier lies wherever a write meets what moves. A condition
//! that is a subquery alone has a guard only inside of another subquery, which that guard keeps
//! from running. A build without debug assertions and without the feature `mutants` has none, and
//! its code is as if they were not there.

use super::trace::Rule;

/// A side condition that is left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Mutant {
    /// The first rows of a sort do not count those that are skipped.
    InterestingOrdersWithoutSkip,
    /// What is read inside of a repetition or a `MERGE` counts as unread.
    ColumnPruningInside,
    /// CY-45: the later pattern need not include the earlier one.
    UniquenessByEndpointsAnyPattern,
    /// CY-46: relationships may be read elsewhere.
    UniquenessByEndpointsRead,
    /// CY-54: rows below a limit need not keep their number.
    ReachabilityBelowLimit,
    /// CY-54: aggregates that count duplicates need not get them.
    ReachabilityDuplicates,
    /// CY-53: a search is taken as proven whatever the lower bound is.
    ReachabilityAlwaysProven,
    /// The rows that are made distinct may have other variables than the groups.
    AggregatePushDownOtherVariables,
    /// CY-60: the keys need not determine what the search reads.
    AggregatePushDownAnyKeys,
    /// CY-61: groups without any end stay.
    AggregatePushDownEmptyGroups,
    /// Writes meet no reads.
    EagerIgnoresReads,
    /// Writes meet no writes.
    EagerIgnoresWrites,
    /// Every variable counts as unique.
    EagerAllUnique,
    /// A relationship that must differ from others becomes a condition on an end.
    PushFiltersIntoExpandJoinShared,
    /// Conditions on the row move into expansions whose relationships are looked at one by one.
    PushFiltersIntoExpandOnNamed,
    /// CY-62: one side of an `OR` is enough.
    SemiJoinReductionHalfAnOr,
    /// CY-43: relationships that must differ are taken out.
    AggregatePushDownSharedRelationships,
    /// CY-48: nodes that an expansion looks at are taken out.
    AggregatePushDownLosesRow,
    /// Counted variables need not be there in every row.
    AggregatePushDownNullable,
    /// CY-78: what hangs on the end of a relationship does not matter for its extreme.
    AggregatePushDownExtremeOfBranch,
    /// CY-79: any aggregate is computed of the rows that stay.
    AggregatePushDownDuplicates,
    /// CY-66: an optional part is taken out below what hangs on its variables.
    AggregatePushDownAcrossOptional,
    /// Nodes without the property get lost.
    InterestingOrdersWithoutNulls,
    /// CY-63: equal rows need not follow each other.
    InterestingOrdersDistinctAnywhere,
    /// A list is let go though it is read above.
    ColumnPruningEndsLists,
    /// CY-49: averages, lists and distinct counts are taken of parts.
    ParallelAnyAggregate,
    /// CY-55: parts that share relationships are joined.
    HashJoinSharedRelationships,
    /// The equality that a join goes by is not judged again.
    HashJoinUnjudged,
    /// A node that lacks a property of the index counts as one that has it.
    IndexScanMissingKeys,
    /// A seek takes away conditions that its index does not ensure.
    SeekCoversOthers,
    /// Bounds of two properties are one range.
    IndexRangeAnyKey,
    /// Labels that are computed ensure the values that stand beside them.
    ComputedLabelsCover,
    /// Any comparison with an id finds the node of that id.
    IdSeekAnyComparison,
    /// Any comparison with an id finds the relationship of that id.
    RelationshipSeekAnyComparison,
    /// A condition that differs each time is decided as soon as its variables are there.
    ConditionsDifferEarly,
    /// CY-54: rows below a random value need not keep their number.
    ReachabilityRandom,
    /// Groups by a random key are those of the rows that stay.
    AggregatePushDownRandomKeys,
    /// `SHORTEST` selects after the conditions behind it.
    ConditionsBeforeShortest,
}

impl Mutant {
    /// All of them, with the rule that each belongs to.
    pub const ALL: [(Mutant, Rule); 38] = [
        (
            Mutant::InterestingOrdersWithoutSkip,
            Rule::InterestingOrders,
        ),
        (Mutant::ColumnPruningInside, Rule::ColumnPruning),
        (
            Mutant::UniquenessByEndpointsAnyPattern,
            Rule::UniquenessByEndpoints,
        ),
        (
            Mutant::UniquenessByEndpointsRead,
            Rule::UniquenessByEndpoints,
        ),
        (Mutant::ReachabilityBelowLimit, Rule::Reachability),
        (Mutant::ReachabilityDuplicates, Rule::Reachability),
        (Mutant::ReachabilityAlwaysProven, Rule::Reachability),
        (
            Mutant::AggregatePushDownOtherVariables,
            Rule::AggregatePushDown,
        ),
        (Mutant::AggregatePushDownAnyKeys, Rule::AggregatePushDown),
        (
            Mutant::AggregatePushDownEmptyGroups,
            Rule::AggregatePushDown,
        ),
        (Mutant::EagerIgnoresReads, Rule::Eager),
        (Mutant::EagerIgnoresWrites, Rule::Eager),
        (Mutant::EagerAllUnique, Rule::Eager),
        (
            Mutant::PushFiltersIntoExpandJoinShared,
            Rule::PushFiltersIntoExpand,
        ),
        (
            Mutant::PushFiltersIntoExpandOnNamed,
            Rule::PushFiltersIntoExpand,
        ),
        (Mutant::SemiJoinReductionHalfAnOr, Rule::SemiJoinReduction),
        (
            Mutant::AggregatePushDownSharedRelationships,
            Rule::AggregatePushDown,
        ),
        (Mutant::AggregatePushDownLosesRow, Rule::AggregatePushDown),
        (Mutant::AggregatePushDownNullable, Rule::AggregatePushDown),
        (
            Mutant::AggregatePushDownExtremeOfBranch,
            Rule::AggregatePushDown,
        ),
        (Mutant::AggregatePushDownDuplicates, Rule::AggregatePushDown),
        (
            Mutant::AggregatePushDownAcrossOptional,
            Rule::AggregatePushDown,
        ),
        (
            Mutant::InterestingOrdersWithoutNulls,
            Rule::InterestingOrders,
        ),
        (
            Mutant::InterestingOrdersDistinctAnywhere,
            Rule::InterestingOrders,
        ),
        (Mutant::ColumnPruningEndsLists, Rule::ColumnPruning),
        (Mutant::ParallelAnyAggregate, Rule::Parallel),
        (Mutant::HashJoinSharedRelationships, Rule::HashJoin),
        (Mutant::HashJoinUnjudged, Rule::HashJoin),
        (Mutant::IndexScanMissingKeys, Rule::IndexScan),
        (Mutant::SeekCoversOthers, Rule::IndexSeek),
        (Mutant::IndexRangeAnyKey, Rule::IndexRange),
        (Mutant::ComputedLabelsCover, Rule::ComputedLabels),
        (Mutant::IdSeekAnyComparison, Rule::IdSeek),
        (
            Mutant::RelationshipSeekAnyComparison,
            Rule::RelationshipSeek,
        ),
        (Mutant::ConditionsDifferEarly, Rule::RelationshipConditions),
        (Mutant::ReachabilityRandom, Rule::Reachability),
        (Mutant::AggregatePushDownRandomKeys, Rule::AggregatePushDown),
        (
            Mutant::ConditionsBeforeShortest,
            Rule::RelationshipConditions,
        ),
    ];
}

#[cfg(any(debug_assertions, feature = "mutants"))]
mod switch {
    use super::Mutant;
    use std::cell::Cell;

    thread_local! {
        static ACTIVE: Cell<Option<Mutant>> = const { Cell::new(None) };
        /// A bit for each mutant that was asked for.
        static ASKED: Cell<u64> = const { Cell::new(0) };
    }

    /// Switches a fault on for the plans of this thread, or all off.
    pub fn activate(mutant: Option<Mutant>) {
        ACTIVE.set(mutant);
    }

    /// The faults that this thread's plans asked for since the last call, as places in
    /// [`Mutant::ALL`].
    #[must_use]
    pub fn asked() -> Vec<usize> {
        let bits = ASKED.replace(0);
        let places = 0..Mutant::ALL.len();
        places
            .filter(|at| bits & 1 << (Mutant::ALL[*at].0 as u64) != 0)
            .collect()
    }

    /// Whether this one is switched on.
    pub(crate) fn active(mutant: Mutant) -> bool {
        ASKED.set(ASKED.get() | 1 << (mutant as u64));
        ACTIVE.get() == Some(mutant)
    }
}

#[cfg(not(any(debug_assertions, feature = "mutants")))]
mod switch {
    use super::Mutant;

    /// Never: there are none.
    pub(crate) const fn active(_mutant: Mutant) -> bool {
        false
    }
}

pub(crate) use switch::active;
#[cfg(any(debug_assertions, feature = "mutants"))]
pub use switch::{activate, asked};

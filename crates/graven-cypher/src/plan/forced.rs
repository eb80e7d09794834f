//! Plans that estimates did not choose, to see what the choice costs.
//!
//! # How it works
//! [`force`] rules over the plans that this thread makes from then on. With [`Forced::Walk`] the
//! order of every pattern is a walk at random through all orders that give the right rows, also
//! those that the planner never considers, and chance says where hash joins are made. With
//! [`Forced::Chosen`] the planner chooses as ever. Either way the rules that fold rows into other
//! operators stay away, so that the rows that operators hand out tell what a plan does. Plans that
//! a database keeps are not made anew, so each walk wants a text of its own.
//!
//! A build without debug assertions and without the feature `mutants` has none of this.

use super::trace::Rule;

/// What rules over the plans of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forced {
    /// Estimates.
    Chosen,
    /// Chance, with this seed.
    Walk(u64),
}

/// Where hash joins are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Joins {
    /// Wherever there can be one.
    Always,
    /// Where they are expected to pay.
    Paying,
    /// Nowhere: only chance says so.
    #[cfg_attr(not(any(debug_assertions, feature = "mutants")), allow(dead_code))]
    Never,
}

/// Throws of dice with a seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Below `n`, of which there is at least one.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ z >> 31) >> 33).expect("31 bits") % n
    }
}

#[cfg(any(debug_assertions, feature = "mutants"))]
mod switch {
    use super::{Dice, Forced, Joins, Rule};
    use std::cell::Cell;

    thread_local! {
        static FORCED: Cell<Option<Forced>> = const { Cell::new(None) };
        /// Choices that were left to chance.
        static THROWN: Cell<u64> = const { Cell::new(0) };
    }

    /// Rules over the plans of this thread from now on, or no longer.
    pub fn force(forced: Option<Forced>) {
        FORCED.set(forced);
        THROWN.set(0);
    }

    /// The dice for the next choice, where it is left to chance.
    pub(crate) fn dice() -> Option<Dice> {
        let Some(Forced::Walk(seed)) = FORCED.get() else {
            return None;
        };
        THROWN.set(THROWN.get() + 1);
        let start = seed.wrapping_mul(0xa076_1d64_78bd_642f);
        Some(Dice(start.wrapping_add(THROWN.get() << 48)))
    }

    /// Where hash joins are made, as `always` and chance say.
    pub(crate) fn joins(always: bool) -> Joins {
        match dice() {
            Some(mut dice) => [Joins::Always, Joins::Paying, Joins::Never][dice.below(3)],
            None if always => Joins::Always,
            None => Joins::Paying,
        }
    }

    /// Whether rows that the rule takes away are not made at all, rather than made elsewhere.
    fn leaves_rows_countable(rule: Rule) -> bool {
        !matches!(
            rule,
            Rule::PushFiltersIntoExpand
                | Rule::SemiJoinReduction
                | Rule::Reachability
                | Rule::AggregatePushDown
                | Rule::Parallel
        )
    }

    /// Whether the rule is applied.
    pub(crate) fn applies(rule: Rule) -> bool {
        FORCED.get().is_none() || leaves_rows_countable(rule)
    }
}

#[cfg(not(any(debug_assertions, feature = "mutants")))]
mod switch {
    use super::{Dice, Joins, Rule};

    /// Never: nothing is left to chance.
    pub(crate) const fn dice() -> Option<Dice> {
        None
    }

    pub(crate) const fn joins(always: bool) -> Joins {
        match always {
            true => Joins::Always,
            false => Joins::Paying,
        }
    }

    pub(crate) const fn applies(_rule: Rule) -> bool {
        true
    }
}

#[cfg(any(debug_assertions, feature = "mutants"))]
pub use switch::force;
pub(crate) use switch::{applies, dice, joins};

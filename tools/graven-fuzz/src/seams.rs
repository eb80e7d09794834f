//! Seams of the planner: the record of its rules, their faults, and plans that chance makes.
//!
//! # How it works
//! They exist in builds with debug assertions and in those with the feature `mutants`, which
//! `cargo xtask fuzz` asks for. Elsewhere nothing is recorded and no fault can be switched on.

#[cfg(any(debug_assertions, feature = "mutants"))]
mod there {
    pub(crate) use graven_cypher::plan::forced::force;
    pub(crate) use graven_cypher::plan::mutant::{activate, asked};
    pub(crate) use graven_cypher::plan::trace::{plans, start, take};

    pub(crate) const ARE_THERE: bool = true;
}

#[cfg(not(any(debug_assertions, feature = "mutants")))]
mod there {
    use graven_cypher::plan::forced::Forced;
    use graven_cypher::plan::mutant::Mutant;
    use graven_cypher::plan::trace::Fired;

    pub(crate) const ARE_THERE: bool = false;

    pub(crate) fn force(_: Option<Forced>) {}

    pub(crate) fn activate(_: Option<Mutant>) {}

    pub(crate) fn asked() -> Vec<usize> {
        Vec::new()
    }

    pub(crate) fn plans() -> String {
        String::new()
    }

    pub(crate) fn start() {}

    pub(crate) fn take() -> Fired {
        Fired::new()
    }
}

pub(crate) use graven_cypher::plan::forced::Forced;
pub(crate) use there::{ARE_THERE, activate, asked, force, plans, start, take};

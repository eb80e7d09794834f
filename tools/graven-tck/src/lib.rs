//! Runs the scenarios of openCypher's compatibility kit against the library, as a program would use
//! it.
//!
//! # How it works
//! [`feature`] reads feature files into [`Scenario`]s, one per row of an outline's examples.
//! [`run`] gives each scenario a fresh database in a temporary folder, plays its steps through the
//! public API and compares results ([`literal`]), errors (type, phase, detail) and side effects
//! ([`effects`]) with what the scenario says. [`suite`] does so for all scenarios on all cores and
//! counts. A scenario that cannot be played is a failure: nothing is skipped.
//!
//! # Source
//! The steps are those of the kit's README; the reading of tables (escapes) is Gherkin's.

pub mod effects;
pub mod feature;
pub mod literal;
pub mod run;
pub mod suite;

pub use feature::Scenario;
pub use run::Settings;
pub use suite::{Report, run_all};

//! Experiments: benchmarks, simulation, reports.

pub mod bench_cache;
pub mod bench_commit;
pub mod budget;
pub mod demo;
pub mod doctor;
pub mod error;
pub mod figure;
pub mod forecast;
pub mod founding;
pub mod livelock;
pub mod machine;
pub mod measurement;
pub mod mrc;
mod oracle;
mod parallel;
pub mod policies;
pub mod record;
pub mod release;
pub mod replay;
pub mod report;
pub mod run_file;
pub mod simulate;
pub mod statistics;
pub mod study;
mod table;
pub mod three_hop;
pub mod transactions;
pub mod updates;
pub mod workload;
pub mod write_test;

pub use error::LabError;

/// Names of all policies that a page cache can run, in the order of the registry.
#[must_use]
pub fn live_policies() -> Vec<String> {
    let live = graven_policy::registry::entries()
        .into_iter()
        .filter(|entry| entry.live);
    live.map(|entry| entry.name.to_owned()).collect()
}

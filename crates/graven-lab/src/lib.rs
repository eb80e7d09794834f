//! Experiments: benchmarks, simulation, reports.

pub mod bench_cache;
pub mod machine;

//! Experiments: benchmarks, simulation, reports.

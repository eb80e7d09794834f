//! Tests of the storage crate through its public interface.

mod anomalies;
mod batches;
mod churn;
mod closing;
mod conflicts;
mod constraints;
mod crash;
mod damage;
mod golden;
mod hubs;
mod large_transactions;
mod little_memory;
mod long_values;
mod maintenance;
mod model;
mod naive;
mod stale;
mod superblocks;
mod transactions;
mod truncated_file;
mod watched;

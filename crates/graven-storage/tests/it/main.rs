//! Tests of the storage crate through its public interface.

mod anomalies;
mod batches;
mod care;
mod churn;
mod closing;
mod conflicts;
mod constraints;
mod crash;
mod cut_off;
mod damage;
mod golden;
mod hubs;
mod little_memory;
mod long_values;
mod model;
mod naive;
mod stale;
mod superblocks;
mod transactions;
mod watched;

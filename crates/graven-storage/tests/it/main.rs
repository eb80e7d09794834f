//! Tests of the storage crate through its public interface.

mod damage;
mod golden;
mod hubs;
mod model;
mod superblocks;

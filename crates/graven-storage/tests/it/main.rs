//! Tests of the storage crate through its public interface.

mod damage;
mod hubs;
mod model;
mod superblocks;

//! Publishing, reading and collecting, against stores in memory and in folders.

mod failing_store;
mod faults;
mod publishing;
mod reading;
mod sample;

//! Tests of the executor through its public interface: hand-built plans and
//! statements on small graphs, against naive models.

mod expressions;
mod model;
mod naive;
mod operators;
mod paths;
mod plans;
mod reachability;
mod spilling;
mod statements;
mod tables;

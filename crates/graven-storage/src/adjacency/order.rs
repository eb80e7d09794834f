//! The order of a sweep.

/// Order in which a sweep gets and visits its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// Ascending ids.
    Up,
    /// Descending ids.
    Down,
}

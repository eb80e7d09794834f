//! Modes of rounding, by the names that `round()` and `apoc.number.exact` take.
//!
//! # Source
//! Documentation of `java.math.RoundingMode`, the names and meanings that Neo4j took over.

use std::cmp::Ordering;

/// What becomes of the digits that go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    Up,
    Down,
    Ceiling,
    Floor,
    HalfUp,
    HalfDown,
    HalfEven,
    /// Digits that go are zeros, or it is an error.
    Unnecessary,
}

const MODES: [(&str, Rounding); 8] = [
    ("UP", Rounding::Up),
    ("DOWN", Rounding::Down),
    ("CEILING", Rounding::Ceiling),
    ("FLOOR", Rounding::Floor),
    ("HALF_UP", Rounding::HalfUp),
    ("HALF_DOWN", Rounding::HalfDown),
    ("HALF_EVEN", Rounding::HalfEven),
    ("UNNECESSARY", Rounding::Unnecessary),
];

impl Rounding {
    /// The mode of this name.
    pub(super) fn named(name: &str) -> Option<Rounding> {
        let known = MODES.iter().find(|(known, _)| *known == name);
        known.map(|(_, mode)| *mode)
    }

    /// All names, for an error.
    pub(super) fn names() -> String {
        MODES.map(|(name, _)| name).join(", ")
    }

    /// Whether the magnitude of a number that is not zero grows: what goes compares so with half a
    /// unit of the last digit that is kept, and that digit is odd or not.
    pub(super) fn goes_up(self, is_negative: bool, beyond_tie: Ordering, is_odd: bool) -> bool {
        match self {
            Rounding::Up => true,
            Rounding::Down | Rounding::Unnecessary => false,
            Rounding::Ceiling => !is_negative,
            Rounding::Floor => is_negative,
            Rounding::HalfUp => beyond_tie.is_ge(),
            Rounding::HalfDown => beyond_tie.is_gt(),
            Rounding::HalfEven => beyond_tie.is_gt() || beyond_tie.is_eq() && is_odd,
        }
    }
}

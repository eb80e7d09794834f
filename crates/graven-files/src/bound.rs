//! Conditions of a statement that a file can use to pass over parts of itself.

use std::cmp::Ordering;

use graven_types::PropertyValue;

use crate::datum::Datum;

/// How a column is compared with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// `column < value` and the like. Rows that do not meet it may be left out; those that are handed
/// over may not meet it either.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Name of the column.
    pub column: String,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub value: Datum,
}

impl Bound {
    /// Whether a value between these two may meet it; unknown limits are null.
    pub(crate) fn may_hold(&self, low: &Datum, high: &Datum) -> bool {
        let below = |limit: &Datum| compare(limit, &self.value);
        use Ordering::{Equal, Greater, Less};
        // An order that is not known excludes nothing.
        match self.comparison {
            Comparison::Equal => {
                !matches!(below(low), Some(Greater)) && !matches!(below(high), Some(Less))
            }
            Comparison::Less => !matches!(below(low), Some(Greater | Equal)),
            Comparison::LessOrEqual => !matches!(below(low), Some(Greater)),
            Comparison::Greater => !matches!(below(high), Some(Less | Equal)),
            Comparison::GreaterOrEqual => !matches!(below(high), Some(Less)),
        }
    }
}

fn compare(a: &Datum, b: &Datum) -> Option<Ordering> {
    use PropertyValue as P;
    let (Datum::Value(a), Datum::Value(b)) = (a, b) else {
        return None;
    };
    match (a, b) {
        (P::Integer(a), P::Integer(b)) => Some(a.cmp(b)),
        (P::Float(a), P::Float(b)) => a.partial_cmp(b),
        // Rounding may make unequal numbers equal: that they are is not relied upon.
        (P::Integer(a), P::Float(b)) => (*a as f64).partial_cmp(b).filter(|o| o.is_ne()),
        (P::Float(a), P::Integer(b)) => a.partial_cmp(&(*b as f64)).filter(|o| o.is_ne()),
        (P::String(a), P::String(b)) => Some(a.cmp(b)),
        (P::Date(a), P::Date(b)) | (P::LocalTime(a), P::LocalTime(b)) => Some(a.cmp(b)),
        (P::LocalDateTime(a), P::LocalDateTime(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

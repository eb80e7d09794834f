//! What the values of a column to be written have in common, so that its type can be chosen before
//! the first is written.
//!
//! # How it works
//! Integers and floats, for example, have no type in common that keeps them: such a column is
//! written as text that holds literals ([`Kind::Literal`]), as are maps of different keys. Times
//! are microseconds where that is exact, else nanoseconds; a writer may ask for milliseconds where
//! these are exact ([`Shape::in_milliseconds`]). Instants of one zone keep it. What has no type in
//! a format is text that can be read back with the declared kind.

use std::sync::Arc;

use graven_types::PropertyValue;

use crate::datum::Datum;
use crate::kind::Kind;

/// What is known of the values of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    kind: Kind,
    /// Some time has parts of a microsecond.
    pub(crate) fine: bool,
    /// Some time has parts of a millisecond.
    split: bool,
    /// Times are written in milliseconds.
    pub(crate) coarse: bool,
    /// Some time or date lies too far away for a type of its own.
    far: bool,
    /// Some time lies beyond what nanoseconds reach.
    beyond: bool,
    /// The zone of all instants.
    pub(crate) zone: Option<Zoned>,
    /// Bytes of the longest text.
    longest: usize,
    /// Bytes of the largest value, which is a text where the column becomes one of literals.
    largest: usize,
}

/// Zones of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Zoned {
    /// Arrow's name of it.
    One(Arc<str>),
    Several,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            kind: Kind::Null,
            fine: false,
            split: false,
            coarse: false,
            far: false,
            beyond: false,
            zone: None,
            longest: 0,
            largest: 0,
        }
    }
}

/// Seconds from 1970 that nanoseconds in 64 bits reach.
const FINE_MAX: i64 = 9_223_372_035;
/// The same for microseconds.
const COARSE_MAX: i64 = 9_223_372_036_853;

impl Shape {
    /// Of a column whose kind is known without its values.
    #[must_use]
    pub fn of(kind: Kind) -> Shape {
        Shape {
            kind,
            ..Shape::default()
        }
    }

    /// The same column with its times in milliseconds, where they and its dates have types of their
    /// own and no time has parts of a millisecond.
    #[must_use]
    pub fn in_milliseconds(self) -> Option<Shape> {
        let exact = !self.split && !self.is_far();
        exact.then_some(Shape {
            coarse: true,
            ..self
        })
    }

    /// Takes note of a value.
    pub fn see(&mut self, datum: &Datum) {
        self.largest = self.largest.max(datum.bytes());
        if self.kind == Kind::Literal {
            return;
        }
        let kind = std::mem::replace(&mut self.kind, Kind::Null);
        self.kind = kind.with(Kind::of(datum));
        self.look(datum);
    }

    /// About how many bytes the longest text has that is written.
    pub(crate) fn longest(&self) -> usize {
        match self.kind() {
            Kind::Literal => self.largest.max(self.longest),
            _ => self.longest,
        }
    }

    fn look(&mut self, datum: &Datum) {
        match datum {
            Datum::Value(value) => self.look_at(value),
            Datum::List(items) => items.iter().for_each(|item| self.look(item)),
            Datum::Map(entries) => entries.iter().for_each(|(_, value)| self.look(value)),
        }
    }

    fn look_at(&mut self, value: &PropertyValue) {
        match value {
            PropertyValue::List(items) => items.iter().for_each(|item| self.look_at(item)),
            PropertyValue::String(text) => self.longest = self.longest.max(text.len()),
            PropertyValue::Bytes(bytes) => self.longest = self.longest.max(bytes.len()),
            PropertyValue::Date(days) => self.far |= i32::try_from(*days).is_err(),
            PropertyValue::LocalDateTime(t) => self.time(t.seconds, t.nanoseconds),
            PropertyValue::DateTime(t) => {
                self.time(t.seconds, t.nanoseconds);
                // Text tells an offset of zero from the zone UTC, Arrow does not.
                let name = match (&t.zone, t.offset_seconds) {
                    (Some(zone), _) if &**zone == "UTC" => None,
                    (Some(zone), _) => Some(Arc::clone(zone)),
                    (None, 0) => Some(Arc::from("UTC")),
                    (None, offset) if offset % 60 == 0 => {
                        Some(Arc::from(graven_temporal::zone::offset_text(offset)))
                    }
                    (None, _) => None,
                };
                self.zone = Some(match (self.zone.take(), name) {
                    (None, Some(name)) => Zoned::One(name),
                    (Some(Zoned::One(known)), Some(name)) if known == name => Zoned::One(known),
                    _ => Zoned::Several,
                });
            }
            _ => {}
        }
    }

    fn time(&mut self, seconds: i64, nanoseconds: u32) {
        self.fine |= !nanoseconds.is_multiple_of(1000);
        self.split |= !nanoseconds.is_multiple_of(1_000_000);
        self.beyond |= !(-FINE_MAX..FINE_MAX).contains(&seconds);
        self.far |= !(-COARSE_MAX..COARSE_MAX).contains(&seconds);
    }

    /// Whether some date or time has no type of its own in files.
    pub(crate) fn is_far(&self) -> bool {
        self.far || (self.fine && self.beyond)
    }

    /// The kind with which the column is declared to be read as it was.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.kind {
            Kind::Null => Kind::String,
            kind if is_one(kind) => kind.clone(),
            _ => Kind::Literal,
        }
    }
}

/// Whether all parts of the kind are known.
fn is_one(kind: &Kind) -> bool {
    match kind {
        Kind::Any | Kind::Literal => false,
        Kind::List(element) => **element == Kind::Null || is_one(element),
        Kind::Map(fields) => {
            !fields.is_empty()
                && fields
                    .iter()
                    .all(|(_, kind)| *kind == Kind::Null || is_one(kind))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    //! Goal: milliseconds are promised only where every time and date comes back from them; what
    //! becomes a text later is counted as one.

    use graven_types::LocalDateTime;

    use super::*;

    fn milliseconds(values: &[PropertyValue]) -> bool {
        let mut shape = Shape::default();
        let values = values.iter().cloned().map(Datum::Value);
        values.for_each(|value| shape.see(&value));
        shape.in_milliseconds().is_some()
    }

    #[test]
    fn milliseconds_are_exact_or_refused() {
        let time = |seconds, nanoseconds| {
            PropertyValue::LocalDateTime(LocalDateTime {
                seconds,
                nanoseconds,
            })
        };
        assert!(milliseconds(&[
            time(-1, 0),
            time(1_700_000_000, 125_000_000)
        ]));
        assert!(!milliseconds(&[time(0, 0), time(0, 125_000_001)]));
        assert!(!milliseconds(&[time(COARSE_MAX, 0)]));
        assert!(milliseconds(&[PropertyValue::Date(19_000)]));
        assert!(!milliseconds(&[PropertyValue::Date(i64::MAX)]));
    }

    #[test]
    fn values_that_become_texts_later_are_long() {
        let mut shape = Shape::default();
        let one = Datum::Value(PropertyValue::Integer(1));
        shape.see(&Datum::list(vec![one.clone(); 1000]));
        assert_eq!(
            (shape.kind(), shape.longest()),
            (Kind::List(Box::new(Kind::Integer)), 0)
        );
        shape.see(&one);
        assert_eq!(shape.kind(), Kind::Literal);
        assert!(shape.longest() >= 1000, "{}", shape.longest());
    }
}

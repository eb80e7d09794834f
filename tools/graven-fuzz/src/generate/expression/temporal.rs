//! Random dates, times and durations, and parts of them.

use super::{binary, boxed};
use crate::generate::{Generator, Kind};
use crate::query::{Expr, Op};
use crate::temporal::T;
use crate::value::V;

impl Generator<'_> {
    pub(super) fn date(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(40) {
            return self.property_or("d");
        }
        match self.random.below(4) {
            0 | 1 => {
                let (months, days) = (self.random.between(-2, 2), self.random.between(-3, 3));
                Expr::Later(boxed(self.expression(Kind::Date, depth)), months, days)
            }
            2 => {
                let unit = *self.random.pick(&["month", "quarter", "year"]);
                let unit = Expr::Literal(V::Str(unit.to_owned()));
                let date = self.expression(Kind::Date, depth);
                let some = Expr::Literal(V::Date(18_320));
                let date = Expr::Call("coalesce", vec![date, some]);
                Expr::Call("date.truncate", vec![unit, date])
            }
            _ => {
                let date = self.expression(Kind::Date, depth);
                Expr::Call("coalesce", vec![self.property_or("d"), date])
            }
        }
    }

    /// An expression of this kind, later by some duration.
    pub(super) fn shifted(&mut self, kind: Kind, depth: usize) -> Expr {
        let (months, days) = (self.random.between(-2, 2), self.random.between(-3, 3));
        let nanos = *self
            .random
            .pick(&[0, 1, -1, 3_600_000_000_000, -90_500_000_000]);
        Expr::Shifted(boxed(self.expression(kind, depth)), months, days, nanos)
    }

    pub(super) fn local(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(40) {
            return self.property_or("w");
        }
        match self.random.below(5) {
            0 | 1 => self.shifted(Kind::Local, depth),
            2 => {
                let unit = *self.random.pick(&["month", "day", "hour"]);
                let unit = Expr::Literal(V::Str(unit.to_owned()));
                let local = self.expression(Kind::Local, depth);
                let some = Expr::Literal(V::Time(T::Local(18_320 * 86_400_000_000_000)));
                let local = Expr::Call("coalesce", vec![local, some]);
                Expr::Call("localdatetime.truncate", vec![unit, local])
            }
            3 => {
                let op = *self.random.pick(&[Op::Plus, Op::Minus]);
                let local = self.expression(Kind::Local, depth);
                binary(op, local, self.property_or("p"))
            }
            _ => {
                let local = self.expression(Kind::Local, depth);
                Expr::Call("coalesce", vec![self.property_or("w"), local])
            }
        }
    }

    pub(super) fn zoned(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(40) {
            return self.property_or("z");
        }
        match self.random.below(3) {
            0 | 1 => self.shifted(Kind::Zoned, depth),
            _ => {
                let zoned = self.expression(Kind::Zoned, depth);
                Expr::Call("coalesce", vec![self.property_or("z"), zoned])
            }
        }
    }

    pub(super) fn span(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(40) {
            return self.property_or("p");
        }
        match self.random.below(4) {
            0 => self.shifted(Kind::Span, depth),
            1 => {
                let kind = *self.random.pick(&[Kind::Local, Kind::Zoned]);
                let ends = [0, 1].map(|_| self.expression(kind, depth));
                Expr::Call("duration.inSeconds", ends.to_vec())
            }
            2 => {
                let by = Expr::Literal(V::Int(self.random.between(0, 3)));
                binary(Op::Times, self.property_or("p"), by)
            }
            _ => {
                let op = *self.random.pick(&[Op::Plus, Op::Minus]);
                binary(op, self.property_or("p"), self.property_or("p"))
            }
        }
    }

    pub(super) fn temporal(&mut self, depth: usize) -> Expr {
        let kinds = [Kind::Date, Kind::Local, Kind::Zoned, Kind::Span];
        match depth > 0 && self.random.chance(40) {
            true => {
                let kind = *self.random.pick(&kinds);
                self.expression(kind, depth)
            }
            false => self.property_or("t"),
        }
    }

    /// A part of a moment or a duration.
    pub(super) fn part(&mut self, depth: usize) -> Expr {
        const OF_MOMENTS: &[&str] = &[
            "year",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "millisecond",
            "nanosecond",
        ];
        const OF_SPANS: &[&str] = &[
            "years",
            "months",
            "days",
            "hours",
            "seconds",
            "milliseconds",
            "nanosecondsOfSecond",
        ];
        let (kind, part) = match self.random.below(4) {
            0 => (Kind::Local, *self.random.pick(OF_MOMENTS)),
            1 => (Kind::Zoned, *self.random.pick(OF_MOMENTS)),
            2 => (Kind::Zoned, "epochSeconds"),
            _ => (Kind::Span, *self.random.pick(OF_SPANS)),
        };
        let of = self.expression(kind, depth);
        Expr::Property(boxed(Expr::Call("coalesce", vec![of])), part)
    }
}

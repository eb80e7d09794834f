//! Expressions in forms that hide their type, beside what must not be computed, and in maps.

use super::{Generator, Kind};
use crate::graph::{KEYS, property};
use crate::query::{Expr, Op, Part};
use crate::value::V;

fn boxed(expr: Expr) -> Box<Expr> {
    Box::new(expr)
}

fn truth(is: bool) -> Expr {
    Expr::Literal(V::Bool(is))
}

impl Generator<'_> {
    /// An expression of the kind, in a form that a reader of the text sees less well.
    pub(super) fn disguised(&mut self, kind: Kind, depth: usize) -> Expr {
        let poison = Expr::Poison(self.random.below(3) as u8);
        let form = self.random.below(4) as u8;
        match self.random.below(8) {
            0..=2 => Expr::Hidden(boxed(self.bare_expression(kind, depth)), form),
            3 => {
                let expr = self.bare_expression(kind, depth);
                Expr::Case(boxed(truth(true)), boxed(expr), boxed(poison))
            }
            4 => {
                let expr = self.bare_expression(kind, depth);
                Expr::Case(boxed(truth(false)), boxed(poison), boxed(expr))
            }
            5 => {
                let other = self.bare_expression(kind, depth);
                let [of, value] = [0, 1].map(|_| boxed(self.bare_expression(Kind::Int, depth)));
                let then = self.bare_expression(kind, depth);
                Expr::Choice(of, value, boxed(then), boxed(other))
            }
            6 if kind == Kind::Bool => {
                let (op, first) = *self.random.pick(&[(Op::And, false), (Op::Or, true)]);
                let truth = Expr::Binary(op, boxed(truth(first)), boxed(equal_one(poison)));
                Expr::Hidden(boxed(truth), 0)
            }
            _ => match self.sure(kind) {
                Some(sure) if self.random.chance(60) => {
                    let sure = Expr::Hidden(boxed(sure), form);
                    Expr::Call("coalesce", vec![sure, poison])
                }
                _ => {
                    let items = [0, 1].map(|_| self.bare_expression(kind, depth));
                    Expr::Call("coalesce", items.to_vec())
                }
            },
        }
    }

    /// A literal of the kind.
    fn sure(&mut self, kind: Kind) -> Option<Expr> {
        let key = match kind {
            Kind::Bool => return Some(truth(self.random.chance(50))),
            Kind::Int => "a",
            Kind::Float => "f",
            Kind::Str => "s",
            Kind::Ints => "l",
            Kind::Date => "d",
            Kind::Local => "w",
            Kind::Zoned => "z",
            Kind::Span => "p",
            Kind::Temporal => "t",
            Kind::Mixed => "m",
            _ => return None,
        };
        property(self.random, key).map(Expr::Literal)
    }

    /// A map, or what is taken of a node, a relationship.
    pub(super) fn map(&mut self, depth: usize) -> Expr {
        let entity = self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel));
        let Some(entity) = entity.filter(|_| self.random.chance(70)) else {
            let keys = ["a", "s", "x"];
            let kinds = [Kind::Int, Kind::Str, Kind::Mixed];
            let count = self.random.below(4);
            let entries = keys.into_iter().zip(kinds).take(count);
            return Expr::Map(
                entries
                    .map(|(key, kind)| (key, self.expression(kind, depth)))
                    .collect(),
            );
        };
        let mut parts = Vec::new();
        let mut keys = KEYS.to_vec();
        for _ in 0..=self.random.below(3) {
            let key = keys.remove(self.random.below(keys.len()));
            parts.push(match self.random.chance(50) {
                true => Part::Property(key),
                false => Part::Entry(key, self.expression(Kind::Int, depth)),
            });
        }
        if self.random.chance(50) {
            parts.insert(0, Part::Everything);
        }
        Expr::MapOf(entity.name, parts)
    }

    /// An integer out of a map that is made for it.
    pub(super) fn of_map(&mut self, depth: usize) -> Expr {
        let value = self.expression(Kind::Int, depth);
        let entity = self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel));
        let map = match entity {
            Some(v) => {
                let parts = vec![Part::Everything, Part::Entry("a", value)];
                Expr::MapOf(v.name, parts)
            }
            None => Expr::Map(vec![("a", value)]),
        };
        Expr::Property(boxed(map), "a")
    }
}

/// A condition out of a number.
fn equal_one(expr: Expr) -> Expr {
    Expr::Binary(Op::Equal, boxed(expr), boxed(Expr::Literal(V::Int(1))))
}

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
        match self.random.below(9) {
            8 if !self.settled => self.beside_random(kind, depth),
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

    /// An expression of the kind with a random value that decides nothing of it.
    pub(super) fn beside_random(&mut self, kind: Kind, depth: usize) -> Expr {
        let number = || boxed(Expr::Random(0));
        let float = |value: f64| boxed(Expr::Literal(V::Float(value)));
        let any = Expr::Random(self.random.below(3) as u8);
        let expr = self.bare_expression(kind, depth);
        match self.random.below(7) {
            0 => {
                let always = Expr::Binary(Op::Less, number(), float(2.0));
                let poison = Expr::Poison(self.random.below(3) as u8);
                Expr::Case(boxed(always), boxed(expr), boxed(poison))
            }
            1 => {
                let never = Expr::Binary(Op::Less, number(), float(0.0));
                let poison = Expr::Poison(self.random.below(3) as u8);
                Expr::Case(boxed(never), boxed(poison), boxed(expr))
            }
            2 => {
                let items = Expr::List(vec![any, expr]);
                Expr::Index(boxed(items), boxed(Expr::Literal(V::Int(1))))
            }
            3 => {
                let map = Expr::Map(vec![("a", expr), ("x", any)]);
                Expr::Property(boxed(map), "a")
            }
            4 if kind == Kind::Bool => {
                let always = Expr::Binary(Op::GreaterOrEqual, number(), float(0.0));
                Expr::Binary(Op::And, boxed(always), boxed(expr))
            }
            5 if kind == Kind::Bool => {
                let differ = Expr::Binary(Op::Equal, boxed(any.clone()), boxed(any));
                Expr::Binary(Op::Or, boxed(differ), boxed(expr))
            }
            4..=6 if kind == Kind::Int => {
                Expr::Call("size", vec![Expr::Random(1 + self.random.below(2) as u8)])
            }
            _ => {
                let never = Expr::IsNull(boxed(any));
                Expr::Case(boxed(never), boxed(Expr::Literal(V::Null)), boxed(expr))
            }
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

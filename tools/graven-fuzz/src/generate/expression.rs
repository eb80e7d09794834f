//! Random expressions of a kind.

mod temporal;

use super::{Generator, Kind, Variable};
use crate::graph::{LABELS, property};
use crate::query::{Expr, Length, Op, Path, Quantifier, Sub};
use crate::value::V;

fn boxed<T>(expr: T) -> Box<T> {
    Box::new(expr)
}

fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, boxed(a), boxed(b))
}

/// The path without `{low,high}`, which only `MATCH` knows.
pub(super) fn unquantified(mut path: Path) -> Path {
    for (rel, _) in &mut path.steps {
        if let Length::Braces(low, high) = rel.length {
            rel.length = Length::Star(low, high);
        }
    }
    path
}

impl Generator<'_> {
    pub(super) fn expression(&mut self, kind: Kind, depth: usize) -> Expr {
        match self.disguises && depth > 0 && self.random.chance(12) {
            true => self.disguised(kind, depth - 1),
            false => self.bare_expression(kind, depth),
        }
    }

    pub(super) fn bare_expression(&mut self, kind: Kind, depth: usize) -> Expr {
        if let Some(v) = self.variable(|v| v.kind == kind)
            && self.random.chance(if depth == 0 { 60 } else { 25 })
        {
            return Expr::Var(v.name);
        }
        let depth = depth.saturating_sub(1);
        match kind {
            Kind::Bool => self.truth(depth),
            Kind::Int => self.int(depth),
            Kind::Float => self.float(depth),
            Kind::Str => self.string(depth),
            Kind::Date => self.date(depth),
            Kind::Local => self.local(depth),
            Kind::Zoned => self.zoned(depth),
            Kind::Span => self.span(depth),
            Kind::Temporal => self.temporal(depth),
            Kind::Mixed => match self.random.below(6) {
                3 => self.expression(Kind::Temporal, depth),
                0 => self.expression(Kind::Int, depth),
                1 => self.expression(Kind::Str, depth),
                2 => self.expression(Kind::Bool, depth),
                _ => self.property_or("m"),
            },
            Kind::Map => self.map(depth),
            _ => self.ints(depth),
        }
    }

    /// The condition of a `WHERE`, where patterns may stand too.
    pub(super) fn condition(&mut self, depth: usize) -> Expr {
        let node = self.scope.iter().any(|v| v.kind == Kind::Node);
        if !node || self.plain || !self.random.chance(15) {
            return self.expression(Kind::Bool, depth);
        }
        match self.random.below(4) {
            0 => Expr::Pattern(boxed(unquantified(self.inner_path(false)))),
            _ => self.pattern_value(),
        }
    }

    /// A pattern as an operand: so it is a value wherever one may stand.
    pub(super) fn pattern_value(&mut self) -> Expr {
        let pattern = Expr::Pattern(boxed(unquantified(self.inner_path(false))));
        match self.random.below(5) {
            0 => Expr::Not(boxed(pattern)),
            1 => binary(Op::Or, self.expression(Kind::Bool, 1), pattern),
            2 => binary(Op::And, pattern, self.expression(Kind::Bool, 1)),
            3 => binary(Op::Xor, pattern, self.expression(Kind::Bool, 1)),
            _ => {
                let values = [0, 1].map(|_| boxed(self.expression(Kind::Bool, 1)));
                let [then, other] = values;
                Expr::Case(boxed(pattern), then, other)
            }
        }
    }

    /// A property of an entity in scope, or a literal as such properties have.
    fn property_or(&mut self, key: &'static str) -> Expr {
        let entity = |v: &Variable| matches!(v.kind, Kind::Node | Kind::Rel);
        match self.variable(entity) {
            Some(v) if self.random.chance(80) => Expr::Property(boxed(Expr::Var(v.name)), key),
            _ => Expr::Literal(property(self.random, key).unwrap_or(V::Null)),
        }
    }

    fn int_literal(&mut self) -> Expr {
        Expr::Literal(V::Int(self.random.between(-2, 6)))
    }

    fn int(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return match self.random.below(3) {
                0 => self.int_literal(),
                1 => self.property_or("uid"),
                _ => self.property_or("a"),
            };
        }
        match self.random.below(20) {
            11 | 14 | 17 if self.plain => self.int(depth - 1),
            19 => self.of_map(depth),
            18 => self.part(depth),
            15 => {
                let part = *self.random.pick(&["year", "month", "day"]);
                let date = self.expression(Kind::Date, depth);
                Expr::Property(boxed(Expr::Call("coalesce", vec![date])), part)
            }
            16 => Expr::DaysBetween(
                boxed(self.expression(Kind::Date, depth)),
                boxed(self.expression(Kind::Date, depth)),
            ),
            17 => self.sub(Sub::Count),
            0 | 1 => {
                let op = *self.random.pick(&[Op::Plus, Op::Minus, Op::Times]);
                binary(
                    op,
                    self.expression(Kind::Int, depth),
                    self.expression(Kind::Int, depth),
                )
            }
            2 => {
                let op = *self.random.pick(&[Op::Divide, Op::Modulo]);
                let by = Expr::Literal(V::Int(self.random.between(1, 4)));
                binary(op, self.expression(Kind::Int, depth), by)
            }
            3 => Expr::Call("size", vec![self.expression(Kind::Ints, depth)]),
            4 => Expr::Call("size", vec![self.expression(Kind::Str, depth)]),
            5 => {
                let path = |v: &Variable| matches!(v.kind, Kind::Path | Kind::ShortPath);
                match self.variable(path) {
                    Some(v) => Expr::Call("length", vec![Expr::Var(v.name)]),
                    None => self.property_or("a"),
                }
            }
            6 => {
                let items = vec![self.property_or("a"), self.expression(Kind::Int, depth)];
                Expr::Call("coalesce", items)
            }
            7 => Expr::Case(
                boxed(self.expression(Kind::Bool, depth)),
                boxed(self.expression(Kind::Int, depth)),
                boxed(self.expression(Kind::Int, depth)),
            ),
            8 => {
                let name = *self.random.pick(&["head", "last"]);
                Expr::Call(name, vec![self.expression(Kind::Ints, depth)])
            }
            9 => {
                let at = Expr::Literal(V::Int(self.random.between(-2, 3)));
                let list = self.random_list(depth);
                Expr::Index(boxed(list), boxed(at))
            }
            10 => {
                let (sum, var) = (self.name(), self.name());
                let body = binary(Op::Plus, Expr::Var(sum.clone()), Expr::Var(var.clone()));
                let list = self.expression(Kind::Ints, depth);
                Expr::Reduce(
                    sum,
                    boxed(self.int_literal()),
                    var,
                    boxed(list),
                    boxed(body),
                )
            }
            11 => self.subquery(false),
            12 => {
                let name = *self.random.pick(&["abs", "sign"]);
                Expr::Call(name, vec![self.expression(Kind::Int, depth)])
            }
            13 => Expr::Call("toInteger", vec![self.property_or("f")]),
            _ => self.bag_size(),
        }
    }

    /// Size of a list whose order is open.
    fn bag_size(&mut self) -> Expr {
        if self.random.chance(20) {
            return Expr::Call("size", vec![self.sub(Sub::Collect)]);
        }
        if let Some(v) = self.variable(|v| matches!(v.kind, Kind::Bag | Kind::Rels | Kind::Nodes)) {
            return Expr::Call("size", vec![Expr::Var(v.name)]);
        }
        let collects = self.random.chance(50);
        Expr::Call("size", vec![self.list_of_pattern(collects)])
    }

    /// What is found by a pattern, as a list in no order.
    pub(super) fn list_of_pattern(&mut self, collects: bool) -> Expr {
        let scope = self.scope.len();
        let left = std::mem::replace(&mut self.nodes_left, 2);
        let reuses = std::mem::replace(&mut self.reuses, false);
        let path = self.inner_path(true);
        let item = self.property_or("uid");
        let filter = self.random.chance(50).then(|| boxed(self.condition(3)));
        self.scope.truncate(scope);
        self.nodes_left = left;
        self.reuses = reuses;
        match collects {
            true => Expr::CollectOf(vec![path], filter, boxed(item)),
            false => Expr::PatternComprehension(boxed(unquantified(path)), filter, boxed(item)),
        }
    }

    fn subquery(&mut self, exists: bool) -> Expr {
        let scope = self.scope.len();
        let left = std::mem::replace(&mut self.nodes_left, 2);
        let reuses = std::mem::replace(&mut self.reuses, false);
        let path = self.inner_path(true);
        let filter = self.random.chance(50).then(|| boxed(self.condition(3)));
        self.scope.truncate(scope);
        self.reuses = reuses;
        self.nodes_left = left;
        match exists {
            true => Expr::Exists(vec![path], filter),
            false => Expr::CountOf(vec![path], filter),
        }
    }

    fn float(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(50) {
            return self.property_or("f");
        }
        match self.random.below(3) {
            0 => binary(
                Op::Plus,
                self.property_or("f"),
                self.expression(Kind::Int, depth),
            ),
            1 => binary(Op::Minus, self.property_or("f"), self.property_or("f")),
            _ => Expr::Call("floor", vec![self.property_or("f")]),
        }
    }

    fn string(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(40) {
            return self.property_or("s");
        }
        let text = self.expression(Kind::Str, depth);
        match self.random.below(8) {
            0 => binary(Op::Plus, text, self.property_or("s")),
            1 => {
                let name = *self.random.pick(&["toUpper", "toLower", "reverse", "trim"]);
                Expr::Call(name, vec![text])
            }
            2 => {
                let (from, count) = (self.random.between(0, 2), self.random.between(0, 2));
                let places = [from, count].map(|at| Expr::Literal(V::Int(at)));
                let [from, count] = places;
                Expr::Call("substring", vec![text, from, count])
            }
            3 => {
                let count = Expr::Literal(V::Int(self.random.between(0, 2)));
                Expr::Call("left", vec![text, count])
            }
            4 => {
                let words = ["a", "xy"].map(|w| Expr::Literal(V::Str(w.to_owned())));
                let [from, to] = words;
                Expr::Call("replace", vec![text, from, to])
            }
            5 => {
                let kinds = [Kind::Int, Kind::Date, Kind::Temporal];
                let kind = *self.random.pick(&kinds);
                Expr::Call("toString", vec![self.expression(kind, depth)])
            }
            6 => match self.variable(|v| v.kind == Kind::Rel) {
                Some(v) => Expr::Call("type", vec![Expr::Var(v.name)]),
                None => text,
            },
            _ => Expr::Call("coalesce", vec![self.property_or("s"), text]),
        }
    }

    /// A list that is never null itself.
    fn random_list(&mut self, depth: usize) -> Expr {
        match self.random.below(3) {
            0 => {
                let (from, to) = (self.random.between(-1, 2), self.random.between(0, 4));
                let ends = [from, to].map(|at| Expr::Literal(V::Int(at)));
                Expr::Call("range", ends.to_vec())
            }
            _ => {
                let count = self.random.below(4);
                Expr::List(
                    (0..count)
                        .map(|_| self.expression(Kind::Int, depth))
                        .collect(),
                )
            }
        }
    }

    fn ints(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            return match self.random.chance(50) {
                true => self.property_or("l"),
                false => self.random_list(0),
            };
        }
        match self.random.below(8) {
            0 => {
                let name = *self.random.pick(&["tail", "reverse"]);
                Expr::Call(name, vec![self.expression(Kind::Ints, depth)])
            }
            1 => {
                let (from, to) = (self.random.between(-2, 2), self.random.between(-1, 4));
                Expr::Slice(boxed(self.random_list(depth)), from, to)
            }
            2 => binary(Op::Plus, self.random_list(depth), self.random_list(depth)),
            3 => match self.variable(|v| v.kind == Kind::Path) {
                Some(path) => {
                    let var = self.name();
                    let part = *self.random.pick(&["nodes", "relationships"]);
                    let uid = Expr::Property(boxed(Expr::Var(var.clone())), "uid");
                    let parts = Expr::Call(part, vec![Expr::Var(path.name)]);
                    Expr::Comprehension(var, boxed(parts), None, Some(boxed(uid)))
                }
                None => match self.variable(|v| matches!(v.kind, Kind::Nodes | Kind::Rels)) {
                    Some(list) => {
                        let var = self.name();
                        let uid = Expr::Property(boxed(Expr::Var(var.clone())), "uid");
                        let list = boxed(Expr::Var(list.name));
                        Expr::Comprehension(var, list, None, Some(boxed(uid)))
                    }
                    None => self.property_or("l"),
                },
            },
            4 | 5 => {
                let var = self.name();
                let list = self.expression(Kind::Ints, depth);
                self.scope.push(Variable {
                    name: var.clone(),
                    kind: Kind::Int,
                    nullable: true,
                });
                let filter = self.random.chance(60);
                let depth = self.inner_depth(depth);
                let filter = filter.then(|| boxed(self.expression(Kind::Bool, depth)));
                let item = self.random.chance(60);
                let item = item.then(|| boxed(self.expression(Kind::Int, depth)));
                self.scope.pop();
                Expr::Comprehension(var, boxed(list), filter, item)
            }
            6 => self.property_or("l"),
            _ => self.random_list(depth),
        }
    }

    /// How deep what is done with each item of a list goes: now and then deeper than the list.
    fn inner_depth(&mut self, depth: usize) -> usize {
        match self.random.chance(10) {
            true => depth.max(3),
            false => depth,
        }
    }

    /// A comparison without subqueries.
    pub(super) fn comparison(&mut self) -> Expr {
        self.truth(0)
    }

    /// A comparison of two values of one kind.
    fn deep_comparison(&mut self, depth: usize) -> Expr {
        let kinds = [Kind::Int, Kind::Ints, Kind::Str, Kind::Mixed, Kind::Map];
        let kind = *self.random.pick(&kinds);
        let ops = match kind {
            Kind::Map => &[Op::Equal, Op::Different][..],
            _ => &[Op::Equal, Op::Different, Op::Less, Op::GreaterOrEqual],
        };
        let op = *self.random.pick(ops);
        binary(op, self.expression(kind, depth), self.expression(kind, 1))
    }

    /// A value that a property may hold, of a kind that nothing says.
    pub(super) fn value_of_any_kind(&mut self, depth: usize) -> Expr {
        let kinds = [
            Kind::Bool,
            Kind::Bool,
            Kind::Int,
            Kind::Str,
            Kind::Mixed,
            Kind::Date,
        ];
        let kind = *self.random.pick(&kinds);
        self.expression(kind, depth)
    }

    fn truth(&mut self, depth: usize) -> Expr {
        if depth == 0 {
            let ops = [
                Op::Equal,
                Op::Different,
                Op::Less,
                Op::LessOrEqual,
                Op::Greater,
                Op::GreaterOrEqual,
            ];
            let op = *self.random.pick(&ops);
            return match self.random.below(9) {
                7 => {
                    let (kind, key) = *self.random.pick(&[
                        (Kind::Local, "w"),
                        (Kind::Zoned, "z"),
                        (Kind::Span, "p"),
                    ]);
                    binary(op, self.property_or(key), self.expression(kind, 0))
                }
                8 => binary(
                    op,
                    self.property_or("t"),
                    self.expression(Kind::Temporal, 0),
                ),
                5 => binary(op, self.property_or("d"), self.expression(Kind::Date, 0)),
                6 => binary(op, self.property_or("l"), self.random_list(0)),
                0 => binary(op, self.property_or("s"), self.property_or("s")),
                1 => binary(op, self.property_or("m"), self.property_or("m")),
                2 => binary(op, self.property_or("f"), self.property_or("a")),
                _ => binary(
                    op,
                    self.expression(Kind::Int, 0),
                    self.expression(Kind::Int, 0),
                ),
            };
        }
        match self.random.below(22) {
            18..=20 => self.deep_comparison(depth),
            21 if self.plain || self.scope.iter().all(|v| v.kind != Kind::Node) => self.truth(0),
            21 => self.pattern_value(),
            0..=2 => {
                let op = *self.random.pick(&[Op::And, Op::Or, Op::Xor, Op::And]);
                binary(
                    op,
                    self.expression(Kind::Bool, depth),
                    self.expression(Kind::Bool, depth),
                )
            }
            3 => Expr::Not(boxed(self.expression(Kind::Bool, depth))),
            4 => Expr::IsNull(boxed(self.expression(Kind::Mixed, depth))),
            5 => Expr::IsNotNull(boxed(self.expression(Kind::Mixed, depth))),
            6 => binary(
                Op::In,
                self.expression(Kind::Int, depth),
                self.expression(Kind::Ints, depth),
            ),
            7 => {
                let items = (0..self.random.below(4)).map(|_| self.expression(Kind::Mixed, 1));
                let list = Expr::List(items.collect());
                binary(Op::In, self.expression(Kind::Mixed, depth), list)
            }
            8 => {
                let op = *self
                    .random
                    .pick(&[Op::StartsWith, Op::EndsWith, Op::Contains]);
                binary(op, self.expression(Kind::Str, depth), self.property_or("s"))
            }
            9 | 10 => match self.variable(|v| v.kind == Kind::Node) {
                Some(v) => {
                    Expr::HasLabel(boxed(Expr::Var(v.name)), self.random.pick::<&str>(LABELS))
                }
                None => self.truth(0),
            },
            11 if self.plain => self.truth(0),
            11 if self.random.chance(40) => self.sub(Sub::Exists),
            11 => self.subquery(true),
            12 => {
                use Quantifier::{All, Any, None, Single};
                let kind = *self.random.pick(&[All, Any, None, Single]);
                let var = self.name();
                let list = self.expression(Kind::Ints, depth);
                self.scope.push(Variable {
                    name: var.clone(),
                    kind: Kind::Int,
                    nullable: true,
                });
                let depth = self.inner_depth(depth);
                let condition = self.expression(Kind::Bool, depth);
                self.scope.pop();
                Expr::Quantified(kind, var, boxed(list), boxed(condition))
            }
            13 => match (
                self.variable(|v| v.kind == Kind::Node),
                self.variable(|v| v.kind == Kind::Node),
            ) {
                (Some(a), Some(b)) => {
                    let op = *self.random.pick(&[Op::Equal, Op::Different]);
                    binary(op, Expr::Var(a.name), Expr::Var(b.name))
                }
                _ => self.truth(0),
            },
            14 => {
                let bag = self.variable(|v| v.kind == Kind::Bag);
                let rels = self.variable(|v| v.kind == Kind::Rels);
                match (bag, rels) {
                    (Some(bag), _) => binary(
                        Op::In,
                        self.expression(Kind::Int, depth),
                        Expr::Var(bag.name),
                    ),
                    (None, Some(rels)) => {
                        let var = self.name();
                        let a = Expr::Property(boxed(Expr::Var(var.clone())), "a");
                        let condition = binary(Op::Greater, a, self.int_literal());
                        let list = boxed(Expr::Var(rels.name));
                        Expr::Quantified(Quantifier::All, var, list, boxed(condition))
                    }
                    (None, None) => self.truth(0),
                }
            }
            _ => self.truth(0),
        }
    }
}

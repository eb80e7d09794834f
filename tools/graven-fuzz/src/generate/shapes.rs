//! Statements of the forms that rules of the planner look for, in every surrounding.
//!
//! # How it works
//! A body is drawn that one of the rules rewrites, or must leave alone because of a detail. It then
//! stands alone, in a subquery that is given a variable, in one that may give nothing, in an
//! expression, on an optional variable, or before or behind a write.

mod counts;
mod finds;
mod random;
mod writes;

use super::{Generator, bare, projection, single};
use crate::graph::{LABELS, TYPES, property};
use crate::query::{
    Aggregate, Call, Change, Clause, Direction, Expr, Import, Item, Labels, Length, NodePattern,
    Op, Path, Projection, Query, RelPattern, Shape, Sub,
};
use crate::value::V;

/// Bodies and surroundings that there are, the bodies from which on they write, the one that needs
/// certain rows, the one that joins what it has written, and those with random values: the first
/// one, the first one without a random condition of its own, and one that writes.
pub(super) const BODIES: usize = RANDOM + random::FORMS;
pub(super) const SURROUNDINGS: usize = 9;
const WRITING: usize = 47;
const ACCUMULATING: usize = 50;
const JOINED_LATER: usize = 51;
const RANDOM: usize = 52;
const RANDOM_MADE: usize = RANDOM + random::DECIDING;
const RANDOM_WRITTEN: usize = BODIES - 1;

pub(super) fn var(name: &str) -> Expr {
    Expr::Var(name.to_owned())
}

pub(super) fn of(name: &str, key: &'static str) -> Expr {
    Expr::Property(Box::new(var(name)), key)
}

pub(super) fn int(value: i64) -> Expr {
    Expr::Literal(V::Int(value))
}

pub(super) fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn count(unique: bool, of: &str) -> Expr {
    Expr::Aggregate(Aggregate::Count, unique, Some(Box::new(var(of))))
}

pub(super) fn columns(items: Vec<(Expr, &str)>) -> Projection {
    let items = items.into_iter().map(|(expr, name)| Item {
        expr,
        name: name.to_owned(),
        bag: false,
    });
    Projection {
        items: items.collect(),
        ..projection::count_rows(String::new())
    }
}

pub(super) fn matching(paths: Vec<Path>, filter: Option<Expr>) -> Clause {
    Clause::Match {
        optional: false,
        paths,
        filter,
    }
}

pub(super) fn with(items: Vec<(Expr, &str)>) -> Clause {
    Clause::With(columns(items))
}

pub(super) fn returning(items: Vec<(Expr, &str)>) -> Clause {
    Clause::Return(columns(items))
}

pub(super) fn node(name: &str, label: Option<&'static str>) -> NodePattern {
    NodePattern {
        labels: label.map_or(Labels::Any, |l| Labels::All(vec![l])),
        ..bare(name.to_owned())
    }
}

pub(super) fn path(start: NodePattern, steps: Vec<(RelPattern, NodePattern)>) -> Path {
    Path {
        steps,
        ..single(start)
    }
}

impl Generator<'_> {
    pub(super) fn shape(&mut self) -> Query {
        let surrounding = self.random.below(SURROUNDINGS);
        let joins = self.large && self.random.chance(60);
        // Those with random values have many rows, so they come less often.
        let bodies = if self.random.chance(5) {
            BODIES
        } else {
            RANDOM
        };
        let body = if joins { 20 } else { self.random.below(bodies) };
        self.shape_of(surrounding, body)
    }

    /// The body of this number in the surroundings of this one.
    pub(super) fn shape_of(&mut self, surrounding: usize, body: usize) -> Query {
        // What writes stands alone, or below what may be null.
        let surrounding = match body {
            ACCUMULATING | JOINED_LATER => 0,
            WRITING..RANDOM | RANDOM_WRITTEN if surrounding != 5 => 0,
            RANDOM..RANDOM_MADE if surrounding == 5 => 0,
            _ => surrounding,
        };
        let branches = |clauses| Query {
            branches: vec![clauses],
            all: true,
        };
        let anchor = matches!(surrounding, 1..=4).then_some("o");
        // What a write makes has no `uid`.
        self.created |= surrounding == 6;
        let mut body = self.body(body, anchor);
        let any = || matching(vec![single(node("o", None))], None);
        let label = self.label();
        match surrounding {
            1 | 2 => {
                // In a subquery that gets a variable, perhaps one that is null.
                let first = match self.random.chance(60) {
                    true => any(),
                    false => self.optional_anchor(),
                };
                let imports = [Import::Listed, Import::Star, Import::With];
                let call = Clause::Call(Call {
                    optional: self.random.chance(40),
                    import: *self.random.pick(&imports),
                    given: vec!["o".to_owned()],
                    query: branches(body),
                    rows_each: None,
                });
                let mut clauses = vec![first, call];
                if self.random.chance(30) {
                    let path = single(NodePattern {
                        var: None,
                        properties: vec![("a", of("o", "a"))],
                        ..node("", Some("C"))
                    });
                    clauses.push(Clause::Create(vec![path]));
                }
                clauses.push(Clause::Return(projection::count_rows("c".to_owned())));
                if let Clause::Call(call) = &clauses[1]
                    && let Some(last) = call.query.last()
                {
                    let names: Vec<Item> = last.items.clone();
                    let items = names.into_iter().map(|i| Item {
                        expr: Expr::Var(i.name.clone()),
                        ..i
                    });
                    let all = Projection {
                        items: items.collect(),
                        ..projection::count_rows(String::new())
                    };
                    if self.random.chance(70) {
                        let last = clauses.len() - 1;
                        clauses[last] = Clause::Return(all);
                    }
                }
                branches(clauses)
            }
            3 => {
                // In an expression.
                let kind = *self.random.pick(&[Sub::Exists, Sub::Count]);
                let inner = Expr::Sub(kind, Box::new(branches(body)));
                match self.random.chance(50) {
                    true => branches(vec![
                        matching(vec![single(node("o", Some(label)))], Some(condition(inner))),
                        returning(vec![(of("o", "uid"), "u")]),
                    ]),
                    false => branches(vec![any(), returning(vec![(inner, "u")])]),
                }
            }
            4 => {
                let mut clauses = vec![self.optional_anchor()];
                clauses.extend(body);
                branches(clauses)
            }
            5 => {
                // Every match that may be is optional.
                for clause in &mut body {
                    if let Clause::Match { optional, .. } = clause {
                        *optional = self.random.chance(70);
                    }
                }
                branches(body)
            }
            6 => {
                // Behind a write.
                let key = *self.random.pick(&["a", "a", "s", "m"]);
                let value = property(self.random, key).unwrap_or(V::Null);
                let change = match self.random.below(6) {
                    0 => Clause::Change(vec![Change::Label("w".to_owned(), label)]),
                    1 => Clause::Change(vec![Change::RemoveLabel("w".to_owned(), label)]),
                    2 => {
                        let start = bare("w".to_owned());
                        let end = node("", Some(self.label()));
                        let end = NodePattern { var: None, ..end };
                        let rel = self.rel(None, Length::One, Direction::Out, true);
                        Clause::Create(vec![path(start, vec![(rel, end)])])
                    }
                    _ => Clause::Change(vec![Change::Set("w".to_owned(), key, value)]),
                };
                let first = matching(vec![single(node("w", None))], None);
                let mut clauses = vec![first, change, with(vec![(count(true, "w"), "ws")])];
                clauses.extend(body);
                branches(clauses)
            }
            7 => {
                // Before a write of what it reads.
                if let Some(Clause::Return(last)) = body.pop() {
                    let value = Expr::Var(last.items[0].name.clone());
                    body.push(Clause::With(last));
                    let path = single(NodePattern {
                        var: None,
                        properties: Vec::new(),
                        ..node("", Some(label))
                    });
                    body.push(Clause::Create(vec![path]));
                    body.push(returning(vec![(value, "u")]));
                }
                branches(body)
            }
            _ => branches(body),
        }
    }

    fn label(&mut self) -> &'static str {
        self.random.pick::<&str>(LABELS)
    }

    /// The node, as one of a few.
    fn known(&mut self, node: NodePattern) -> NodePattern {
        NodePattern {
            properties: vec![("uid", int(self.random.between(0, 4)))],
            ..node
        }
    }

    fn maybe_label(&mut self) -> Option<&'static str> {
        self.random.chance(35).then(|| self.label())
    }

    /// `OPTIONAL MATCH` that binds `o`, or makes it null.
    fn optional_anchor(&mut self) -> Clause {
        let rel = self.rel(None, Length::One, Direction::Out, true);
        let start = match self.random.chance(50) {
            true => NodePattern {
                properties: vec![("uid", int(self.random.between(0, 3)))],
                ..node("before", None)
            },
            false => node("before", None),
        };
        Clause::Match {
            optional: true,
            paths: vec![path(start, vec![(rel, node("o", None))])],
            filter: None,
        }
    }

    fn rel(
        &mut self,
        name: Option<&str>,
        length: Length,
        direction: Direction,
        typed: bool,
    ) -> RelPattern {
        let types = match typed || self.random.chance(40) {
            true => vec![*self.random.pick(TYPES)],
            false => Vec::new(),
        };
        RelPattern {
            var: name.map(str::to_owned),
            types,
            direction,
            length,
            properties: Vec::new(),
        }
    }

    fn any_direction(&mut self) -> Direction {
        *self
            .random
            .pick(&[Direction::Out, Direction::In, Direction::Both])
    }

    fn star(&mut self) -> Length {
        let low = *self.random.pick(&[0, 1, 1, 2]);
        Length::Star(low, (low + self.random.below(3)).max(1))
    }

    fn hop(&mut self, to: NodePattern) -> (RelPattern, NodePattern) {
        let direction = self.any_direction();
        (self.rel(None, Length::One, direction, false), to)
    }

    /// Ordered by all of it, with a cut where the order is certain.
    fn cut(&mut self, mut items: Projection, by: Vec<Expr>) -> Projection {
        items.order = by
            .into_iter()
            .map(|e| (e, self.random.chance(50)))
            .collect();
        if self.created {
            return items;
        }
        items.skip = self.random.chance(50).then(|| self.random.below(3));
        items.limit = Some(self.random.below(5));
        items.total = true;
        items
    }

    /// Clauses that end with `RETURN` of names which nothing outside has.
    fn body(&mut self, number: usize, anchor: Option<&str>) -> Vec<Clause> {
        let label = self.maybe_label();
        // The first node: that of the outer row, or any of a label.
        let start = match anchor {
            Some(name) => bare(name.to_owned()),
            None => node("n", label),
        };
        let n = anchor.unwrap_or("n").to_owned();
        let n = n.as_str();
        match number {
            20 => match self.random.below(4) {
                0 => self.joined(start, n, anchor),
                1 | 2 => self.known_ends(start, n),
                _ => self.common_start(start, n),
            },
            21 | 22 => self.found_again(start, n),
            23 => self.grouped(start, n),
            24 => self.indexed(n, anchor),
            25 => self.computed_label(anchor),
            26 => self.guarded(start, n),
            27 => self.numbered(start, n),
            28 => self.in_order(n, anchor),
            29 | 30 => self.known_ends(start, n),
            31 => self.selected(start),
            32 => self.joined(start, n, anchor),
            33 => self.grouped(start, n),
            34 => self.indexed(n, anchor),
            35 => self.found_again(start, n),
            36 => self.triangle(start, n),
            37 => self.neighbours(start, n),
            38 | 39 => self.triangle(start, n),
            40 | 41 => self.joined(start, n, anchor),
            42 | 43 => self.compared(start, n),
            44..=46 => self.closed(start, n),
            ACCUMULATING => self.accumulated(),
            JOINED_LATER => self.joined_later(),
            WRITING..RANDOM => self.changed(start, n),
            RANDOM.. => self.drawn(number - RANDOM, start, n),
            0 | 1 => self.counted(start, n),
            2 | 3 => self.reached(start, n),
            4 => self.numbered(start, n),
            5 => self.reached_at_all(start, n),
            6 => self.grouped(start, n),
            7 => self.known_ends(start, n),
            8 => self.common_start(start, n),
            9 => self.in_order(n, anchor),
            10 => self.listed(start, n),
            11 => self.joined(start, n, anchor),
            12 => self.found_again(start, n),
            13 => self.computed_label(anchor),
            14 => self.triangle(start, n),
            15 | 16 => self.indexed(n, anchor),
            17 => self.selected(start),
            18 => self.first_rows(start, n),
            _ => self.with_condition(start, n),
        }
    }
}

fn counted_rows() -> Expr {
    Expr::Aggregate(Aggregate::Count, false, None)
}

/// A subquery as a condition: a count must be greater than one.
fn condition(sub: Expr) -> Expr {
    match sub {
        Expr::Sub(Sub::Exists, _) => sub,
        other => binary(Op::Greater, other, int(1)),
    }
}

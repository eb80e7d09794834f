//! Which variables a subquery sees: every way to hand them in, before every clause, with names that
//! are dropped and given again.
//!
//! # How it works
//! `s` is a node of the rows around. It is handed in or not, dropped by a `WITH` or not; then one
//! more clause reads it, or, where it is free, binds the name anew to something else.

use super::shapes::{binary, columns, int, matching, node, of, path, returning, var, with};
use super::{Generator, projection, single};
use crate::query::{
    Aggregate, Call, Change, Clause, Direction, Expr, Import, Length, NodePattern, Op, Projection,
    Query, RelPattern, Sub,
};

/// How `s` comes in.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// `CALL (s) {`.
    Listed,
    /// `CALL (*) {`.
    Star,
    /// `CALL { WITH s`.
    With,
    /// `CALL () {`: it does not.
    Nothing,
    /// `COUNT {`: as all that is around.
    Expression,
}

const WAYS: [Way; 5] = [
    Way::Listed,
    Way::Star,
    Way::With,
    Way::Nothing,
    Way::Expression,
];

/// What a name stands for.
#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Nothing,
    Node,
    Number,
}

/// Clauses that come then.
const CLAUSES: usize = 14;

fn query(clauses: Vec<Clause>) -> Query {
    Query {
        branches: vec![clauses],
        all: true,
    }
}

fn call(import: Import, given: &[&str], clauses: Vec<Clause>) -> Clause {
    Clause::Call(Call {
        optional: false,
        import,
        given: given.iter().map(|name| (*name).to_owned()).collect(),
        query: query(clauses),
        rows_each: None,
    })
}

impl Generator<'_> {
    /// The statement of this cell.
    pub(super) fn scoped(&mut self, cell: usize) -> Query {
        let way = WAYS[cell % WAYS.len()];
        let dropped = cell / WAYS.len() % 3;
        let clause = cell / WAYS.len() / 3 % CLAUSES;
        let label = *self.random.pick(crate::graph::LABELS);
        let mut inner = Vec::new();
        let stays = matches!(way, Way::Listed | Way::Star | Way::Expression);
        let mut s = match way {
            Way::Nothing => Meaning::Nothing,
            _ => Meaning::Node,
        };
        if dropped > 0 || way == Way::Expression {
            let kept = match s {
                Meaning::Node => of("s", "uid"),
                _ => int(3),
            };
            let mut with = columns(vec![(kept, "x")]);
            if dropped == 2 {
                with.distinct = true;
            }
            if way == Way::Expression {
                inner.push(matching(vec![single(node("z", Some(label)))], None));
            }
            inner.push(Clause::With(with));
            if !stays {
                s = Meaning::Nothing;
            }
        }
        let s = self.scope_clause(&mut inner, clause, (s, stays), label);
        let value = match s {
            Meaning::Nothing => int(1),
            Meaning::Node => of("s", "uid"),
            Meaning::Number => binary(Op::Plus, var("s"), int(1)),
        };
        inner.push(returning(vec![(value, "c")]));
        self.around(way, inner)
    }

    /// The statement around the subquery.
    fn around(&mut self, way: Way, inner: Vec<Clause>) -> Query {
        let first = matching(vec![single(node("s", None))], None);
        let last = |value| returning(vec![(of("s", "uid"), "u"), (value, "v")]);
        let import = match way {
            Way::Listed | Way::Nothing => Import::Listed,
            Way::Star => Import::Star,
            Way::With => Import::With,
            Way::Expression => {
                let kind = *self.random.pick(&[Sub::Count, Sub::Exists]);
                let writes = query(inner.clone()).writes();
                let inner = match writes {
                    true => vec![returning(vec![(of("s", "uid"), "c")])],
                    false => inner,
                };
                let value = Expr::Sub(kind, Box::new(query(inner)));
                return query(vec![first, last(value)]);
            }
        };
        let given: &[&str] = match way {
            Way::Nothing => &[],
            _ => &["s"],
        };
        let mut outer = call(import, given, inner);
        if let Clause::Call(call) = &mut outer {
            call.optional = self.random.chance(30);
        }
        query(vec![first, outer, last(var("c"))])
    }

    /// One more clause, and what `s` is behind it; `stays` says that the name cannot be given
    /// again.
    fn scope_clause(
        &mut self,
        inner: &mut Vec<Clause>,
        number: usize,
        (s, stays): (Meaning, bool),
        label: &'static str,
    ) -> Meaning {
        let free = s == Meaning::Nothing;
        let is_node = s == Meaning::Node;
        let rel = RelPattern {
            var: None,
            types: Vec::new(),
            direction: Direction::Both,
            length: Length::One,
            properties: Vec::new(),
        };
        let to_y = path(node("s", None), vec![(rel, node("y", None))]);
        match number {
            0 => inner.push(matching(vec![single(node("s", Some(label)))], None)),
            1 => inner.push(Clause::Match {
                optional: true,
                paths: vec![single(node("s", Some(label)))],
                filter: None,
            }),
            2 => inner.push(matching(vec![to_y], None)),
            3 => {
                let list = Expr::List(vec![int(1), int(2)]);
                let name = if free { "s" } else { "y" };
                inner.push(Clause::Unwind(list, name.to_owned()));
                return if free { Meaning::Number } else { s };
            }
            4 if free || !stays => {
                let value = if is_node { of("s", "uid") } else { int(4) };
                inner.push(with(vec![(value, "s")]));
                return Meaning::Number;
            }
            5 => {
                // A subquery of its own, with a name of its own.
                let found = matching(vec![single(node("s", Some(label)))], None);
                let returned = returning(vec![(of("s", "uid"), "y")]);
                inner.push(call(Import::Listed, &[], vec![found, returned]));
                return s;
            }
            6 if is_node => {
                let import = *self
                    .random
                    .pick(&[Import::Listed, Import::Star, Import::With]);
                let found = matching(vec![to_y], None);
                let returned = returning(vec![(of("y", "uid"), "w")]);
                inner.push(call(import, &["s"], vec![found, returned]));
                return s;
            }
            6 => {
                inner.push(call(
                    Import::Listed,
                    &[],
                    vec![returning(vec![(int(5), "s")])],
                ));
                return Meaning::Number;
            }
            7 if free => {
                inner.push(Clause::Create(vec![single(node("s", Some("C")))]));
                self.created = true;
            }
            8 => {
                let name = if stays { "y" } else { "s" };
                let made = NodePattern {
                    var: None,
                    properties: vec![("a", var(name))],
                    ..node("", Some("C"))
                };
                inner.push(Clause::Foreach(
                    name.to_owned(),
                    Expr::List(vec![int(1), int(2)]),
                    vec![Clause::Create(vec![single(made)])],
                ));
                inner.push(with(match is_node {
                    true if !stays => vec![(var("s"), "s")],
                    _ => vec![(int(1), "one")],
                }));
                return s;
            }
            9 => {
                let sum = binary(Op::Plus, var("s"), int(1));
                let list = Box::new(Expr::List(vec![int(1), int(2)]));
                let each = Expr::Comprehension("s".to_owned(), list, None, Some(Box::new(sum)));
                let mut kept = columns(vec![(each, "list")]);
                if is_node && !stays {
                    kept.items
                        .push(columns(vec![(var("s"), "s")]).items.remove(0));
                }
                inner.push(Clause::With(kept));
                return s;
            }
            10 => {
                let found = matching(vec![single(node("s", Some(label)))], None);
                let returned = returning(vec![(int(1), "one")]);
                let exists = Expr::Sub(Sub::Exists, Box::new(query(vec![found, returned])));
                let mut kept = columns(vec![(int(1), "kept")]);
                if is_node && !stays {
                    kept.items
                        .push(columns(vec![(var("s"), "s")]).items.remove(0));
                }
                kept.filter = Some(exists);
                inner.push(Clause::With(kept));
                return s;
            }
            11 if is_node => {
                inner.push(Clause::Change(vec![Change::Label("s".to_owned(), label)]));
                return s;
            }
            12 => {
                let counted = Expr::Aggregate(Aggregate::Count, false, None);
                let grouped = Projection {
                    items: columns(vec![(counted, "s")]).items,
                    ..projection::count_rows(String::new())
                };
                if stays {
                    inner.push(Clause::With(projection::count_rows("y".to_owned())));
                    return s;
                }
                inner.push(Clause::With(grouped));
                return Meaning::Number;
            }
            13 => {
                let made = NodePattern {
                    properties: vec![("a", int(1))],
                    ..node(if free { "s" } else { "y" }, Some("C"))
                };
                self.created = true;
                inner.push(Clause::Merge {
                    path: single(made),
                    on_create: Vec::new(),
                    on_match: Vec::new(),
                });
                return if free { Meaning::Node } else { s };
            }
            _ => return s,
        }
        Meaning::Node
    }
}

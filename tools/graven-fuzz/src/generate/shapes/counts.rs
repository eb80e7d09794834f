//! Bodies whose rows are counted, made distinct or found by a search.

use super::super::Generator;
use super::*;

impl Generator<'_> {
    /// A tree of clauses on the first node, of which only the number counts.
    pub(super) fn counted(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let mut names = vec![n.to_owned()];
        // Those that an optional part binds, and relationships.
        let (mut perhaps, mut named) = (Vec::new(), Vec::new());
        let mut clauses = vec![matching(vec![single(start)], None)];
        for number in 0..2 + self.random.below(2) {
            let name = format!("t{number}");
            let from = self.random.pick(&names).clone();
            let label = self.maybe_label();
            let mut steps = vec![self.hop(node(&name, label))];
            if self.random.chance(35) {
                let rel = format!("r{number}");
                steps[0].0.var = Some(rel.clone());
                named.push(rel);
            }
            if self.random.chance(40) {
                let name = format!("e{number}");
                steps.push(self.hop(node(&name, None)));
                names.push(name);
            }
            let read = self.random.chance(15);
            let filter = read.then(|| {
                let other = Expr::Var(self.random.pick(&names).clone());
                binary(Op::Different, var(&name), other)
            });
            names.push(name);
            let optional = self.random.chance(45);
            if optional {
                perhaps.extend(names.last().cloned());
            }
            clauses.push(Clause::Match {
                optional,
                paths: vec![path(bare(from), steps)],
                filter,
            });
        }
        if self.random.chance(35) {
            // Beside the number, or instead of it.
            let of_node = self.random.pick(&names).clone();
            let of_one = match named.is_empty() || self.random.chance(20) {
                true => of(&of_node, "a"),
                false => {
                    let rel = self.random.pick(&named).clone();
                    of(&rel, self.random.pick::<&str>(&["uid", "a", "m"]))
                }
            };
            let function = *self.random.pick(&[
                Aggregate::Min,
                Aggregate::Max,
                Aggregate::Max,
                Aggregate::Sum,
                Aggregate::Count,
            ]);
            let (of_one, unique) = match function {
                // The sum of anything but numbers is an error.
                Aggregate::Sum => (of(&of_node, "a"), self.random.chance(50)),
                _ => (of_one, self.random.chance(50)),
            };
            let found = Expr::Aggregate(function, unique, Some(Box::new(of_one)));
            let mut items = vec![(found, "m")];
            if self.random.chance(60) {
                items.push((counted_rows(), "c"));
            }
            if self.random.chance(60) {
                items.push((of(n, "uid"), "k"));
            }
            clauses.push(returning(items));
            return clauses;
        }
        clauses.push(match self.random.below(6) {
            0 => returning(vec![(of(n, "a"), "k"), (counted_rows(), "c")]),
            1 | 5 => {
                let of = match perhaps.is_empty() || self.random.chance(30) {
                    true => &names,
                    false => &perhaps,
                };
                let one = self.random.pick(of).clone();
                returning(vec![(count(false, &one), "c")])
            }
            2 => returning(vec![(of(n, "uid"), "k"), (counted_rows(), "c")]),
            _ => returning(vec![(counted_rows(), "c")]),
        });
        clauses
    }

    /// Relationships of one node that are compared, counted or added up, where what hangs on their
    /// ends may decide which of them there are.
    pub(super) fn compared(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let start = self.known(start);
        let label = self.maybe_label();
        let (mut rel, end) = self.hop(node("t", label));
        rel.var = Some("r".to_owned());
        let mut clauses = vec![matching(vec![path(start, vec![(rel, end)])], None)];
        for (from, to) in [("t", "last"), (n, "other")] {
            if self.random.chance(45) {
                let step = self.hop(node(to, None));
                clauses.push(matching(
                    vec![path(bare(from.to_owned()), vec![step])],
                    None,
                ));
            }
        }
        let (function, argument) = match self.random.below(5) {
            0 => (Aggregate::Sum, of(n, "a")),
            1 => (Aggregate::Min, of("r", "uid")),
            2 => (Aggregate::Max, of("r", "m")),
            _ => (Aggregate::Max, of("r", "uid")),
        };
        let unique = self.random.chance(20);
        let found = Expr::Aggregate(function, unique, Some(Box::new(argument)));
        let mut items = vec![(found, "m")];
        if function == Aggregate::Sum || self.random.chance(60) {
            items.push((counted_rows(), "c"));
        }
        if self.random.chance(60) {
            items.push((of(n, "uid"), "k"));
        }
        clauses.push(returning(items));
        clauses
    }

    fn reaching(&mut self, start: NodePattern) -> Clause {
        let (length, direction) = (self.star(), self.any_direction());
        let rel = self.rel(None, length, direction, false);
        let label = self.maybe_label();
        let mut steps = vec![(rel, node("f", label))];
        if self.random.chance(15) {
            steps.push(self.hop(node("g", None)));
        }
        let filter = match self.random.below(6) {
            0 => Some(binary(Op::Greater, of("f", "a"), int(0))),
            1 => start
                .var
                .clone()
                .map(|name| binary(Op::Different, var("f"), Expr::Var(name))),
            _ => None,
        };
        matching(vec![path(start, steps)], filter)
    }

    /// Ends of a search, each once or as often as it is found.
    pub(super) fn reached(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let search = self.reaching(start);
        let unique = self.random.chance(75);
        let key = *self.random.pick(&["uid", "a", "s"]);
        let f = match self.random.chance(75) {
            true => var("f"),
            false => of("f", "a"),
        };
        let counted = Expr::Aggregate(Aggregate::Count, unique, Some(Box::new(f)));
        vec![
            search,
            match self.random.below(6) {
                0 => returning(vec![(counted, "c")]),
                1 | 2 => returning(vec![(of(n, key), "k"), (counted, "c")]),
                3 => returning(vec![
                    (of(n, key), "k"),
                    (counted, "c"),
                    (counted_rows(), "d"),
                ]),
                4 => Clause::Return(Projection {
                    distinct: true,
                    ..columns(vec![(of(n, key), "k"), (of("f", "uid"), "c")])
                }),
                _ => {
                    let most = Expr::Aggregate(Aggregate::Max, false, Some(Box::new(of("f", "a"))));
                    returning(vec![(of(n, key), "k"), (most, "c")])
                }
            },
        ]
    }

    /// Rows of which duplicates decide how many, or which, are left.
    pub(super) fn numbered(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let search = self.reaching(start);
        let value = match self.random.below(4) {
            0 => int(1),
            1 => of(n, "uid"),
            _ => of("f", "uid"),
        };
        let mut one = columns(vec![(value, "one")]);
        one.order = vec![(var("one"), self.random.chance(50))];
        one.total = true;
        if self.random.chance(50) {
            one.skip = Some(1 + self.random.below(3));
        }
        if one.skip.is_none() || self.random.chance(50) {
            one.limit = Some(1 + self.random.below(4));
        }
        let largest = Expr::Aggregate(Aggregate::Max, false, Some(Box::new(var("one"))));
        let last = match self.random.below(4) {
            0 => returning(vec![(counted_rows(), "c")]),
            1 => returning(vec![(count(true, "one"), "c")]),
            2 => returning(vec![(largest, "c")]),
            _ => Clause::Return(Projection {
                distinct: true,
                ..columns(vec![(var("one"), "c")])
            }),
        };
        vec![search, Clause::With(one), last]
    }

    /// Rows made distinct, then counted by some of their columns.
    pub(super) fn grouped(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let search = self.reaching(start);
        let key = *self.random.pick(&["uid", "a"]);
        let first = match self.random.chance(50) {
            true => of(n, key),
            false => var(n),
        };
        let mut items = vec![(first, "k"), (var("f"), "f")];
        let keyed = self.random.chance(60);
        let mut clauses = Vec::new();
        match self.random.below(5) {
            0 => items.push((of(n, "s"), "other")),
            1 => items.push((of(n, "uid"), "other")),
            2 => {
                let list = Expr::List(vec![int(0), int(1)]);
                clauses.push(Clause::Unwind(list, "twice".to_owned()));
                items.push((var("twice"), "other"));
            }
            _ => {}
        }
        let distinct = Projection {
            distinct: true,
            ..columns(items)
        };
        let counted = match self.random.chance(50) {
            true => count(false, "f"),
            false => counted_rows(),
        };
        clauses.extend([search, Clause::With(distinct)]);
        clauses.push(match keyed {
            true => returning(vec![(var("k"), "l"), (counted, "c")]),
            false => returning(vec![(counted, "c")]),
        });
        clauses
    }

    /// Neighbours of nodes that are there once each, as often as they are found or once.
    pub(super) fn neighbours(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let direction = *self.random.pick(&[Direction::Out, Direction::In]);
        let rel = self.rel(None, Length::One, direction, true);
        let label = self.maybe_label();
        let once = Projection {
            distinct: true,
            ..columns(vec![(var(n), "d")])
        };
        let pairs = columns(vec![(var("d"), "u"), (var("f"), "c")]);
        vec![
            matching(vec![single(start)], None),
            Clause::With(once),
            matching(
                vec![path(node("d", None), vec![(rel, node("f", label))])],
                None,
            ),
            Clause::Return(Projection {
                distinct: self.random.chance(85),
                ..pairs
            }),
        ]
    }

    /// Whether something is reached at all.
    pub(super) fn reached_at_all(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let (length, direction) = (self.star(), self.any_direction());
        let rel = self.rel(None, length, direction, false);
        let label = self.maybe_label();
        let pattern = path(bare(n.to_owned()), vec![(rel, node("x", label))]);
        let exists = match self.random.chance(60) {
            true => Expr::Exists(vec![pattern], None),
            false => Expr::Not(Box::new(Expr::Exists(vec![pattern], None))),
        };
        vec![
            matching(vec![single(start)], Some(exists)),
            returning(vec![(of(n, "uid"), "u")]),
        ]
    }

    /// An end that is one of a few which are found before.
    pub(super) fn known_ends(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let known = |name: &str, uid| {
            single(NodePattern {
                properties: vec![("uid", int(uid))],
                ..node(name, None)
            })
        };
        let ends = [self.random.between(0, 3), self.random.between(0, 3)];
        let first = matching(vec![known("x", ends[0]), known("y", ends[1])], None);
        let direction = self.any_direction();
        let mut one = self.rel(None, Length::One, direction, true);
        let direction = self.any_direction();
        let two = self.rel(None, Length::One, direction, true);
        if one.types == two.types && self.random.chance(70) {
            // They differ anyway.
            let others = TYPES.iter().filter(|t| !two.types.contains(*t));
            one.types = others.copied().collect();
        }
        let start = match start.labels == Labels::Any && start.var.as_deref() == Some("n") {
            true => NodePattern {
                properties: vec![("a", int(self.random.between(-2, 5)))],
                ..start
            },
            false => start,
        };
        let steps = vec![(one, node("m", None)), (two, node("p", None))];
        let is = |name: &str| binary(Op::Equal, var("p"), var(name));
        let other = match self.random.chance(40) {
            true => is("y"),
            false if self.random.chance(50) => Expr::HasLabel(Box::new(var("p")), self.label()),
            false => binary(Op::Greater, of("p", "a"), int(0)),
        };
        let op = if self.random.chance(80) {
            Op::Or
        } else {
            Op::And
        };
        let filter = binary(op, is("x"), other);
        vec![
            first,
            matching(vec![path(start, steps)], Some(filter)),
            returning(vec![(of(n, "uid"), "u"), (counted_rows(), "c")]),
        ]
    }
}

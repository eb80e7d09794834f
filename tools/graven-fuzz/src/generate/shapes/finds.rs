//! Bodies that find nodes: by shortest paths, orders, joins, ids, labels, indexes and conditions.

use super::super::Generator;
use super::*;

impl Generator<'_> {
    /// Shortest paths from one node, or from several, to others.
    pub(super) fn common_start(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let from = match self.random.chance(60) {
            true => NodePattern {
                properties: vec![("uid", int(self.random.between(0, 4)))],
                ..node("x", self.random.chance(60).then_some("B"))
            },
            false => node("x", Some(self.label())),
        };
        let direction = self.any_direction();
        let rel = self.rel(None, Length::Star(1, 4), direction, false);
        let shape = *self.random.pick(&[Shape::Shortest, Shape::AllShortest]);
        let turned = self.random.chance(50);
        let (a, b) = if turned { ("x", n) } else { (n, "x") };
        let shortest = Path {
            var: Some("p".to_owned()),
            shape,
            ..path(bare(a.to_owned()), vec![(rel, bare(b.to_owned()))])
        };
        let length = Expr::Call("length", vec![var("p")]);
        vec![
            matching(vec![single(start)], None),
            matching(
                vec![single(from)],
                Some(binary(Op::Different, var("x"), var(n))),
            ),
            matching(vec![shortest], None),
            returning(vec![
                (of(n, "uid"), "u"),
                (of("x", "uid"), "w"),
                (length, "c"),
            ]),
        ]
    }

    /// A label and a property, more often than not of an index that there is.
    fn indexed_key(&mut self) -> (&'static str, &'static str) {
        let keys = [
            ("A", "a"),
            ("B", "s"),
            ("A", "m"),
            ("C", "uid"),
            ("B", "a"),
            ("A", "d"),
            ("C", "l"),
            ("B", "t"),
        ];
        let known: Vec<_> = self.indexes.iter().map(|(l, k)| (*l, k[0])).collect();
        match !known.is_empty() && self.random.chance(75) {
            true => *self.random.pick(&known),
            false => *self.random.pick(&keys),
        }
    }

    /// Bounds of two properties of one label, each of which an index may hold.
    fn two_bounds(&mut self, m: &str) -> (&'static str, Expr) {
        let of_two = |(at, (label, keys)): (usize, &(&'static str, Vec<&'static str>))| {
            let others = self.indexes[at + 1..].iter();
            let other = others.filter(|(l, k)| l == label && k[0] != keys[0]);
            let pairs = other.map(|(_, other)| (*label, keys[0], other[0]));
            pairs.collect::<Vec<_>>()
        };
        let known: Vec<_> = self.indexes.iter().enumerate().flat_map(of_two).collect();
        let (label, first, second) = match known.is_empty() {
            true => ("A", "a", "m"),
            false => *self.random.pick(&known),
        };
        let (first, second) = match self.random.chance(50) {
            true => (first, second),
            false => (second, first),
        };
        let [low, high] = [first, second]
            .map(|key| Expr::Literal(property(self.random, key).unwrap_or(V::Int(1))));
        let bounds = binary(
            Op::And,
            binary(Op::GreaterOrEqual, of(m, first), low),
            binary(Op::Less, of(m, second), high),
        );
        (label, bounds)
    }

    /// Rows in the order of a property that an index may hold.
    pub(super) fn in_order(&mut self, n: &str, anchor: Option<&str>) -> Vec<Clause> {
        let (label, key) = self.indexed_key();
        let m = if anchor.is_some() { "m" } else { n };
        let found = matching(vec![single(node(m, Some(label)))], None);
        let last = match self.random.below(5) {
            0 => {
                let which = *self.random.pick(&[Aggregate::Min, Aggregate::Max]);
                let of = Some(Box::new(of(m, key)));
                returning(vec![(Expr::Aggregate(which, false, of), "c")])
            }
            1 | 2 => {
                let mut all = columns(vec![(of(m, key), "c")]);
                all.order = vec![(of(m, key), self.random.chance(50))];
                all.limit = self.random.chance(70).then(|| self.random.below(5));
                all.skip = self.random.chance(30).then(|| self.random.below(3));
                all.total = true;
                Clause::Return(all)
            }
            _ => {
                let all = columns(vec![(of(m, "uid"), "u"), (of(m, key), "c")]);
                Clause::Return(self.cut(all, vec![of(m, key), of(m, "uid")]))
            }
        };
        match self.random.chance(30) {
            true => vec![
                found,
                matching(
                    vec![path(bare(m.to_owned()), vec![self.hop(node("h", None))])],
                    None,
                ),
                last,
            ],
            false => vec![found, last],
        }
    }

    /// A list that is taken apart again, and perhaps read behind that.
    pub(super) fn listed(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let list = Expr::Aggregate(Aggregate::Collect, false, Some(Box::new(of(n, "uid"))));
        let mut last = vec![(var("k"), "u"), (var("x"), "c")];
        if self.random.chance(40) {
            last.push((Expr::Call("size", vec![var("xs")]), "d"));
        }
        let mut clauses = vec![
            matching(vec![single(start)], None),
            with(vec![(of(n, "a"), "k"), (list, "xs")]),
            Clause::Unwind(var("xs"), "x".to_owned()),
        ];
        if self.random.chance(40) {
            let by = vec![var("k"), var("x")];
            let items = columns(vec![(var("k"), "k"), (var("x"), "x"), (var("xs"), "xs")]);
            clauses.push(Clause::With(self.cut(items, by)));
        }
        clauses.push(returning(last));
        clauses
    }

    /// Two parts joined by an equality.
    pub(super) fn joined(
        &mut self,
        start: NodePattern,
        n: &str,
        anchor: Option<&str>,
    ) -> Vec<Clause> {
        let keys = [
            ("a", "a"),
            ("a", "a"),
            ("s", "s"),
            ("a", "uid"),
            ("m", "m"),
            ("m", "a"),
            ("f", "a"),
            ("t", "d"),
        ];
        let (left, right) = *self.random.pick(&keys);
        let label = self.maybe_label();
        let mut paths = vec![single(start), single(node("j", label))];
        if self.random.chance(50) {
            let one = self.hop(node("y", None));
            paths[0].steps.push(one);
            let two = self.hop(node("z", None));
            paths[1].steps.push(two);
        }
        let mut filter = binary(Op::Equal, of(n, left), of("j", right));
        if self.random.chance(20) {
            // Two keys at once, one of which may be null.
            let pair = |name: &str, key| Expr::List(vec![of(name, key), of(name, "s")]);
            filter = binary(Op::Equal, pair(n, left), pair("j", right));
        }
        if self.random.chance(20) {
            filter = binary(
                Op::And,
                filter,
                binary(Op::Less, of(n, "uid"), of("j", "uid")),
            );
        }
        let mut clauses = vec![matching(paths, Some(filter))];
        if anchor.is_none() && self.random.chance(20) {
            // The second part is written for each row of the first.
            clauses = vec![
                matching(vec![single(node(n, None))], None),
                matching(
                    vec![single(node("j", label))],
                    Some(binary(Op::Equal, of(n, left), of("j", right))),
                ),
            ];
        }
        clauses.push(returning(vec![(of(n, "uid"), "u"), (of("j", "uid"), "c")]));
        clauses
    }

    /// Nodes or relationships found again by their ids.
    pub(super) fn found_again(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let function = *self.random.pick(&["id", "elementId"]);
        let id = |name: &str| Expr::Call(function, vec![var(name)]);
        let is = match self.random.chance(65) {
            true => Op::Equal,
            false => Op::Different,
        };
        let named = |name: &str, hop: (RelPattern, NodePattern)| {
            let rel = RelPattern {
                var: Some(name.to_owned()),
                ..hop.0
            };
            (rel, hop.1)
        };
        if self.random.chance(50) {
            let hop = named("r", self.hop(node("b", None)));
            let (left, right) = (self.maybe_label(), self.maybe_label());
            let again = named("again", self.hop(node("d", right)));
            let found = |filter| {
                let pattern = path(node("c", left), vec![again.clone()]);
                matching(vec![pattern], Some(filter))
            };
            let first = matching(vec![path(start, vec![hop])], None);
            let last = returning(vec![(of("c", "uid"), "w"), (of("again", "uid"), "c")]);
            return match self.random.chance(50) {
                true => vec![
                    first,
                    with(vec![(id("r"), "i")]),
                    found(binary(is, id("again"), var("i"))),
                    last,
                ],
                false => vec![first, found(binary(is, id("again"), id("r"))), last],
            };
        }
        let first = matching(vec![single(start)], None);
        let label = self.maybe_label();
        let again = |filter| matching(vec![single(node("again", label))], Some(filter));
        if self.random.chance(30) {
            return vec![
                first,
                again(binary(is, id("again"), id(n))),
                returning(vec![(of(n, "uid"), "b"), (of("again", "uid"), "c")]),
            ];
        }
        match self.random.chance(50) {
            true => vec![
                first,
                with(vec![(id(n), "i"), (of(n, "uid"), "u")]),
                again(binary(is, id("again"), var("i"))),
                returning(vec![(var("u"), "b"), (of("again", "uid"), "c")]),
            ],
            false => {
                let ids = Expr::Aggregate(Aggregate::Collect, false, Some(Box::new(id(n))));
                vec![
                    first,
                    with(vec![(ids, "is")]),
                    again(binary(Op::In, id("again"), var("is"))),
                    returning(vec![(of("again", "uid"), "c")]),
                ]
            }
        }
    }

    /// Nodes of a label that a value names.
    pub(super) fn computed_label(&mut self, anchor: Option<&str>) -> Vec<Clause> {
        let label = self.label();
        let first = match anchor {
            Some(name) if self.random.chance(60) => Clause::With(columns(vec![(
                Expr::Case(
                    Box::new(Expr::HasLabel(Box::new(var(name)), label)),
                    Box::new(Expr::Literal(V::Str(label.to_owned()))),
                    Box::new(Expr::Literal(V::Str("A".to_owned()))),
                ),
                "l",
            )])),
            Some(_) => {
                let name = Expr::Literal(V::Str(label.to_owned()));
                Clause::Call(Call {
                    optional: true,
                    import: Import::Listed,
                    given: Vec::new(),
                    query: Query {
                        branches: vec![vec![returning(vec![(name, "l")])]],
                        all: true,
                    },
                    rows_each: None,
                })
            }
            None => with(vec![(Expr::Literal(V::Str(label.to_owned())), "l")]),
        };
        let mut found = NodePattern {
            labels: Labels::Named("l".to_owned()),
            ..node("d", None)
        };
        if self.random.chance(50) {
            let (_, key) = self.indexed_key();
            let value = property(self.random, key).unwrap_or(V::Int(1));
            found.properties = vec![(key, Expr::Literal(value))];
        }
        let mut steps = Vec::new();
        if self.random.chance(30) {
            steps.push(self.hop(node("h", None)));
        }
        vec![
            first,
            matching(vec![path(found, steps)], None),
            returning(vec![(of("d", "uid"), "c")]),
        ]
    }

    /// A circle, with conditions on its nodes.
    pub(super) fn triangle(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let labels = match self.random.chance(50) {
            true => [None, None],
            false => [self.maybe_label(), self.maybe_label()],
        };
        let mut steps = vec![
            self.hop(node("b", labels[0])),
            self.hop(node("c", labels[1])),
        ];
        if self.random.chance(70) {
            steps.push(self.hop(bare(n.to_owned())));
        }
        if self.random.chance(40) {
            steps[1].0.var = Some("named".to_owned());
        } else if self.random.chance(50) {
            // The first and the last may be the same one, that between them may not.
            let types: Vec<&'static str> = TYPES.to_vec();
            let at = self.random.below(types.len());
            for (number, (rel, _)) in steps.iter_mut().enumerate() {
                rel.types = vec![types[(at + number % 2) % types.len()]];
            }
        }
        let filter = match self.random.below(4) {
            0 => Some(binary(Op::Different, var("c"), var(n))),
            1 => {
                let rel = self.hop(bare(n.to_owned()));
                let pattern = path(bare("c".to_owned()), vec![rel]);
                Some(Expr::Not(Box::new(Expr::Pattern(Box::new(pattern)))))
            }
            2 => Some(Expr::HasLabel(Box::new(var("c")), self.label())),
            _ => None,
        };
        let found = matching(vec![path(start, steps)], filter);
        let ends = vec![(of(n, "uid"), "u"), (of("c", "uid"), "w")];
        vec![
            found,
            match self.random.below(3) {
                0 => Clause::Return(Projection {
                    distinct: true,
                    ..columns(ends)
                }),
                1 => returning(vec![(counted_rows(), "u")]),
                _ => returning(ends),
            },
        ]
    }

    /// A circle; its first relationship is read. It may be met again as the last one: where that
    /// between them is a loop.
    pub(super) fn closed(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let at = self.random.below(TYPES.len());
        let types = [at, at + 1, at].map(|at| TYPES[at % TYPES.len()]);
        let start = self.known(start);
        let ends = [node("b", None), node("c", None), bare(n.to_owned())];
        let steps = types.into_iter().zip(ends).map(|(rel_type, end)| {
            let direction = match self.random.chance(75) {
                true => Direction::Both,
                false => self.any_direction(),
            };
            let rel = self.rel(None, Length::One, direction, true);
            let types = vec![rel_type];
            (RelPattern { types, ..rel }, end)
        });
        let mut steps: Vec<_> = steps.collect();
        steps[0].0.var = Some("first".to_owned());
        let circle = matching(vec![path(start, steps)], None);
        let ends = vec![(of("c", "uid"), "u"), (of("first", "uid"), "r")];
        vec![circle, returning(ends)]
    }

    /// Nodes by values that an index may hold.
    pub(super) fn indexed(&mut self, n: &str, anchor: Option<&str>) -> Vec<Clause> {
        let m = if anchor.is_some() { "m" } else { n };
        if self.random.chance(40) {
            let (label, bounds) = self.two_bounds(m);
            let found = single(node(m, Some(label)));
            return vec![
                matching(vec![found], Some(bounds)),
                returning(vec![(of(m, "uid"), "c")]),
            ];
        }
        let (label, key) = match self.random.chance(40) {
            true => ("B", "a"),
            false => self.indexed_key(),
        };
        let literal = Expr::Literal(property(self.random, key).unwrap_or(V::Null));
        let value = match (anchor, self.random.chance(50)) {
            (Some(name), true) => of(name, key),
            _ => literal,
        };
        let ops = [Op::Equal, Op::Equal, Op::Less, Op::GreaterOrEqual, Op::In];
        let op = match key {
            "s" if self.random.chance(70) => {
                *self
                    .random
                    .pick(&[Op::StartsWith, Op::EndsWith, Op::Contains])
            }
            _ => *self.random.pick(&ops),
        };
        let value = match op {
            Op::In => Expr::List(vec![
                value,
                Expr::Literal(property(self.random, key).unwrap_or(V::Null)),
            ]),
            _ => value,
        };
        let mut filter = binary(op, of(m, key), value);
        let composite = (label, key) == ("B", "a") && self.random.chance(80);
        if composite || self.random.chance(50) {
            let key = match composite {
                true => "f",
                false => *self.random.pick(&["a", "f", "m", "s"]),
            };
            let more = match self.random.below(4) {
                0 => Expr::IsNotNull(Box::new(of(m, key))),
                1 => Expr::IsNull(Box::new(of(m, key))),
                _ => {
                    let value = property(self.random, key).unwrap_or(V::Null);
                    binary(Op::Equal, of(m, key), Expr::Literal(value))
                }
            };
            filter = binary(Op::And, filter, more);
        }
        let found = single(node(m, Some(label)));
        vec![
            matching(vec![found], Some(filter)),
            returning(vec![(of(m, "uid"), "c")]),
        ]
    }

    /// Paths that are selected before the condition is judged.
    pub(super) fn selected(&mut self, start: NodePattern) -> Vec<Clause> {
        let direction = self.any_direction();
        let rel = self.rel(None, Length::Braces(1, 3), direction, false);
        let label = self.maybe_label();
        let found = Path {
            var: Some("p".to_owned()),
            shape: Shape::Groups(1 + self.random.below(2)),
            ..path(start, vec![(rel, node("w", label))])
        };
        let size = Expr::Call("length", vec![var("p")]);
        let filter = match self.random.below(5) {
            0 => Some(binary(Op::Greater, size.clone(), int(1))),
            1..=3 => {
                use crate::query::Quantifier::{All, None};
                let rels = Expr::Call("relationships", vec![var("p")]);
                let holds = match self.random.chance(70) {
                    true => {
                        let rest = binary(Op::Modulo, of("each", "uid"), int(2));
                        binary(Op::Equal, rest, int(0))
                    }
                    false => binary(Op::Greater, of("each", "a"), int(1)),
                };
                Some(Expr::Quantified(
                    *self.random.pick(&[All, None]),
                    "each".to_owned(),
                    Box::new(rels),
                    Box::new(holds),
                ))
            }
            _ => None,
        };
        vec![
            matching(vec![found], filter),
            returning(vec![(of("w", "uid"), "u"), (size, "c")]),
        ]
    }

    /// The first rows of an order that decides everything, some of them left out.
    pub(super) fn first_rows(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let hop = self.hop(node("b", None));
        let rel = RelPattern {
            var: Some("r".to_owned()),
            ..hop.0
        };
        let found = matching(vec![path(start, vec![(rel, hop.1)])], None);
        let items = columns(vec![
            (of(n, "uid"), "u"),
            (of("r", "uid"), "w"),
            (of("b", "uid"), "c"),
        ]);
        let by = vec![of(n, "uid"), of("r", "uid"), of("b", "uid")];
        vec![found, Clause::Return(self.cut(items, by))]
    }

    /// A subquery that fails, or takes long, where another condition does not hold.
    pub(super) fn guarded(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let hop = self.hop(node("x", None));
        let key = *self.random.pick(&["a", "uid"]);
        let fails = binary(Op::Divide, int(6), of(n, key));
        let inner = path(bare(n.to_owned()), vec![hop]);
        let inner = Expr::Exists(
            vec![inner],
            Some(Box::new(binary(Op::Equal, fails, int(1)))),
        );
        let guard = match self.random.chance(50) {
            true => binary(Op::Different, of(n, key), int(0)),
            false => binary(Op::Greater, of(n, key), int(self.random.between(0, 3))),
        };
        let inner = match self.random.chance(40) {
            true => Expr::Not(Box::new(inner)),
            false => inner,
        };
        let filter = match self.random.below(3) {
            0 => binary(Op::Or, Expr::Not(Box::new(guard)), inner),
            _ => binary(Op::And, guard, inner),
        };
        vec![
            matching(vec![single(start)], Some(filter)),
            returning(vec![(of(n, "uid"), "c")]),
        ]
    }

    /// Conditions on relationships and ends.
    pub(super) fn with_condition(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let (length, direction) = match self.random.chance(30) {
            true => (self.star(), self.any_direction()),
            false => (Length::One, self.any_direction()),
        };
        let single_rel = length == Length::One;
        let mut rel = self.rel(single_rel.then_some("r"), length, direction, false);
        let value = property(self.random, "a").unwrap_or(V::Null);
        let mut filter = None;
        match single_rel {
            true => {
                let op = *self.random.pick(&[Op::Equal, Op::Less, Op::Different]);
                let right = match self.random.chance(50) {
                    true => Expr::Literal(value),
                    false => of(n, "a"),
                };
                filter = Some(binary(op, of("r", "a"), right));
            }
            false => rel.properties = vec![("a", Expr::Literal(value))],
        }
        let label = self.maybe_label();
        vec![
            matching(vec![path(start, vec![(rel, node("b", label))])], filter),
            returning(vec![(of(n, "uid"), "u"), (of("b", "uid"), "c")]),
        ]
    }
}

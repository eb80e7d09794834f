//! Short statements that touch a few things, for transactions that run at once.
//!
//! # How it works
//! Nodes are found by `uid`, by an indexed property, by label, or all of them; there are few, so
//! that two transactions meet often. [`apart`] does the opposite: what it touches belongs to one
//! number, and is found by it.

use super::{bare, projection, single};
use crate::graph::{LABELS, TYPES, property};
use crate::query::{
    Aggregate, Change, Clause, Direction, Expr, Labels, Length, NodePattern, Op, Path, Query,
    RelPattern, Shape,
};
use crate::random::Random;
use crate::value::V;

/// Labels and types that no graph begins with: a statement is the first to use one.
const RARE_LABELS: &[&str] = &["D", "E", "F", "G"];
const RARE_TYPES: &[&str] = &["U", "V", "W", "X"];

fn int(value: i64) -> Expr {
    Expr::Literal(V::Int(value))
}

fn var(name: &str) -> Expr {
    Expr::Var(name.to_owned())
}

fn of(name: &str, key: &'static str) -> Expr {
    Expr::Property(Box::new(var(name)), key)
}

fn node(name: &str, labels: Labels, properties: Vec<(&'static str, Expr)>) -> NodePattern {
    NodePattern {
        var: Some(name.to_owned()),
        labels,
        properties,
    }
}

fn rel(name: Option<&str>, types: Vec<&'static str>, direction: Direction) -> RelPattern {
    RelPattern {
        var: name.map(str::to_owned),
        types,
        direction,
        length: Length::One,
        properties: Vec::new(),
    }
}

fn step(start: NodePattern, rel: RelPattern, end: NodePattern) -> Path {
    Path {
        steps: vec![(rel, end)],
        ..single(start)
    }
}

fn matching(paths: Vec<Path>, filter: Option<Expr>) -> Clause {
    Clause::Match {
        optional: false,
        paths,
        filter,
    }
}

fn returning(expr: Expr) -> Clause {
    Clause::Return(projection::of_one(expr, "it".to_owned()))
}

fn counted() -> Clause {
    Clause::Return(projection::count_rows("it".to_owned()))
}

fn query(clauses: Vec<Clause>) -> Query {
    Query {
        branches: vec![clauses],
        all: true,
    }
}

/// A statement that touches a few of the nodes that all statements touch.
pub(crate) fn touching(random: &mut Random) -> Query {
    let mut touching = Touching { random };
    match touching.random.chance(50) {
        true => touching.read(),
        false => touching.write(),
    }
}

struct Touching<'a> {
    random: &'a mut Random,
}

impl Touching<'_> {
    fn label(&mut self) -> &'static str {
        let labels = match self.random.chance(10) {
            true => RARE_LABELS,
            false => LABELS,
        };
        self.random.pick::<&str>(labels)
    }

    fn kind(&mut self) -> &'static str {
        let kinds = match self.random.chance(10) {
            true => RARE_TYPES,
            false => TYPES,
        };
        self.random.pick::<&str>(kinds)
    }

    fn key(&mut self) -> &'static str {
        self.random.pick::<&str>(&["a", "f", "s", "m"])
    }

    /// Few of the nodes, mostly one.
    fn few(&mut self, name: &str) -> NodePattern {
        let number = self.random.between(0, 3);
        match self.random.below(6) {
            0..=2 => node(name, Labels::Any, vec![("uid", int(number))]),
            3 | 4 => {
                let label = Labels::All(vec![self.label()]);
                node(name, label, vec![("a", int(number))])
            }
            _ => node(name, Labels::All(vec![self.label()]), Vec::new()),
        }
    }

    /// One type, two, or any.
    fn kinds(&mut self) -> Vec<&'static str> {
        match self.random.below(5) {
            0 | 1 => Vec::new(),
            2 => vec!["R", "T"],
            _ => vec![self.kind()],
        }
    }

    fn direction(&mut self) -> Direction {
        *self
            .random
            .pick(&[Direction::Out, Direction::In, Direction::Both])
    }

    fn around(&mut self) -> Path {
        let start = self.few("n");
        let (kinds, direction) = (self.kinds(), self.direction());
        let end = match self.random.chance(70) {
            true => bare("m".to_owned()),
            false => node("m", Labels::All(vec![self.label()]), Vec::new()),
        };
        step(start, rel(Some("r"), kinds, direction), end)
    }

    fn read(&mut self) -> Query {
        let number = self.random.between(0, 3);
        let label = self.label();
        let labelled = || single(node("n", Labels::All(vec![label]), Vec::new()));
        query(match self.random.below(16) {
            0 => vec![
                matching(vec![single(self.few("n"))], None),
                returning(var("n")),
            ],
            1 => {
                let key = self.key();
                vec![
                    matching(vec![single(self.few("n"))], None),
                    returning(of("n", key)),
                ]
            }
            2 => vec![matching(vec![labelled()], None), counted()],
            3 => vec![
                matching(vec![single(bare("n".to_owned()))], None),
                counted(),
            ],
            4 => vec![matching(vec![self.around()], None), counted()],
            5 => vec![matching(vec![self.around()], None), returning(var("r"))],
            6 => vec![matching(vec![self.around()], None), returning(of("m", "a"))],
            7 => {
                let mut path = self.around();
                path.steps[0].0.var = None;
                let low = self.random.below(2);
                path.steps[0].0.length = Length::Star(low, 1 + self.random.below(3));
                vec![matching(vec![path], None), counted()]
            }
            8 => {
                let ends = rel(Some("r"), self.kinds(), Direction::Out);
                let path = step(bare("n".to_owned()), ends, bare("m".to_owned()));
                vec![matching(vec![path], None), counted()]
            }
            9 => {
                let op = *self
                    .random
                    .pick(&[Op::Greater, Op::Less, Op::Equal, Op::GreaterOrEqual]);
                let key = *self.random.pick(&["a", "m", "uid"]);
                let filter = Expr::Binary(op, Box::new(of("n", key)), Box::new(int(number)));
                vec![
                    matching(vec![labelled()], Some(filter)),
                    returning(var("n")),
                ]
            }
            10 => {
                let path = self.around();
                let start = path.start.clone();
                let inner = Path {
                    start: bare("n".to_owned()),
                    ..path
                };
                let exists = Expr::Exists(vec![inner], None);
                vec![matching(vec![single(start)], None), returning(exists)]
            }
            11 => {
                let has = Expr::HasLabel(Box::new(var("n")), label);
                vec![matching(vec![single(self.few("n"))], None), returning(has)]
            }
            12 => {
                let key = self.key();
                let sum = Expr::Aggregate(Aggregate::Count, false, Some(Box::new(of("n", key))));
                vec![matching(vec![labelled()], None), returning(sum)]
            }
            13 => {
                let along = RelPattern {
                    length: Length::Star(1, 3),
                    ..rel(None, self.kinds(), self.direction())
                };
                let path = Path {
                    var: Some("p".to_owned()),
                    shape: Shape::AllShortest,
                    ..step(bare("n".to_owned()), along, bare("m".to_owned()))
                };
                let ends = vec![single(self.few("n")), single(self.few("m"))];
                let differ = Expr::Binary(
                    Op::Different,
                    Box::new(of("n", "uid")),
                    Box::new(of("m", "uid")),
                );
                vec![
                    matching(ends, Some(differ)),
                    matching(vec![path], None),
                    counted(),
                ]
            }
            14 => {
                let optional = Clause::Match {
                    optional: true,
                    paths: vec![self.around()],
                    filter: None,
                };
                vec![optional, returning(of("m", "uid"))]
            }
            _ => {
                let count = Expr::CountOf(vec![self.around()], None);
                vec![
                    Clause::Unwind(Expr::List(vec![int(1)]), "u".to_owned()),
                    returning(count),
                ]
            }
        })
    }

    fn change(&mut self, name: &str) -> Change {
        let (name, key) = (name.to_owned(), self.key());
        let value = property(self.random, key).unwrap_or(V::Null);
        match self.random.below(9) {
            0 | 1 => Change::Set(name, key, value),
            2 | 3 => Change::Set(name, "a", V::Int(self.random.between(0, 3))),
            4 => Change::Increase(name, "a", 1),
            5 => Change::Label(name, self.label()),
            6 => Change::RemoveLabel(name, self.label()),
            7 => Change::RemoveProperty(name, key),
            _ => Change::Add(name, key, value),
        }
    }

    fn new_node(&mut self, value: Expr) -> NodePattern {
        NodePattern {
            var: None,
            ..node("", Labels::All(vec![self.label()]), vec![("a", value)])
        }
    }

    fn write(&mut self) -> Query {
        let number = self.random.between(0, 3);
        let kind = self.kind();
        let out = |name| rel(name, vec![kind], Direction::Out);
        query(match self.random.below(15) {
            0..=3 => {
                let change = self.change("n");
                vec![
                    matching(vec![single(self.few("n"))], None),
                    Clause::Change(vec![change]),
                ]
            }
            4 => vec![Clause::Create(vec![single(self.new_node(int(number)))])],
            5 => {
                let ends = vec![single(self.few("n")), single(self.few("m"))];
                let path = step(bare("n".to_owned()), out(None), bare("m".to_owned()));
                vec![matching(ends, None), Clause::Create(vec![path])]
            }
            6 => {
                let path = step(bare("n".to_owned()), out(None), self.new_node(int(number)));
                vec![
                    matching(vec![single(self.few("n"))], None),
                    Clause::Create(vec![path]),
                ]
            }
            7 => {
                let delete = Clause::Delete {
                    detach: false,
                    vars: vec!["r".to_owned()],
                };
                vec![matching(vec![self.around()], None), delete]
            }
            8 => {
                let delete = Clause::Delete {
                    detach: self.random.chance(70),
                    vars: vec!["n".to_owned()],
                };
                vec![matching(vec![single(self.few("n"))], None), delete]
            }
            9 | 10 => {
                let label = Labels::All(vec![self.label()]);
                let set = |value| vec![Change::Set("n".to_owned(), "m", V::Int(value))];
                vec![Clause::Merge {
                    path: single(node("n", label, vec![("a", int(number))])),
                    on_create: set(7),
                    on_match: match self.random.chance(50) {
                        true => set(8),
                        false => Vec::new(),
                    },
                }]
            }
            11 => {
                let ends = vec![single(self.few("n")), single(self.few("m"))];
                let path = step(bare("n".to_owned()), out(Some("r")), bare("m".to_owned()));
                let merge = Clause::Merge {
                    path,
                    on_create: Vec::new(),
                    on_match: Vec::new(),
                };
                vec![matching(ends, None), merge]
            }
            12 => {
                let counted = match self.random.chance(50) {
                    true => self.around(),
                    false => single(node("n", Labels::All(vec![self.label()]), Vec::new())),
                };
                vec![
                    matching(vec![counted], None),
                    Clause::With(projection::count_rows("c".to_owned())),
                    Clause::Create(vec![single(self.new_node(var("c")))]),
                ]
            }
            13 => {
                let copied = self.new_node(of("n", "a"));
                vec![
                    matching(vec![single(self.few("n"))], None),
                    Clause::Create(vec![single(copied)]),
                ]
            }
            _ => {
                let value = V::Int(number);
                let change = Change::Set("r".to_owned(), "a", value);
                vec![
                    matching(vec![self.around()], None),
                    Clause::Change(vec![change]),
                ]
            }
        })
    }
}

/// A statement about the node `A` with this `uid`, what hangs on it, and new things. The `uid` is
/// indexed.
pub(crate) fn apart(random: &mut Random, uid: i64) -> Query {
    let own = || node("n", Labels::All(vec!["A"]), vec![("uid", int(uid))]);
    let found = || matching(vec![single(own())], None);
    let kind: &'static str = random.pick::<&str>(TYPES);
    let label: &'static str = random.pick::<&str>(LABELS);
    let value = random.between(0, 3);
    let out = |name| rel(name, vec![kind], Direction::Out);
    let new = || NodePattern {
        var: None,
        ..node("", Labels::All(vec![label]), vec![("a", int(value))])
    };
    let around = |kinds| {
        let rel = rel(Some("r"), kinds, Direction::Both);
        matching(vec![step(own(), rel, bare("m".to_owned()))], None)
    };
    query(match random.below(13) {
        12 => {
            let delete = Clause::Delete {
                detach: true,
                vars: vec!["n".to_owned()],
            };
            vec![found(), delete]
        }
        0 => vec![found(), returning(var("n"))],
        1 => vec![found(), returning(of("n", "a"))],
        2 => vec![around(vec![kind]), counted()],
        3 => vec![around(Vec::new()), returning(var("r"))],
        4 => vec![Clause::Create(vec![single(new())])],
        5 => {
            let path = step(bare("n".to_owned()), out(None), new());
            vec![found(), Clause::Create(vec![path])]
        }
        6 => {
            let change = Change::Set("n".to_owned(), "a", V::Int(value));
            vec![found(), Clause::Change(vec![change])]
        }
        7 => {
            let change = Change::Label("n".to_owned(), label);
            vec![found(), Clause::Change(vec![change])]
        }
        8 => {
            let path = step(new(), out(None), new());
            vec![Clause::Create(vec![path])]
        }
        9 => vec![Clause::Merge {
            path: single(own()),
            on_create: Vec::new(),
            on_match: vec![Change::Increase("n".to_owned(), "a", 1)],
        }],
        10 => {
            let change = Change::Set("r".to_owned(), "a", V::Int(value));
            vec![around(vec![kind]), Clause::Change(vec![change])]
        }
        _ => {
            let path = step(bare("n".to_owned()), out(Some("r")), bare("n".to_owned()));
            let merge = Clause::Merge {
                path,
                on_create: Vec::new(),
                on_match: Vec::new(),
            };
            vec![found(), merge]
        }
    })
}

//! Bodies with values that are others each time, of which the answer is certain all the same.
//!
//! # How it works
//! The values are never seen. What is seen is how often they were made: how many of them differ,
//! how many groups they make, and in how many matches a condition holds that is true half of the
//! time. Such a condition is asked in a hundred tries. If it is decided once for all matches, or
//! for those of one start, each try lets the same number of them through; otherwise two tries
//! differ, but for one chance in a thousand thousand million.

use super::super::Generator;
use super::*;
use crate::query::{Group, Quantifier};

/// Bodies that there are.
pub(super) const FORMS: usize = 14;

/// The first ones, of which no match may be optional: in how many tries none passes is open.
pub(super) const DECIDING: usize = 4;

/// So often a condition is asked.
const TRIES: i64 = 100;

fn truth(is: bool) -> Box<Expr> {
    Box::new(Expr::Literal(V::Bool(is)))
}

/// True so often.
fn below(share: f64) -> Expr {
    let share = Expr::Literal(V::Float(share));
    binary(Op::Less, Expr::Random(0), share)
}

/// Zero or one, each half of the time.
fn zero_or_one() -> Expr {
    let twice = binary(Op::Times, Expr::Random(0), int(2));
    Expr::Call("toInteger", vec![twice])
}

fn tries() -> Clause {
    let all = Expr::Call("range", vec![int(1), int(TRIES)]);
    Clause::Unwind(all, "i".to_owned())
}

fn query(clauses: Vec<Clause>) -> Box<Query> {
    Box::new(Query {
        branches: vec![clauses],
        all: true,
    })
}

/// The names themselves, and what else there is.
fn keeping<'n>(names: impl IntoIterator<Item = &'n str>, more: Vec<(Expr, &'n str)>) -> Clause {
    let names = names.into_iter();
    let mut items: Vec<(Expr, &str)> = names.map(|name| (var(name), name)).collect();
    items.extend(more);
    with(items)
}

/// How many values differ, and how many rows there are; for each `by`, if there is one.
fn differing(by: Option<&str>) -> Clause {
    let mut items = vec![(count(true, "r"), "d"), (counted_rows(), "m")];
    items.extend(by.map(|by| (of(by, "uid"), "k")));
    returning(items)
}

impl Generator<'_> {
    /// The body of this number.
    pub(super) fn drawn(&mut self, form: usize, start: NodePattern, n: &str) -> Vec<Clause> {
        match form {
            0 | 1 => self.decided_for_each(start, n),
            2 => self.repeated_for_each(start, n),
            3 => self.compared_for_each(start, n),
            4 => self.optional_for_each(start, n),
            5 => self.counted_for_each(start, n),
            6 => self.random_groups(start, n),
            7 => self.halves(start, n),
            8 => self.made_once(start, n),
            9 => self.made_for_each(start, n),
            10 => self.listed_for_each(start, n),
            11 => self.called_for_each(start, n),
            12 => self.in_any_order(start, n),
            _ => self.written_for_each(start, n),
        }
    }

    fn another(&mut self) -> Expr {
        Expr::Random(self.random.below(3) as u8)
    }

    /// True half of the time.
    fn half(&mut self) -> Expr {
        let name = self.name();
        let list = Box::new(Expr::List(vec![int(1)]));
        let lower = below(0.5);
        let one_row = |name: &str| {
            let mut kept = columns(vec![(var(name), name)]);
            kept.filter = Some(below(0.5));
            query(vec![
                Clause::Unwind(Expr::List(vec![int(1)]), name.to_owned()),
                Clause::With(kept),
                returning(vec![(var(name), name)]),
            ])
        };
        match self.random.below(10) {
            0 => Expr::Not(Box::new(lower)),
            1 => binary(Op::Equal, zero_or_one(), int(1)),
            2 => Expr::Case(Box::new(lower), truth(true), truth(false)),
            3 => Expr::Quantified(Quantifier::Any, name, list, Box::new(lower)),
            4 => {
                let some = Expr::Comprehension(name, list, Some(Box::new(lower)), None);
                binary(Op::Equal, Expr::Call("size", vec![some]), int(1))
            }
            5 => Expr::Sub(Sub::Exists, one_row(&name)),
            6 => binary(Op::Equal, Expr::Sub(Sub::Count, one_row(&name)), int(1)),
            7 => {
                let [of, value] = [zero_or_one(), int(1)].map(Box::new);
                Expr::Choice(of, value, truth(true), truth(false))
            }
            _ => lower,
        }
    }

    /// As [`Self::half`], of matches that have the node `n`, which may have to have others.
    fn half_of(&mut self, n: &str) -> Expr {
        let half = self.half();
        if !self.random.chance(25) {
            return half;
        }
        let other = bare(self.name());
        let step = self.hop(other);
        let mut kept = columns(vec![(var(n), n)]);
        (kept.distinct, kept.filter) = (true, Some(half));
        let clauses = vec![
            matching(vec![path(bare(n.to_owned()), vec![step])], None),
            Clause::With(kept),
            returning(vec![(of(n, "uid"), "e")]),
        ];
        Expr::Sub(Sub::Exists, query(clauses))
    }

    /// The condition, with one that is the same each time beside it.
    fn beside(&mut self, condition: Expr, names: &[String]) -> Expr {
        if self.random.chance(60) {
            return condition;
        }
        let name = self.random.pick(names).clone();
        let key = *self.random.pick(&["a", "uid"]);
        let op = *self
            .random
            .pick(&[Op::GreaterOrEqual, Op::LessOrEqual, Op::Different]);
        let other = binary(op, of(&name, key), int(self.random.between(0, 3)));
        match self.random.chance(50) {
            true => binary(Op::And, condition, other),
            false => binary(Op::And, other, condition),
        }
    }

    /// A few relationships from the start, and the names of the nodes.
    fn found(&mut self, start: NodePattern, n: &str, steps: usize) -> (Path, Vec<String>) {
        let start = match self.random.chance(75) {
            true => self.known(start),
            false => start,
        };
        let mut names = vec![n.to_owned()];
        let mut found = Vec::new();
        for name in ["t", "u"].into_iter().take(steps) {
            let label = self.maybe_label();
            let mut step = self.hop(node(name, label));
            if self.random.chance(25) {
                step.0.length = self.star();
            }
            found.push(step);
            names.push(name.to_owned());
        }
        (path(start, found), names)
    }

    fn one_or_none(&mut self, names: &[String]) -> Option<String> {
        self.random
            .chance(75)
            .then(|| self.random.pick(names).clone())
    }

    /// Whether the number is another one in some try.
    fn numbers_differ(&mut self, by: Option<&str>, number: Expr) -> Vec<Clause> {
        let several = binary(Op::Greater, count(true, "c"), int(1));
        let mut items = vec![(several, "d")];
        items.extend(by.map(|by| (of(by, "uid"), "k")));
        let names = ["i"].into_iter().chain(by);
        vec![keeping(names, vec![(number, "c")]), returning(items)]
    }

    fn decided_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(3);
        let (path, names) = self.found(start, n, steps);
        let half = self.half_of(n);
        let condition = self.beside(half, &names);
        let mut clauses = vec![tries()];
        match self.random.chance(75) {
            true => clauses.push(matching(vec![path], Some(condition))),
            false => {
                clauses.push(matching(vec![path], None));
                clauses.push(Clause::Filter(condition));
            }
        }
        let by = self.one_or_none(&names);
        clauses.extend(self.numbers_differ(by.as_deref(), counted_rows()));
        clauses
    }

    fn optional_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let start = self.known(start);
        let (more, mut names) = self.found(bare(n.to_owned()), n, 1);
        let half = self.half();
        names.retain(|name| name != n);
        let condition = self.beside(half, &names);
        let mut clauses = vec![
            tries(),
            matching(vec![single(start)], None),
            Clause::Match {
                optional: true,
                paths: vec![more],
                filter: Some(condition),
            },
        ];
        clauses.extend(self.numbers_differ(Some(n), count(false, "t")));
        clauses
    }

    fn counted_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let start = self.known(start);
        let (mut rel, end) = self.hop(node("t", None));
        if self.random.chance(25) {
            rel.length = self.star();
        }
        let found = path(bare(n.to_owned()), vec![(rel, end)]);
        let half = Some(Box::new(self.half()));
        let number = match self.random.below(3) {
            0 => {
                let item = Box::new(of("t", "uid"));
                let list = Expr::PatternComprehension(Box::new(found), half, item);
                Expr::Call("size", vec![list])
            }
            1 => {
                let list = Expr::CollectOf(vec![found], half, Box::new(of("t", "uid")));
                Expr::Call("size", vec![list])
            }
            _ => Expr::CountOf(vec![found], half),
        };
        let mut clauses = vec![tries(), matching(vec![single(start)], None)];
        clauses.extend(self.numbers_differ(Some(n), number));
        clauses
    }

    /// Conditions on each relationship of several, or on each of several repeated patterns.
    fn repeated_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let start = self.known(start);
        let high = 1 + self.random.below(2);
        let lists = self.random.chance(50);
        let length = match lists {
            true => Length::Star(1, high),
            false => Length::Group(Box::new(Group {
                start: node("x", None),
                steps: vec![self.hop(node("y", None))],
                filter: Some(below(0.7)),
                low: 1,
                high,
            })),
        };
        let direction = self.any_direction();
        let rel = self.rel(lists.then_some("l"), length, direction, false);
        let filter = lists.then(|| {
            let list = Box::new(var("l"));
            Expr::Quantified(Quantifier::All, self.name(), list, Box::new(below(0.7)))
        });
        let found = path(start, vec![(rel, node("t", None))]);
        let mut clauses = vec![tries(), matching(vec![found], filter)];
        let by = self.one_or_none(&[n.to_owned(), "t".to_owned()]);
        clauses.extend(self.numbers_differ(by.as_deref(), counted_rows()));
        clauses
    }

    /// A property that is compared with a random value, which an index must not be asked for.
    fn compared_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let key = *self.random.pick(&["uid", "uid", "a"]);
        let mut start = start;
        let value = zero_or_one();
        let filter = match self.random.below(4) {
            0 => {
                start.properties.push((key, value));
                None
            }
            1 => Some(binary(Op::In, of(n, key), Expr::List(vec![value]))),
            2 => Some(binary(Op::Equal, value, of(n, key))),
            _ => Some(binary(Op::Equal, of(n, key), value)),
        };
        let mut clauses = vec![tries(), matching(vec![single(start)], filter)];
        clauses.extend(self.numbers_differ(None, counted_rows()));
        clauses
    }

    /// A group for each match, of which one node has many.
    fn random_groups(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = 1 + self.random.below(2);
        let (mut path, names) = self.found(start, n, steps);
        path.start.properties.clear();
        let by = self.one_or_none(&names);
        let mut grouped: Vec<(Expr, &str)> = vec![(self.another(), "r")];
        let distinct = self.random.chance(40);
        if !distinct {
            grouped.push((counted_rows(), "c"));
        }
        grouped.extend(by.as_deref().map(|by| (var(by), by)));
        let mut grouped = columns(grouped);
        grouped.distinct = distinct;
        let clauses = vec![matching(vec![path], None), Clause::With(grouped)];
        let mut last = vec![(counted_rows(), "m")];
        last.extend(by.as_deref().map(|by| (of(by, "uid"), "k")));
        clauses.into_iter().chain([returning(last)]).collect()
    }

    /// Two groups of all tries.
    fn halves(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(2);
        let (path, names) = self.found(start, n, steps);
        let by = self.one_or_none(&names);
        let mut last = vec![(counted_rows(), "m")];
        last.extend(by.as_deref().map(|by| (of(by, "uid"), "k")));
        let half = self.half();
        vec![
            tries(),
            matching(vec![path], None),
            keeping(by.as_deref(), vec![(half, "b"), (counted_rows(), "c")]),
            returning(last),
        ]
    }

    /// A value that later clauses find for each row: it stays what it is.
    fn made_once(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let start = self.known(start);
        let another = self.another();
        let steps = 1 + self.random.below(2);
        let (more, _) = self.found(bare(n.to_owned()), n, steps);
        let mut first = columns(vec![(var(n), n), (another, "r")]);
        match self.random.below(4) {
            0 => first.order = vec![(var("r"), self.random.chance(50))],
            1 => first.filter = Some(Expr::IsNotNull(Box::new(var("r")))),
            _ => {}
        }
        let mut clauses = vec![matching(vec![single(start)], None), Clause::With(first)];
        let same = binary(Op::Equal, var("r"), var("q"));
        match self.random.below(3) {
            0 => {
                let mut twice = columns(vec![(var(n), n), (var("r"), "r"), (var("r"), "q")]);
                twice.filter = self.random.chance(50).then(|| same.clone());
                clauses.push(Clause::With(twice));
                clauses.push(matching(vec![more], Some(same)));
            }
            1 => {
                let inner = vec![matching(vec![more], None), returning(vec![(var("r"), "q")])];
                clauses.push(Clause::Call(Call {
                    optional: false,
                    import: Import::Listed,
                    given: vec![n.to_owned(), "r".to_owned()],
                    query: *query(inner),
                    rows_each: None,
                }));
                clauses.push(Clause::Filter(same));
            }
            _ => clauses.push(Clause::Match {
                optional: self.random.chance(40),
                paths: vec![more],
                filter: None,
            }),
        }
        clauses.push(differing(Some(n)));
        clauses
    }

    /// A value for each match.
    fn made_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(3);
        let (path, names) = self.found(start, n, steps);
        let by = self.random.pick(&names).clone();
        let made = keeping([&*by], vec![(self.another(), "r")]);
        vec![matching(vec![path], None), made, differing(Some(&by))]
    }

    /// A value for each item of a list, which is made for each row.
    fn listed_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(2);
        let (path, _) = self.found(start, n, steps);
        let another = Box::new(self.another());
        let step = self.hop(bare("w1".to_owned()));
        let near = super::path(bare(n.to_owned()), vec![step]);
        let list = match self.random.below(3) {
            0 => Expr::PatternComprehension(Box::new(near), None, another),
            1 => Expr::CollectOf(vec![near], None, another),
            _ => {
                let range = Expr::Call("range", vec![int(1), int(3)]);
                Expr::Comprehension(self.name(), Box::new(range), None, Some(another))
            }
        };
        let mut clauses = vec![matching(vec![path], None)];
        match self.random.chance(50) {
            true => clauses.push(Clause::Unwind(list, "r".to_owned())),
            false => {
                clauses.push(keeping([n], vec![(list, "l")]));
                clauses.push(Clause::Unwind(var("l"), "r".to_owned()));
            }
        }
        clauses.push(differing(Some(n)));
        clauses
    }

    /// A value of a subquery, which runs for each row.
    fn called_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(3);
        let (path, _) = self.found(start, n, steps);
        let mut inner = vec![returning(vec![(self.another(), "r")])];
        let given = self.random.chance(60);
        if given && self.random.chance(50) {
            let step = self.hop(bare("w1".to_owned()));
            let near = super::path(bare(n.to_owned()), vec![step]);
            inner.insert(0, matching(vec![near], None));
        }
        let call = Clause::Call(Call {
            optional: self.random.chance(30),
            import: Import::Listed,
            given: given.then(|| n.to_owned()).into_iter().collect(),
            query: *query(inner),
            rows_each: None,
        });
        vec![matching(vec![path], None), call, differing(Some(n))]
    }

    /// Some rows, whichever they are.
    fn in_any_order(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(2);
        let (path, _) = self.found(start, n, steps);
        let another = self.another();
        let mut kept = match self.random.chance(50) {
            true => columns(vec![(var(n), n)]),
            false => columns(vec![(var(n), n), (another.clone(), "r")]),
        };
        kept.order = vec![(another, self.random.chance(50))];
        let mut last = vec![(counted_rows(), "m")];
        match self.random.chance(50) {
            true => {
                kept.skip = self.random.chance(30).then(|| self.random.below(3));
                kept.limit = Some(self.random.below(5));
            }
            false => last.push((of(n, "uid"), "k")),
        }
        vec![
            matching(vec![path], None),
            Clause::With(kept),
            returning(last),
        ]
    }

    /// A value for each node, relationship or row that is written, which is gone afterwards.
    fn written_for_each(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let steps = self.random.below(2);
        let (path, _) = self.found(start, n, steps);
        let text = Expr::Random(1 + self.random.below(2) as u8);
        let found = matching(vec![path], None);
        let made = single(NodePattern {
            properties: vec![("s", text.clone())],
            ..node("z", Some(self.label()))
        });
        let read = keeping(["z"], vec![(of("z", "s"), "r")]);
        let gone = Clause::Delete {
            detach: true,
            vars: vec!["z".to_owned()],
        };
        match self.random.below(3) {
            0 => {
                let set = Change::Compute(n.to_owned(), "s", Box::new(text));
                vec![
                    found,
                    Clause::Change(vec![set]),
                    keeping([n], vec![(of(n, "s"), "r")]),
                    Clause::Change(vec![Change::RemoveProperty(n.to_owned(), "s")]),
                    differing(None),
                ]
            }
            1 => vec![
                found,
                Clause::Create(vec![made]),
                read,
                gone,
                differing(None),
            ],
            _ => {
                let merged = Clause::Merge {
                    path: made,
                    on_create: Vec::new(),
                    on_match: Vec::new(),
                };
                vec![found, merged, read, gone, differing(None)]
            }
        }
    }
}

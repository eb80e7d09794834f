//! Bodies in which rows could meet what is done for other rows.

use super::super::Generator;
use super::*;

impl Generator<'_> {
    /// A write, and behind it two parts that an equality joins: each of them may find what was
    /// written, so neither is found before that.
    pub(super) fn joined_later(&mut self) -> Vec<Clause> {
        let key = *self.random.pick(&["a", "s", "m"]);
        let value = loop {
            if let Some(value) = property(self.random, key) {
                break value;
            }
        };
        let label = self.label();
        let first = matching(vec![single(node("w", None))], None);
        let write = match self.random.below(3) {
            0 => Clause::Change(vec![Change::Set("w".to_owned(), key, value)]),
            1 => Clause::Change(vec![Change::Label("w".to_owned(), label)]),
            _ => {
                let made = NodePattern {
                    var: None,
                    properties: vec![(key, Expr::Literal(value))],
                    ..node("", Some(label))
                };
                Clause::Create(vec![single(made)])
            }
        };
        self.created = true;
        let ends = [node("n", None), node("m", Some(label))];
        let both = binary(Op::Equal, of("n", key), of("m", key));
        let last = match self.random.chance(50) {
            true => vec![(of("n", "uid"), "u"), (of("m", "uid"), "c")],
            false => vec![(count(false, "n"), "c")],
        };
        vec![
            first,
            write,
            with(vec![(count(true, "w"), "ws")]),
            matching(ends.map(single).to_vec(), Some(both)),
            returning(last),
        ]
    }

    /// Two nodes a row, each in several rows: one is read, one changed, one changed again, one read
    /// behind that. All rows write the same, so their order decides nothing.
    pub(super) fn changed(&mut self, start: NodePattern, n: &str) -> Vec<Clause> {
        let direction = self.any_direction();
        let rel = self.rel(None, Length::One, direction, false);
        let label = self.maybe_label();
        let end = node("b", label);
        let mut clauses = vec![matching(vec![path(start, vec![(rel, end)])], None)];
        let key = *self.random.pick(&["a", "s", "m", "f"]);
        let label = self.label();
        let by_label = self.random.chance(30);
        let read = |name: &str| match by_label {
            true => Expr::HasLabel(Box::new(var(name)), label),
            false => of(name, key),
        };
        let either = |g: &mut Self| if g.random.chance(50) { n } else { "b" }.to_owned();
        let before = self.random.chance(60);
        if before {
            let old = read(&either(self));
            clauses.push(with(vec![(var(n), n), (var("b"), "b"), (old, "old")]));
        }
        let mut gone = false;
        for number in 0..=usize::from(self.random.chance(60)) {
            let name = either(self);
            if number == 1 && !before && self.random.chance(30) {
                clauses.push(Clause::Delete {
                    detach: true,
                    vars: vec![name],
                });
                gone = true;
                continue;
            }
            let value = property(self.random, key);
            clauses.push(Clause::Change(vec![match (by_label, value) {
                (true, Some(_)) => Change::Label(name, label),
                (true, None) => Change::RemoveLabel(name, label),
                (false, Some(value)) => Change::Set(name, key, value),
                (false, None) => Change::RemoveProperty(name, key),
            }]));
        }
        let mut last = vec![(counted_rows(), "c")];
        if before {
            last.push((var("old"), "old"));
        }
        let now = read(&either(self));
        if !gone && self.random.chance(50) {
            last.push((now, "now"));
        }
        clauses.push(returning(last));
        clauses
    }

    /// A subquery that finds what its runs for the rows before have made.
    pub(super) fn accumulated(&mut self) -> Vec<Clause> {
        if self.created {
            // The order of the rows would not be certain.
            return self.changed(node("n", None), "n");
        }
        let label = self.label();
        let key = *self.random.pick(&["a", "s", "f"]);
        let mut first = columns(vec![(var("o"), "o")]);
        first.order = vec![(of("o", "uid"), self.random.chance(50))];
        first.total = true;
        if self.random.chance(40) {
            return self.accumulated_by_foreach(first, label, key);
        }
        let found = Clause::Match {
            optional: self.random.chance(50),
            paths: vec![single(node("m", Some(label)))],
            filter: Some(binary(Op::Equal, of("m", key), of("o", key))),
        };
        let made = NodePattern {
            var: None,
            properties: vec![(key, of("o", key))],
            ..node("", Some(label))
        };
        let inner = vec![
            found,
            with(vec![(count(false, "m"), "c")]),
            Clause::Create(vec![single(made)]),
            returning(vec![(var("c"), "c")]),
        ];
        let call = Clause::Call(Call {
            optional: false,
            import: Import::Listed,
            given: vec!["o".to_owned()],
            query: Query {
                branches: vec![inner],
                all: true,
            },
            rows_each: None,
        });
        vec![
            matching(vec![single(node("o", None))], None),
            Clause::With(first),
            call,
            returning(vec![(of("o", "uid"), "u"), (var("c"), "c")]),
        ]
    }

    /// A `FOREACH` whose list asks what the rows before have made.
    fn accumulated_by_foreach(
        &mut self,
        in_order: Projection,
        label: &'static str,
        key: &'static str,
    ) -> Vec<Clause> {
        let with_key = |name: &str| {
            single(NodePattern {
                var: (!name.is_empty()).then(|| name.to_owned()),
                properties: vec![(key, of("o", key))],
                ..node("", Some(label))
            })
        };
        let none = match self.random.chance(50) {
            true => Expr::Not(Box::new(Expr::Exists(vec![with_key("m")], None))),
            false => binary(Op::Equal, Expr::CountOf(vec![with_key("m")], None), int(0)),
        };
        let [made, nothing] = [vec![int(1)], Vec::new()].map(|items| Box::new(Expr::List(items)));
        let list = Expr::Case(Box::new(none), made, nothing);
        let body = vec![Clause::Create(vec![with_key("")])];
        self.created = true;
        vec![
            matching(vec![single(node("o", None))], None),
            Clause::With(in_order),
            Clause::Foreach("i".to_owned(), list, body),
            with(vec![(counted_rows(), "rows")]),
            matching(vec![single(node("m", Some(label)))], None),
            returning(vec![(var("rows"), "u"), (counted_rows(), "c")]),
        ]
    }
}

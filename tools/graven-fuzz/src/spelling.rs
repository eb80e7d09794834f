//! The same query in other words: what must not matter is changed before the library gets the text.
//!
//! # How it works
//! Patterns are written in the other direction, properties and labels as conditions and the other
//! way round, entries of maps in another order, one `SET` as two; comparisons and functions become
//! their twins, `WITH *` goes in, `WHERE` becomes `FILTER`, keywords and names of functions get
//! other letters. Where no other clause writes, subqueries run in transactions of their own. The
//! interpreter answers the query as it was.

use crate::query::{Change, Clause, Direction, Expr, Labels, Length, Op, Path, Query, Shape};
use crate::random::Random;
use crate::text;
use crate::value::V;
use crate::walk::{self, Place, Visitor};

/// The text of `query`, or of one that means the same. Seed 0 stands for the plain text. One that
/// `succeeds` means the same in several transactions, too.
pub(crate) fn spelled(query: &Query, seed: u64, succeeds: bool) -> String {
    if seed == 0 {
        return text::query(query);
    }
    let mut random = Random::new(seed);
    let mut query = query.clone();
    let mut other = Other {
        letters: random.chance(40),
        random,
    };
    walk::query(&mut query, &mut other);
    if succeeds && other.random.chance(50) {
        in_transactions(&mut query, &mut other.random);
    }
    let text = text::query(&query);
    match other.letters {
        true => letters(&text, &mut other.random),
        false => text,
    }
}

/// Runs subqueries in transactions of their own, of a few rows each.
fn in_transactions(query: &mut Query, random: &mut Random) {
    let [clauses] = &mut query.branches[..] else {
        return;
    };
    let alone = |clause: &Clause| Query {
        branches: vec![vec![clause.clone()]],
        all: true,
    };
    let is_call = |clause: &Clause| matches!(clause, Clause::Call(call) if !call.optional);
    if clauses.iter().any(|it| !is_call(it) && alone(it).writes()) {
        return;
    }
    for clause in clauses {
        if let Clause::Call(call) = clause
            && !call.optional
            && (call.query.writes() || random.chance(50))
        {
            call.rows_each = Some(1 + random.below(3));
        }
    }
}

struct Other {
    random: Random,
    letters: bool,
}

impl Visitor for Other {
    fn clauses(&mut self, clauses: &mut Vec<Clause>) {
        let mut out = Vec::new();
        for mut clause in clauses.drain(..) {
            match &mut clause {
                Clause::Match { paths, filter, .. } if self.random.chance(30) => {
                    outside(paths, filter);
                }
                Clause::Change(changes) if changes.len() > 1 && self.random.chance(50) => {
                    let computed = |c: &Change| matches!(c, Change::Compute(..));
                    if !changes.iter().any(computed) {
                        let last = changes.pop();
                        out.push(clause);
                        out.extend(last.map(|c| Clause::Change(vec![c])));
                        continue;
                    }
                }
                Clause::Change(changes) => {
                    for change in changes {
                        if let Change::Replace(_, entries) = change {
                            entries.reverse();
                        }
                    }
                }
                _ => {}
            }
            // A condition on what is searched for decides what is found; others may come later.
            let later = match &mut clause {
                Clause::Match {
                    optional: false,
                    paths,
                    filter,
                } if self.random.chance(15) => {
                    let plain = paths.iter().all(|path| path.shape == Shape::Plain);
                    filter.take_if(|_| plain)
                }
                _ => None,
            };
            let binds = match &clause {
                Clause::Match { paths, .. } => paths.iter().any(|p| p.start.var.is_some()),
                Clause::Unwind(..) | Clause::With(_) => true,
                _ => false,
            };
            out.push(clause);
            out.extend(later.map(Clause::Filter));
            if binds && self.random.chance(20) {
                out.push(Clause::Star);
            }
        }
        *clauses = out;
    }

    fn path(&mut self, path: &mut Path) {
        if self.random.chance(40) && turns(path) {
            turn(path);
        }
    }

    fn expr(&mut self, expr: &mut Expr, _: Place) {
        if self.random.chance(40) {
            twin(expr);
        }
    }
}

/// Whether the other direction changes nothing that is seen.
fn turns(path: &Path) -> bool {
    let literal = |e: &(&'static str, Expr)| matches!(e.1, Expr::Literal(_));
    path.var.is_none()
        && path.shape == Shape::Plain
        && path.start.properties.iter().all(literal)
        && path.steps.iter().all(|(rel, node)| {
            let listed = rel.length != Length::One && rel.var.is_some();
            !listed
                && !matches!(rel.length, Length::Group(_))
                && rel.properties.iter().all(literal)
                && node.properties.iter().all(literal)
        })
}

fn turn(path: &mut Path) {
    let mut node = path.start.clone();
    let mut steps = Vec::new();
    for (mut rel, end) in std::mem::take(&mut path.steps) {
        rel.direction = match rel.direction {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Both => Direction::Both,
        };
        steps.push((rel, node));
        node = end;
    }
    steps.reverse();
    path.start = node;
    path.steps = steps;
}

/// Puts labels and properties of named nodes and relationships into the condition.
fn outside(paths: &mut [Path], filter: &mut Option<Expr>) {
    let mut add = |condition: Expr| {
        *filter = Some(match filter.take() {
            Some(old) => Expr::Binary(Op::And, Box::new(condition), Box::new(old)),
            None => condition,
        });
    };
    let is = |var: &str, key: &'static str, value: Expr| {
        let of = Expr::Property(Box::new(Expr::Var(var.to_owned())), key);
        Expr::Binary(Op::Equal, Box::new(of), Box::new(value))
    };
    for path in paths.iter_mut().filter(|p| p.shape == Shape::Plain) {
        let nodes = std::iter::once(&mut path.start);
        for node in nodes.chain(path.steps.iter_mut().map(|(_, node)| node)) {
            let Some(var) = node.var.clone() else {
                continue;
            };
            for (key, value) in node.properties.drain(..) {
                add(is(&var, key, value));
            }
            if let Labels::All(labels) = &node.labels {
                for label in labels {
                    add(Expr::HasLabel(Box::new(Expr::Var(var.clone())), label));
                }
                node.labels = Labels::Any;
            }
        }
        for (rel, _) in &mut path.steps {
            if let (Length::One, Some(var)) = (&rel.length, rel.var.clone()) {
                for (key, value) in rel.properties.drain(..) {
                    add(is(&var, key, value));
                }
            }
        }
    }
}

/// Another expression with the same value.
fn twin(expr: &mut Expr) {
    let not = |e: Expr| Expr::Not(Box::new(e));
    let old = std::mem::replace(expr, Expr::Literal(V::Null));
    *expr = match old {
        Expr::Binary(op, a, b) => match op {
            Op::Different => not(Expr::Binary(Op::Equal, a, b)),
            Op::Equal => Expr::Binary(Op::Equal, b, a),
            Op::Less => Expr::Binary(Op::Greater, b, a),
            Op::Greater => Expr::Binary(Op::Less, b, a),
            Op::LessOrEqual => Expr::Binary(Op::GreaterOrEqual, b, a),
            Op::GreaterOrEqual => Expr::Binary(Op::LessOrEqual, b, a),
            _ => Expr::Binary(op, a, b),
        },
        Expr::IsNotNull(a) => not(Expr::IsNull(a)),
        Expr::IsNull(a) => not(Expr::IsNotNull(a)),
        Expr::Call("toUpper", items) => Expr::Call("upper", items),
        Expr::Call("toLower", items) => Expr::Call("lower", items),
        Expr::Call("trim", items) => Expr::Call("bTrim", items),
        Expr::Map(mut entries) => {
            entries.reverse();
            Expr::Map(entries)
        }
        other => other,
    };
}

/// Keywords and names of functions in other letters; texts between quotes stay.
fn letters(text: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        if first == '\'' {
            quoted = !quoted;
        }
        if quoted || end == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, behind) = rest.split_at(end);
        let keyword = word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
        let function = behind.starts_with('(') && !word.starts_with('v');
        match keyword || function {
            true => match random.below(3) {
                0 => out += &word.to_ascii_lowercase(),
                1 => out += &word.to_ascii_uppercase(),
                _ => out += word,
            },
            false => out += word,
        }
        rest = behind;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Call, Import, NodePattern};

    /// Goal: a subquery runs in transactions for some spellings, and for none where the statement
    /// may fail or another clause writes.
    #[test]
    fn subqueries_run_in_transactions_where_that_means_the_same() {
        let node = NodePattern {
            var: None,
            labels: Labels::Any,
            properties: Vec::new(),
        };
        let create = Clause::Create(vec![Path {
            var: None,
            shape: Shape::Plain,
            start: node,
            steps: Vec::new(),
        }]);
        let query = |clauses| Query {
            branches: vec![clauses],
            all: true,
        };
        let call = Clause::Call(Call {
            optional: false,
            import: Import::Listed,
            given: Vec::new(),
            query: query(vec![create.clone()]),
            rows_each: None,
        });
        let some = |clauses: Vec<Clause>, succeeds| {
            let query = query(clauses);
            (1..100).any(|seed| {
                spelled(&query, seed, succeeds)
                    .to_uppercase()
                    .contains(" ROWS")
            })
        };
        assert!(some(vec![call.clone()], true));
        assert!(!some(vec![call.clone()], false));
        assert!(!some(vec![call, create], true));
    }
}

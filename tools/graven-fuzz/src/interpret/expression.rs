//! Expressions, with the three truth values.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::calendar::{add_months, civil, iso};
use crate::interpret::{Interpreter, Row, Stop};
use crate::query::{Expr, Op, Part, Quantifier, Sub};
use crate::temporal::T;
use crate::value::{V, compare, equal};

impl Interpreter {
    pub(super) fn value(&mut self, expr: &Expr, row: &Row) -> Result<V, Stop> {
        Ok(match expr {
            Expr::Literal(v) => v.clone(),
            Expr::Var(name) => row.get(name).cloned().ok_or(Stop::Senseless)?,
            Expr::Property(of, key) => {
                let of = self.value(of, row)?;
                match (&of, *key) {
                    (V::Date(days), "year") => V::Int(civil(*days).0),
                    (V::Date(days), "month") => V::Int(civil(*days).1),
                    (V::Date(days), "day") => V::Int(civil(*days).2),
                    (V::Time(t), part) => V::Int(t.part(part).ok_or(Stop::Senseless)?),
                    (V::Map(map), key) => map.get(key).cloned().unwrap_or(V::Null),
                    _ => self.graph.property(&of, key),
                }
            }
            Expr::Binary(op, a, b) => {
                let a = self.value(a, row)?;
                // What decides alone leaves the rest alone.
                if matches!(
                    (op, &a),
                    (Op::And, V::Bool(false)) | (Op::Or, V::Bool(true))
                ) {
                    return Ok(a);
                }
                let b = self.value(b, row)?;
                binary(*op, a, b)?
            }
            Expr::Not(a) => V::from_truth(self.value(a, row)?.truth().map(|t| !t)),
            Expr::IsNull(a) => V::Bool(self.value(a, row)? == V::Null),
            Expr::IsNotNull(a) => V::Bool(self.value(a, row)? != V::Null),
            Expr::HasLabel(of, label) => match self.value(of, row)? {
                V::Node(at) => {
                    let node = self.graph.nodes[at].as_ref().ok_or(Stop::Senseless)?;
                    V::Bool(node.labels.contains(label))
                }
                V::Null => V::Null,
                _ => return Err(Stop::Senseless),
            },
            Expr::Call("coalesce", items) => {
                for item in items {
                    let value = self.value(item, row)?;
                    if value != V::Null {
                        return Ok(value);
                    }
                }
                V::Null
            }
            Expr::Call(name, items) => {
                let values: Result<Vec<_>, _> = items.iter().map(|i| self.value(i, row)).collect();
                self.call(name, &values?)?
            }
            Expr::List(items) => {
                let values: Result<Vec<_>, _> = items.iter().map(|i| self.value(i, row)).collect();
                V::List(values?)
            }
            Expr::Index(list, at) => match (self.value(list, row)?, self.value(at, row)?) {
                (V::List(items), V::Int(at)) => {
                    let at = if at < 0 { at + items.len() as i64 } else { at };
                    let item = usize::try_from(at).ok().and_then(|at| items.get(at));
                    item.cloned().unwrap_or(V::Null)
                }
                _ => V::Null,
            },
            Expr::Slice(list, from, to) => match self.value(list, row)? {
                V::List(items) => {
                    let count = items.len() as i64;
                    let place = |at: i64| (if at < 0 { at + count } else { at }).clamp(0, count);
                    let (from, to) = (place(*from) as usize, place(*to) as usize);
                    V::List(items.get(from..to).unwrap_or_default().to_vec())
                }
                _ => V::Null,
            },
            Expr::Comprehension(var, list, filter, item) => {
                let V::List(items) = self.value(list, row)? else {
                    return Ok(V::Null);
                };
                let mut out = Vec::new();
                for value in items {
                    let mut inner = row.clone();
                    inner.insert(var.clone(), value.clone());
                    if let Some(filter) = filter
                        && !self.value(filter, &inner)?.is_true()
                    {
                        continue;
                    }
                    out.push(match item {
                        Some(item) => self.value(item, &inner)?,
                        None => value,
                    });
                }
                V::List(out)
            }
            Expr::Quantified(kind, var, list, condition) => {
                let V::List(items) = self.value(list, row)? else {
                    return Ok(V::Null);
                };
                let mut truths = Vec::new();
                for value in items {
                    let mut inner = row.clone();
                    inner.insert(var.clone(), value);
                    truths.push(self.value(condition, &inner)?.truth());
                    if decided(*kind, &truths) {
                        break;
                    }
                }
                V::from_truth(quantified(*kind, &truths))
            }
            Expr::Reduce(sum, first, var, list, body) => {
                let mut value = self.value(first, row)?;
                let V::List(items) = self.value(list, row)? else {
                    return Ok(V::Null);
                };
                for item in items {
                    let mut inner = row.clone();
                    inner.insert(sum.clone(), value);
                    inner.insert(var.clone(), item);
                    value = self.value(body, &inner)?;
                }
                value
            }
            Expr::Case(condition, then, other) => match self.value(condition, row)?.is_true() {
                true => self.value(then, row)?,
                false => self.value(other, row)?,
            },
            Expr::Choice(of, value, then, other) => {
                let (of, value) = (self.value(of, row)?, self.value(value, row)?);
                match equal(&of, &value) == Some(true) {
                    true => self.value(then, row)?,
                    false => self.value(other, row)?,
                }
            }
            Expr::Hidden(of, _) => self.value(of, row)?,
            Expr::Poison(_) => return Err(Stop::Failed),
            Expr::Random(form) => self.another(*form),
            Expr::Map(entries) => {
                let mut map = BTreeMap::new();
                for (key, e) in entries {
                    map.insert((*key).to_owned(), self.value(e, row)?);
                }
                V::Map(map)
            }
            Expr::MapOf(name, parts) => {
                let of = row.get(name).cloned().ok_or(Stop::Senseless)?;
                self.map_of(&of, parts, row)?
            }
            Expr::Exists(paths, filter) => {
                V::Bool(!self.matches(paths, filter.as_deref(), row)?.is_empty())
            }
            Expr::CountOf(paths, filter) => {
                V::Int(self.matches(paths, filter.as_deref(), row)?.len() as i64)
            }
            Expr::CollectOf(paths, filter, item) => {
                let mut out = Vec::new();
                for row in self.matches(paths, filter.as_deref(), row)? {
                    out.push(self.value(item, &row)?);
                }
                V::List(out)
            }
            Expr::Sub(kind, query) => {
                let (columns, rows) = self.query(query, row, row)?;
                match kind {
                    Sub::Exists => V::Bool(!rows.is_empty()),
                    Sub::Count => V::Int(rows.len() as i64),
                    Sub::Collect => {
                        let [column] = &columns[..] else {
                            return Err(Stop::Senseless);
                        };
                        let values = rows.into_iter().map(|mut row| row.remove(column));
                        V::List(values.map(Option::unwrap_or_default).collect())
                    }
                }
            }
            Expr::Later(date, months, days) => match self.value(date, row)? {
                V::Date(date) => V::Date(add_months(date, *months) + days),
                _ => V::Null,
            },
            Expr::Shifted(of, months, days, nanos) => match self.value(of, row)? {
                V::Time(t) => V::Time(t.later(*months, *days, *nanos)),
                _ => V::Null,
            },
            Expr::DaysBetween(a, b) => match (self.value(a, row)?, self.value(b, row)?) {
                (V::Date(a), V::Date(b)) => V::Int(b - a),
                _ => V::Null,
            },
            Expr::Pattern(path) => {
                let paths = std::slice::from_ref(&**path);
                V::Bool(!self.matches(paths, None, row)?.is_empty())
            }
            Expr::PatternComprehension(path, filter, item) => {
                let paths = std::slice::from_ref(&**path);
                let mut out = Vec::new();
                for row in self.matches(paths, filter.as_deref(), row)? {
                    out.push(self.value(item, &row)?);
                }
                V::List(out)
            }
            Expr::Aggregate(..) => return Err(Stop::Senseless),
        })
    }

    /// A number from 0 up to 1, or a text of as many letters as a UUID, that was not there before.
    fn another(&mut self, form: u8) -> V {
        let bits = self.random.next() >> 11;
        match form {
            0 => V::Float(bits as f64 / (1_u64 << 53) as f64),
            _ => V::Str(format!("{bits:036}")),
        }
    }

    /// `of {parts}`: what is named wins over `.*`, wherever it stands.
    fn map_of(&mut self, of: &V, parts: &[Part], row: &Row) -> Result<V, Stop> {
        let all: BTreeMap<String, V> = match of {
            V::Null => return Ok(V::Null),
            V::Map(map) => map.clone(),
            V::Node(_) | V::Rel(_) => {
                let properties = self.graph.properties(of).ok_or(Stop::Senseless)?;
                let each = properties.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
                each.collect()
            }
            _ => return Err(Stop::Senseless),
        };
        let mut map = match parts.contains(&Part::Everything) {
            true => all.clone(),
            false => BTreeMap::new(),
        };
        for part in parts {
            match part {
                Part::Everything => {}
                Part::Property(key) => {
                    let value = all.get(*key).cloned().unwrap_or(V::Null);
                    map.insert((*key).to_owned(), value);
                }
                Part::Entry(key, e) => {
                    let value = self.value(e, row)?;
                    map.insert((*key).to_owned(), value);
                }
            }
        }
        Ok(V::Map(map))
    }

    fn call(&self, name: &str, values: &[V]) -> Result<V, Stop> {
        if values.contains(&V::Null) {
            // Nothing can be cut to a unit if it is not there.
            return match name.ends_with(".truncate") {
                true => Err(Stop::Failed),
                false => Ok(V::Null),
            };
        }
        let text = |s: String| Ok(V::Str(s));
        match (name, values) {
            ("size", [V::List(items)]) => Ok(V::Int(items.len() as i64)),
            ("size", [V::Str(s)]) => Ok(V::Int(s.len() as i64)),
            ("length", [V::Path(_, rels)]) => Ok(V::Int(rels.len() as i64)),
            ("abs", [V::Int(i)]) => Ok(V::Int(i.abs())),
            ("sign", [V::Int(i)]) => Ok(V::Int(i.signum())),
            ("toFloat", [v]) => v.number().map(V::Float).ok_or(Stop::Senseless),
            ("toInteger", [V::Float(f)]) => Ok(V::Int(f.trunc() as i64)),
            ("toInteger", [V::Int(i)]) => Ok(V::Int(*i)),
            ("floor", [V::Float(f)]) => Ok(V::Float(f.floor())),
            ("toString", [V::Int(i)]) => text(i.to_string()),
            ("toString", [V::Bool(b)]) => text(b.to_string()),
            ("toString", [V::Date(days)]) => text(iso(*days)),
            ("toString", [V::Time(t)]) => text(t.text()),
            ("localdatetime.truncate", [V::Str(unit), V::Time(t)]) => {
                t.truncated(unit).map(V::Time).ok_or(Stop::Senseless)
            }
            ("duration.inSeconds", [V::Time(a), V::Time(b)]) => match (a, b) {
                (T::Local(a), T::Local(b)) | (T::Zoned(a, _), T::Zoned(b, _)) => {
                    let (months, days, nanos) = (0, 0, b - a);
                    Ok(V::Time(T::Span {
                        months,
                        days,
                        nanos,
                    }))
                }
                _ => Err(Stop::Senseless),
            },
            ("date.truncate", [V::Str(unit), V::Date(days)]) => {
                let (_, month, day) = civil(*days);
                let first = days - (day - 1);
                Ok(V::Date(match unit.as_str() {
                    "month" => first,
                    "quarter" => add_months(first, -((month - 1) % 3)),
                    _ => add_months(first, -(month - 1)),
                }))
            }
            ("toUpper", [V::Str(s)]) => text(s.to_ascii_uppercase()),
            ("toLower", [V::Str(s)]) => text(s.to_ascii_lowercase()),
            ("reverse", [V::Str(s)]) => text(s.chars().rev().collect()),
            ("trim", [V::Str(s)]) => text(s.trim().to_owned()),
            ("left", [V::Str(s), V::Int(n)]) => text(s.chars().take(*n as usize).collect()),
            ("substring", [V::Str(s), V::Int(from), V::Int(n)]) => {
                let rest = s.chars().skip(*from as usize);
                text(rest.take(*n as usize).collect())
            }
            ("replace", [V::Str(s), V::Str(from), V::Str(to)]) => text(s.replace(from, to)),
            ("head", [V::List(items)]) => Ok(items.first().cloned().unwrap_or(V::Null)),
            ("last", [V::List(items)]) => Ok(items.last().cloned().unwrap_or(V::Null)),
            ("tail", [V::List(items)]) => Ok(V::List(items.iter().skip(1).cloned().collect())),
            ("reverse", [V::List(items)]) => Ok(V::List(items.iter().rev().cloned().collect())),
            ("range", [V::Int(a), V::Int(b)]) => Ok(V::List((*a..=*b).map(V::Int).collect())),
            ("nodes", [V::Path(nodes, _)]) => {
                Ok(V::List(nodes.iter().map(|n| V::Node(*n)).collect()))
            }
            ("relationships", [V::Path(_, rels)]) => {
                Ok(V::List(rels.iter().map(|r| V::Rel(*r)).collect()))
            }
            // Ids tell nodes apart, and that is all they say.
            ("id", [V::Node(at) | V::Rel(at)]) => Ok(V::Int(*at as i64)),
            ("elementId", [V::Node(at) | V::Rel(at)]) => text(at.to_string()),
            ("labels", [V::Node(at)]) => {
                let node = self.graph.nodes[*at].as_ref().ok_or(Stop::Senseless)?;
                let labels = node.labels.iter().map(|l| V::Str((*l).to_owned()));
                Ok(V::List(labels.collect()))
            }
            ("type", [V::Rel(at)]) => {
                let rel = self.graph.rels[*at].as_ref().ok_or(Stop::Senseless)?;
                text(rel.kind.to_owned())
            }
            ("startNode", [V::Rel(at)]) => {
                let rel = self.graph.rels[*at].as_ref().ok_or(Stop::Senseless)?;
                Ok(V::Node(rel.start))
            }
            ("endNode", [V::Rel(at)]) => {
                let rel = self.graph.rels[*at].as_ref().ok_or(Stop::Senseless)?;
                Ok(V::Node(rel.end))
            }
            _ => Err(Stop::Senseless),
        }
    }
}

fn binary(op: Op, a: V, b: V) -> Result<V, Stop> {
    let comparison = |wanted: fn(Ordering) -> bool| V::from_truth(compare(&a, &b).map(wanted));
    Ok(match op {
        Op::And => match (a.truth(), b.truth()) {
            (Some(false), _) | (_, Some(false)) => V::Bool(false),
            (Some(true), Some(true)) => V::Bool(true),
            _ => V::Null,
        },
        Op::Or => match (a.truth(), b.truth()) {
            (Some(true), _) | (_, Some(true)) => V::Bool(true),
            (Some(false), Some(false)) => V::Bool(false),
            _ => V::Null,
        },
        Op::Xor => match (a.truth(), b.truth()) {
            (Some(a), Some(b)) => V::Bool(a != b),
            _ => V::Null,
        },
        Op::Equal => V::from_truth(equal(&a, &b)),
        Op::Different => V::from_truth(equal(&a, &b).map(|t| !t)),
        Op::Less => comparison(Ordering::is_lt),
        Op::LessOrEqual => comparison(Ordering::is_le),
        Op::Greater => comparison(Ordering::is_gt),
        Op::GreaterOrEqual => comparison(Ordering::is_ge),
        Op::In => match b {
            V::List(items) => {
                let each: Vec<_> = items.iter().map(|item| equal(&a, item)).collect();
                V::from_truth(match each.contains(&Some(true)) {
                    true => Some(true),
                    false if each.contains(&None) => None,
                    false => Some(false),
                })
            }
            _ => V::Null,
        },
        Op::StartsWith | Op::EndsWith | Op::Contains => match (&a, &b) {
            (V::Str(a), V::Str(b)) => V::Bool(match op {
                Op::StartsWith => a.starts_with(b.as_str()),
                Op::EndsWith => a.ends_with(b.as_str()),
                _ => a.contains(b.as_str()),
            }),
            _ => V::Null,
        },
        Op::Plus | Op::Minus | Op::Times | Op::Divide | Op::Modulo => arithmetic(op, a, b)?,
    })
}

fn arithmetic(op: Op, a: V, b: V) -> Result<V, Stop> {
    Ok(match (a, b) {
        (V::Null, _) | (_, V::Null) => V::Null,
        (V::Int(a), V::Int(b)) => V::Int(match op {
            Op::Plus => a.wrapping_add(b),
            Op::Minus => a.wrapping_sub(b),
            Op::Times => a.wrapping_mul(b),
            Op::Divide => a.checked_div(b).ok_or(Stop::Senseless)?,
            _ => a.checked_rem(b).ok_or(Stop::Senseless)?,
        }),
        (V::Str(a), V::Str(b)) if op == Op::Plus => V::Str(a + &b),
        (
            V::Time(a),
            V::Time(T::Span {
                months,
                days,
                nanos,
            }),
        ) => V::Time(match op {
            Op::Plus => a.later(months, days, nanos),
            Op::Minus => a.later(-months, -days, -nanos),
            _ => return Err(Stop::Senseless),
        }),
        (
            V::Time(T::Span {
                months,
                days,
                nanos,
            }),
            V::Int(by),
        ) if op == Op::Times => V::Time(T::Span {
            months: months * by,
            days: days * by,
            nanos: nanos * by,
        }),
        (V::List(mut a), V::List(b)) if op == Op::Plus => {
            a.extend(b);
            V::List(a)
        }
        (a, b) => {
            let (Some(a), Some(b)) = (a.number(), b.number()) else {
                return Err(Stop::Senseless);
            };
            V::Float(match op {
                Op::Plus => a + b,
                Op::Minus => a - b,
                Op::Times => a * b,
                Op::Divide => a / b,
                _ => a % b,
            })
        }
    })
}

/// Whether what comes behind cannot change the answer.
fn decided(kind: Quantifier, truths: &[Option<bool>]) -> bool {
    match kind {
        Quantifier::Any | Quantifier::None => truths.contains(&Some(true)),
        Quantifier::All => truths.contains(&Some(false)),
        Quantifier::Single => truths.iter().filter(|t| **t == Some(true)).count() > 1,
    }
}

fn quantified(kind: Quantifier, truths: &[Option<bool>]) -> Option<bool> {
    let (yes, unknown) = (
        truths.iter().filter(|t| **t == Some(true)).count(),
        truths.contains(&None),
    );
    match kind {
        Quantifier::Any if yes > 0 => Some(true),
        Quantifier::None if yes > 0 => Some(false),
        Quantifier::All if truths.contains(&Some(false)) => Some(false),
        Quantifier::Single if yes > 1 => Some(false),
        _ if unknown => None,
        Quantifier::Any => Some(false),
        Quantifier::None | Quantifier::All => Some(true),
        Quantifier::Single => Some(yes == 1),
    }
}

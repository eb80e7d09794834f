//! Values of the naive interpreter, and what equal, smaller and "the same" mean for them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::temporal::T;

/// A value. Nodes and relationships are places in the [`Graph`](crate::graph::Graph).
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum V {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    /// Days since 1970-01-01.
    Date(i64),
    Time(T),
    List(Vec<V>),
    Map(BTreeMap<String, V>),
    Node(usize),
    Rel(usize),
    Path(Vec<usize>, Vec<usize>),
}

impl V {
    pub(crate) fn is_true(&self) -> bool {
        *self == V::Bool(true)
    }

    pub(crate) fn from_truth(truth: Option<bool>) -> V {
        truth.map_or(V::Null, V::Bool)
    }

    pub(crate) fn truth(&self) -> Option<bool> {
        match self {
            V::Bool(b) => Some(*b),
            _ => None,
        }
    }

    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            V::Int(i) => Some(*i as f64),
            V::Float(f) => Some(*f),
            _ => None,
        }
    }
}

/// `a = b`: none where it is unknown.
pub(crate) fn equal(a: &V, b: &V) -> Option<bool> {
    match (a, b) {
        (V::Null, _) | (_, V::Null) => None,
        (V::List(x), V::List(y)) => {
            if x.len() != y.len() {
                return Some(false);
            }
            let each: Vec<_> = x.iter().zip(y).map(|(x, y)| equal(x, y)).collect();
            match each.contains(&Some(false)) {
                true => Some(false),
                false if each.contains(&None) => None,
                false => Some(true),
            }
        }
        (V::Map(x), V::Map(y)) => {
            if !x.keys().eq(y.keys()) {
                return Some(false);
            }
            let [x, y] = [x, y].map(|m| V::List(m.values().cloned().collect()));
            equal(&x, &y)
        }
        _ => match (a.number(), b.number()) {
            (Some(x), Some(y)) => Some(x == y),
            _ => Some(a == b),
        },
    }
}

/// How `a` and `b` compare by `<`: none where they do not.
pub(crate) fn compare(a: &V, b: &V) -> Option<Ordering> {
    match (a, b) {
        (V::Str(x), V::Str(y)) => Some(x.cmp(y)),
        (V::Bool(x), V::Bool(y)) => Some(x.cmp(y)),
        (V::Date(x), V::Date(y)) => Some(x.cmp(y)),
        (V::Time(x), V::Time(y)) => x.compare(y),
        (V::List(x), V::List(y)) => {
            for (x, y) in x.iter().zip(y) {
                if !equal(x, y)? {
                    return compare(x, y);
                }
            }
            Some(x.len().cmp(&y.len()))
        }
        _ => a.number()?.partial_cmp(&b.number()?),
    }
}

/// The order of `ORDER BY`, `min` and `max`, which knows every pair.
pub(crate) fn order(a: &V, b: &V) -> Ordering {
    let rank = |v: &V| match v {
        V::Map(_) => 0,
        V::Node(_) => 1,
        V::Rel(_) => 2,
        V::List(_) => 3,
        V::Path(..) => 4,
        V::Time(t) => 10 + t.rank(),
        V::Date(_) => 13,
        V::Str(_) => 20,
        V::Bool(_) => 21,
        V::Int(_) | V::Float(_) => 22,
        V::Null => 23,
    };
    let within = || match (a, b) {
        (V::List(x), V::List(y)) => {
            let first = x.iter().zip(y).map(|(x, y)| order(x, y));
            let differs = first.into_iter().find(|o| o.is_ne());
            differs.unwrap_or_else(|| x.len().cmp(&y.len()))
        }
        (V::Time(x), V::Time(y)) => x.order(y),
        _ => compare(a, b).unwrap_or(Ordering::Equal),
    };
    rank(a).cmp(&rank(b)).then_with(within)
}

/// What `DISTINCT` and grouping go by.
pub(crate) fn key(v: &V) -> String {
    match v {
        V::Float(f) if f.fract() == 0.0 => format!("Int({f})"),
        V::List(items) => format!("{:?}", items.iter().map(key).collect::<Vec<_>>()),
        V::Map(entries) => {
            let each = entries.iter().map(|(k, v)| format!("{k}: {}", key(v)));
            format!("Map{:?}", each.collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

pub(crate) type Properties = BTreeMap<&'static str, V>;

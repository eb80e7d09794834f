//! Names, parameters and construction of all policies; nothing else lists them.
//!
//! # How it works
//! A specification is `name` or `name:key=value,key=value`. Short names of the literature and of
//! the golden hit counts (`gclock-2bit`, `neo4j-rand`, `count-to-3`) are aliases that expand to
//! one. Every policy takes the keys of [`EVERYWHERE`]: `protocol` and `batch` tell the page cache
//! how hits reach it, `running` scores pages of running transactions up. [`visit`] builds the
//! policy with its own type, so that a simulation loop is compiled per policy; [`parse`] boxes it.
//! [`register`] adds a policy of another program, which is then taken by name as the others are.

use crate::PolicyError;
use crate::gclock::Arm;

mod build;
mod catalogue;
mod own;

pub use build::{Boxing, Visitor, parse, visit};
use catalogue::{ALIASES, POLICIES};
pub use own::{Build, register};

/// Most hits of a batch.
pub const BATCH_MAX: u8 = 64;

/// The keys that every policy takes.
pub const EVERYWHERE: &[Parameter] = &[
    Parameter {
        name: "protocol",
        default: "the policy's own",
        accepts: "atomic|locked|sharded|batched|combining|sampled",
        help: "how hits of threads reach the policy in a live cache",
    },
    Parameter {
        name: "batch",
        default: "32",
        accepts: "1..=64",
        help: "hits of a thread that are handed over at once (batched, combining)",
    },
    Parameter {
        name: "running",
        default: "0",
        accepts: RUNNING,
        help: "how many pages that a running transaction used last an eviction passes over \
            (transaction-aware; Cheng et al. 2023)",
    },
];

const RUNNING: &str = "0..=65535";

/// How hits reach the policy; interpreted by the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Protocol {
    /// Usage counts and stamps are updated in place without the policy's lock.
    Atomic,
    /// Every hit takes the policy's lock.
    Locked,
    /// The frames are divided among instances with a lock each.
    Sharded,
    /// A ring per thread, handed over under a tried lock.
    Batched,
    /// A ring per thread, published for the next thread that gets the lock.
    Combining,
    /// A share of the hits is batched, the rest is dropped.
    Sampled,
}

impl Protocol {
    const ALL: [(&'static str, Self); 6] = [
        ("atomic", Self::Atomic),
        ("locked", Self::Locked),
        ("sharded", Self::Sharded),
        ("batched", Self::Batched),
        ("combining", Self::Combining),
        ("sampled", Self::Sampled),
    ];

    /// The name used in specifications.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, p)| *p == self)
            .map_or("", |(name, _)| name)
    }
}

/// One parameter of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// Its value when the specification does not give it.
    pub default: &'static str,
    /// What is accepted: `1..=7`, `global|thread`.
    pub accepts: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// One policy of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Which page leaves.
    pub leaves: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Whether it can run in a live cache (the others need the future of a trace).
    pub live: bool,
    /// What a hit costs.
    pub hit: &'static str,
    /// What it keeps for a frame, and for a ghost.
    pub state: &'static str,
    /// Authors and year of its paper, or the product that has it.
    pub paper: &'static str,
}

/// A short name for a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The short name.
    pub name: &'static str,
    /// What it stands for.
    pub spec: &'static str,
}

/// All policies of this crate, in the order of the reference table.
#[must_use]
pub fn list() -> &'static [Entry] {
    POLICIES
}

/// The same and, behind them, those that [`register`] added.
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    POLICIES.iter().chain(own::entries()).collect()
}

/// Names of all policies, comma-separated.
pub(crate) fn names() -> String {
    let names: Vec<&str> = entries().iter().map(|entry| entry.name).collect();
    names.join(", ")
}

/// Whether `spec` names a policy that can run in a live cache.
#[must_use]
pub fn is_live(spec: &str) -> bool {
    let is_live = |spec: Spec| entries().iter().any(|e| e.name == spec.name && e.live);
    Spec::parse(spec).is_ok_and(is_live)
}

/// All short names.
#[must_use]
pub fn aliases() -> &'static [Alias] {
    ALIASES
}

/// A parsed specification: a policy of the registry with a value for every parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The policy's name in the registry.
    pub name: &'static str,
    /// Value of every parameter, defaults filled in, in the order of [`Entry::parameters`].
    pub params: Vec<(&'static str, String)>,
    /// The hit protocol, if the specification names one.
    pub protocol: Option<Protocol>,
    /// How many hits of a thread are handed over at once, if the specification says so,
    /// `1..=`[`BATCH_MAX`].
    pub batch: Option<u8>,
    /// How many pages of running transactions an eviction passes over, if it passes over any.
    pub running: Option<u32>,
}

impl std::fmt::Display for Spec {
    /// Writes the whole specification, which parses to the same value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name)?;
        let protocol = self.protocol.map(|p| ("protocol", p.name().to_string()));
        let batch = self.batch.map(|batch| ("batch", batch.to_string()));
        let running = self.running.map(|pages| ("running", pages.to_string()));
        let all = self.params.iter().chain(&protocol).chain(&batch);
        let all = all.chain(&running);
        for (i, (key, value)) in all.enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl Spec {
    /// Reads a specification and checks names and values.
    ///
    /// # Errors
    /// Unknown names, malformed text and values out of range, each naming what would be accepted.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let alias = ALIASES.iter().find(|alias| alias.name == name);
        let (name, implied) = match alias {
            Some(alias) => alias.spec.split_once(':').unwrap_or((alias.spec, "")),
            None => (name, ""),
        };
        let entry = entries()
            .into_iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| PolicyError::UnknownPolicy {
                name: name.to_string(),
                suggestion: closest(name),
            })?;
        let mut spec = Self {
            name: entry.name,
            params: entry
                .parameters
                .iter()
                .map(|p| (p.name, p.default.to_string()))
                .collect(),
            protocol: None,
            batch: None,
            running: None,
        };
        for part in implied
            .split(',')
            .chain(rest.split(','))
            .filter(|part| !part.is_empty())
        {
            let (key, value) = part.split_once('=').ok_or_else(|| PolicyError::Malformed {
                spec: text.to_string(),
                part: part.to_string(),
            })?;
            spec.set(entry, key.trim(), value.trim())?;
        }
        let batches = [None, Some(Protocol::Batched), Some(Protocol::Combining)];
        if let Some(batch) = spec.batch.filter(|_| !batches.contains(&spec.protocol)) {
            let expected = "protocol batched or combining beside it";
            return Err(spec.bad_value("batch", &batch.to_string(), expected));
        }
        Ok(spec)
    }

    fn set(&mut self, entry: &Entry, key: &str, value: &str) -> Result<(), PolicyError> {
        if key == "protocol" {
            let found = Protocol::ALL.iter().find(|(name, _)| *name == value);
            let names = Protocol::ALL.map(|(name, _)| name).join("|");
            let (_, protocol) = found.ok_or_else(|| self.bad_value(key, value, &names))?;
            self.protocol = Some(*protocol);
            return Ok(());
        }
        if key == "batch" {
            let range = format!("1..={BATCH_MAX}");
            let batch = value.parse().ok().filter(|_| accepts(&range, value));
            self.batch = Some(batch.ok_or_else(|| self.bad_value(key, value, &range))?);
            return Ok(());
        }
        if key == "running" {
            let pages = value.parse().ok().filter(|_| accepts(RUNNING, value));
            let pages: u32 = pages.ok_or_else(|| self.bad_value(key, value, RUNNING))?;
            self.running = (pages > 0).then_some(pages);
            return Ok(());
        }
        let Some(at) = entry.parameters.iter().position(|p| p.name == key) else {
            let known = entry.parameters.iter().chain(EVERYWHERE);
            let known: Vec<_> = known.map(|p| p.name).collect();
            return Err(PolicyError::UnknownParameter {
                policy: entry.name.to_string(),
                parameter: key.to_string(),
                known: known.join(", "),
            });
        };
        if !accepts(entry.parameters[at].accepts, value) {
            return Err(self.bad_value(key, value, entry.parameters[at].accepts));
        }
        self.params[at].1 = value.to_string();
        Ok(())
    }

    fn bad_value(&self, key: &str, value: &str, expected: &str) -> PolicyError {
        PolicyError::BadValue {
            policy: self.name.to_string(),
            parameter: key.to_string(),
            value: value.to_string(),
            expected: expected.to_string(),
        }
    }

    /// The value of a parameter, which is in range; empty where the policy has no such parameter.
    #[must_use]
    pub fn value(&self, key: &str) -> &str {
        let found = self.params.iter().find(|(name, _)| *name == key);
        found.map_or("", |(_, value)| value)
    }

    fn number<T: std::str::FromStr + Default>(&self, key: &str) -> T {
        self.value(key).parse().unwrap_or_default()
    }

    fn arm(&self) -> Arm {
        if self.value("arm") == "thread" {
            Arm::Thread
        } else {
            Arm::Global
        }
    }
}

/// Whether `value` fits a range `low..=high` (integer or decimal, as written) or a choice `a|b|c`.
fn accepts(range: &str, value: &str) -> bool {
    let Some((low, high)) = range.split_once("..=") else {
        return range.split('|').any(|choice| choice == value);
    };
    if low.contains('.') {
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
        return match (number(low), number(value), number(high)) {
            (Some(low), Some(x), Some(high)) => low <= x && x <= high,
            _ => false,
        };
    }
    match (
        low.parse::<u64>(),
        value.parse::<u64>(),
        high.parse::<u64>(),
    ) {
        (Ok(low), Ok(x), Ok(high)) => low <= x && x <= high,
        _ => false,
    }
}

/// The known name nearest to `name`, if at most two letters differ.
fn closest(name: &str) -> Option<String> {
    let names = entries()
        .into_iter()
        .map(|e| e.name)
        .chain(ALIASES.iter().map(|a| a.name));
    let (distance, best) = names
        .map(|known| (edit_distance(name, known), known))
        .min()?;
    (distance <= 2).then(|| best.to_string())
}

/// Letters that differ; two neighbours in each other's place count once.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = last[j] + usize::from(x != y);
            let mut best = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests;

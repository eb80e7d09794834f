//! Filters of the steps of a path: which relationships lead on, and what labels are for.
//!
//! # How it works
//! A text such as `KNOWS>|<LIKES` or `+Person|-Bot` is one filter; texts between commas are filters
//! of one step each, which begin again behind the last one. `*` among labels that may be passed
//! stands for all labels.

use std::sync::Arc;

use graven_exec::Value;
use graven_storage::{Catalog, Direction, TypeId};
use graven_types::name::quoted;

/// Filters of one step each, which begin again behind the last.
pub(super) struct InTurn<F> {
    /// That of the first step, if it does not come again.
    first: Option<F>,
    steps: Vec<F>,
}

impl<F> InTurn<F> {
    /// The filter at a place, counted from 0 on.
    pub(super) fn at(&self, place: u64) -> &F {
        let place = match (&self.first, place) {
            (Some(first), 0) => return first,
            (Some(_), place) => place - 1,
            (None, place) => place,
        };
        let length = self.steps.len() as u64;
        &self.steps[usize::try_from(place % length).unwrap_or(0)]
    }

    /// Whether one filter is such.
    pub(super) fn any(&self, is: impl Fn(&F) -> bool) -> bool {
        self.first.iter().chain(&self.steps).any(is)
    }
}

/// Types that lead on, by direction.
#[derive(Default)]
pub(super) struct Relations {
    forwards: Named,
    backwards: Named,
    both: Named,
}

/// Types by their names, or any.
#[derive(Default)]
struct Named {
    any: bool,
    names: Vec<Arc<str>>,
}

impl Relations {
    /// Those of each step. Where `again` does not hold, the first filter is for the first step
    /// alone.
    pub(super) fn in_turn(text: &str, again: bool) -> InTurn<Self> {
        let mut steps: Vec<Self> = text.split(',').map(Self::of).collect();
        let first = (!again && steps.len() > 1).then(|| steps.remove(0));
        InTurn { first, steps }
    }

    /// Those of `KNOWS>|<LIKES|OWNS`; no name at all means all types.
    pub(super) fn of(text: &str) -> Self {
        let mut own = Relations::default();
        own.both.any = text.trim().is_empty();
        for one in parts(text) {
            let (backwards, name) = match one.strip_prefix('<') {
                Some(rest) => (true, rest),
                None => (false, one),
            };
            let (forwards, name) = match name.strip_suffix('>') {
                Some(rest) => (true, rest),
                None => (false, name),
            };
            let named = match (forwards, backwards) {
                (true, false) => &mut own.forwards,
                (false, true) => &mut own.backwards,
                _ => &mut own.both,
            };
            match name.trim_start_matches(':') {
                "" => named.any = true,
                name => named.names.push(Arc::from(name)),
            }
        }
        own
    }

    /// Patterns of one step from `n` by `r` to `m`.
    pub(super) fn patterns(&self) -> impl Iterator<Item = String> {
        let own = [
            (&self.forwards, ("-", "->")),
            (&self.backwards, ("<-", "-")),
            (&self.both, ("-", "-")),
        ];
        let named = own
            .into_iter()
            .filter(|(named, _)| named.any || !named.names.is_empty());
        named.map(|(named, (before, behind))| {
            let types: Vec<String> = named.names.iter().map(|name| quoted(name)).collect();
            let types = match named.any {
                true => String::new(),
                false => format!(":{}", types.join("|")),
            };
            format!("(n){before}[r{types}]{behind}(m)")
        })
    }

    /// The types that a catalogue knows, with their directions, each once.
    pub(super) fn directed(&self, catalog: &Catalog) -> Vec<(TypeId, Direction)> {
        let mut found = Vec::new();
        for (named, directions) in [
            (&self.forwards, &[Direction::Out][..]),
            (&self.backwards, &[Direction::In][..]),
            (&self.both, &[Direction::Out, Direction::In][..]),
        ] {
            let known: Vec<TypeId> = match named.any {
                true => (0..catalog.types().len())
                    .map(|at| TypeId(at as u32))
                    .collect(),
                false => {
                    let names = named.names.iter();
                    names.filter_map(|name| catalog.rel_type(name)).collect()
                }
            };
            let known = known.into_iter();
            found.extend(known.flat_map(|own| directions.iter().map(move |to| (own, *to))));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Sets of labels, each as in `Person:Author`.
type Sets = Vec<Vec<Arc<str>>>;

/// Labels with what they are for.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) passed: Sets,
    pub(super) never: Sets,
    pub(super) ends: Sets,
    pub(super) last: Sets,
}

impl Labels {
    /// Those of each step.
    pub(super) fn in_turn(text: &str) -> InTurn<Self> {
        InTurn {
            first: None,
            steps: text.split(',').map(Self::of).collect(),
        }
    }

    fn of(text: &str) -> Self {
        let mut own = Labels::default();
        for one in parts(text) {
            let (list, names) = match one.as_bytes()[0] {
                b'-' => (&mut own.never, &one[1..]),
                b'>' => (&mut own.ends, &one[1..]),
                b'/' => (&mut own.last, &one[1..]),
                b'+' => (&mut own.passed, &one[1..]),
                _ => (&mut own.passed, one),
            };
            let names = names.split(':').map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            list.push(names.map(Arc::from).collect());
        }
        let passes_all = |names: &Vec<Arc<str>>| names.len() == 1 && &*names[0] == "*";
        if own.passed.iter().any(passes_all) {
            own.passed.clear();
        }
        own
    }

    pub(super) fn is_empty(&self) -> bool {
        let mut lists = [&self.passed, &self.never, &self.ends, &self.last].into_iter();
        lists.all(Vec::is_empty)
    }

    pub(super) fn names_ends(&self) -> bool {
        !self.ends.is_empty() || !self.last.is_empty()
    }
}

/// Whether the labels of a node are those of one of the sets.
pub(super) fn has(sets: &[Vec<Arc<str>>], labels: &[Value]) -> bool {
    let is_there = |name: &Arc<str>| {
        let mut labels = labels.iter();
        labels.any(|label| matches!(label, Value::String(own) if own == name))
    };
    sets.iter().any(|names| names.iter().all(is_there))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split('|').map(str::trim).filter(|one| !one.is_empty())
}

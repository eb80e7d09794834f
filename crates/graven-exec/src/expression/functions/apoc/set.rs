//! Sets of values that are charged as they grow: equivalent values are one.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use crate::error::Result;
use crate::growth::{charge, work};
use crate::value::Value;
use crate::value::equality::equivalent;

/// Bytes of an element of a table, the table before it included, which is copied as it grows.
const ELEMENT_BYTES: usize = 32;
/// The same with how often it is there.
const COUNTED_BYTES: usize = 40;
/// Room of the first table.
const FIRST: usize = 8;

/// A value as an element of a set.
#[derive(Clone, Copy)]
pub(super) struct Element<'a>(pub(super) &'a Value);

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        equivalent(self.0, other.0)
    }
}

impl Eq for Element<'_> {}

impl Hash for Element<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// See the file header.
#[derive(Default)]
pub(super) struct Set<'a>(HashSet<Element<'a>, foldhash::fast::FixedState>);

impl<'a> Set<'a> {
    /// The set of the values of a list.
    pub(super) fn of(items: &'a [Value]) -> Result<Self> {
        let mut set = Set::default();
        for item in items {
            set.insert(item)?;
        }
        Ok(set)
    }

    /// Adds a value; whether it is new.
    pub(super) fn insert(&mut self, item: &'a Value) -> Result<bool> {
        work(1)?;
        if self.0.len() == self.0.capacity() {
            let more = self.0.len().max(FIRST);
            charge(more * ELEMENT_BYTES)?;
            self.0.reserve(more);
        }
        Ok(self.0.insert(Element(item)))
    }

    pub(super) fn contains(&self, item: &Value) -> bool {
        self.0.contains(&Element(item))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How often each value is there.
pub(super) fn counted(items: &[Value]) -> Result<HashMap<Element<'_>, usize>> {
    charge(items.len().saturating_mul(COUNTED_BYTES))?;
    let mut counts = HashMap::with_capacity(items.len());
    for item in items {
        work(1)?;
        *counts.entry(Element(item)).or_default() += 1;
    }
    Ok(counts)
}

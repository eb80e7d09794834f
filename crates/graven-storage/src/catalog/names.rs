//! Names of one kind with their dense numbers, in the order in which they came.
//!
//! # How it works
//! All versions of a database share one table, to which names are only added. A version knows how
//! many of them it has: those in front. So a new name costs the same however many there are, and a
//! version with its names costs a pointer. Two copies that both get a name of their own part: the
//! second one takes its names along into a table of its own.
//!
//! # Invariants
//! * A name below the count of any version never changes and never moves.
//! * The table's lock is held while a name is added; reading a name by number takes no lock.

use std::sync::Arc;

use foldhash::HashMap;
use parking_lot::RwLock;

/// Names of one kind; a copy shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    table: Arc<Table>,
    count: usize,
    text_bytes: u64,
}

#[derive(Debug, Default)]
struct Table {
    list: boxcar::Vec<Arc<str>>,
    numbers: RwLock<HashMap<Arc<str>, u32>>,
}

impl Table {
    /// Adds `name` as number `at`, unless another name has come there.
    fn add(&self, name: &Arc<str>, at: usize) -> bool {
        let mut numbers = self.numbers.write();
        if self.list.count() != at {
            return false;
        }
        self.list.push(Arc::clone(name));
        numbers.insert(Arc::clone(name), number(at));
        true
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 names")
}

impl Names {
    /// The number of `name`, a new one if there is none.
    pub(crate) fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.number(name) {
            return number;
        }
        let name: Arc<str> = Arc::from(name);
        if !self.table.add(&name, self.count) {
            let own = Arc::new(Table::default());
            for (at, known) in self.list().iter().enumerate() {
                own.add(known, at);
            }
            own.add(&name, self.count);
            self.table = own;
        }
        self.count += 1;
        self.text_bytes += name.len() as u64;
        number(self.count - 1)
    }

    /// Bytes of their texts.
    pub(crate) fn text_bytes(&self) -> u64 {
        self.text_bytes
    }

    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        let known = self.table.numbers.read().get(name).copied();
        known.filter(|number| (*number as usize) < self.count)
    }

    pub(crate) fn name(&self, number: u32) -> Option<&Arc<str>> {
        self.list().get(number as usize)
    }

    pub(crate) fn list(&self) -> NameList<'_> {
        NameList {
            list: &self.table.list,
            count: self.count,
        }
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.list().iter().eq(other.list().iter())
    }
}

/// Names of one kind, by number.
#[derive(Clone, Copy, Debug)]
pub struct NameList<'a> {
    list: &'a boxcar::Vec<Arc<str>>,
    count: usize,
}

impl<'a> NameList<'a> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The name with this number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&'a Arc<str>> {
        (number < self.count)
            .then(|| self.list.get(number))
            .flatten()
    }

    /// By ascending number.
    #[must_use]
    pub fn iter(&self) -> NameIter<'a> {
        self.from(0)
    }

    /// Those from number `first` on.
    #[must_use]
    pub fn from(&self, first: usize) -> NameIter<'a> {
        NameIter {
            names: *self,
            next: first,
        }
    }
}

impl<'a> IntoIterator for NameList<'a> {
    type Item = &'a Arc<str>;
    type IntoIter = NameIter<'a>;

    fn into_iter(self) -> NameIter<'a> {
        self.iter()
    }
}

/// Names by ascending number.
#[derive(Clone, Debug)]
pub struct NameIter<'a> {
    names: NameList<'a>,
    next: usize,
}

impl<'a> Iterator for NameIter<'a> {
    type Item = &'a Arc<str>;

    fn next(&mut self) -> Option<&'a Arc<str>> {
        let name = self.names.get(self.next)?;
        self.next += 1;
        Some(name)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.names.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl ExactSizeIterator for NameIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &Names) -> Vec<String> {
        names.list().iter().map(ToString::to_string).collect()
    }

    /// Goal: a copy keeps its names whatever others get, and copies that part do not see each
    /// other's.
    #[test]
    fn a_copy_keeps_its_names() {
        let mut first = Names::default();
        assert_eq!(
            (first.intern("a"), first.intern("b"), first.intern("a")),
            (0, 1, 0)
        );
        let before = first.clone();
        assert_eq!(first.intern("c"), 2);
        assert_eq!((before.number("c"), before.list().len()), (None, 2));
        let mut second = before.clone();
        assert_eq!((second.intern("d"), second.intern("c")), (2, 3));
        assert_eq!(texts(&first), ["a", "b", "c"]);
        assert_eq!(texts(&second), ["a", "b", "d", "c"]);
        assert_eq!(texts(&before), ["a", "b"]);
        assert_eq!((first.number("d"), first.number("c")), (None, Some(2)));
        assert_eq!(
            (second.name(2).map(|n| &**n), first.text_bytes()),
            (Some("d"), 3)
        );
        assert_ne!(first, second);
        assert_eq!(before.list().from(1).count(), 1);
        assert!(before.list().get(2).is_none() && !before.list().is_empty());
    }
}

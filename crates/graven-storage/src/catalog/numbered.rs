//! Values with dense numbers, in the order in which they came: names of one kind, label sets.
//!
//! # How it works
//! All versions of a database share one table, to which values are only added. A version knows how
//! many of them it has: those in front. So a new value costs the same however many there are, and a
//! version with its values costs a pointer. Two copies that both get a value of their own part: the
//! second one takes its values along into a table of its own.
//!
//! # Invariants
//! * A value below the count of any version never changes and never moves.
//! * The table's lock is held while a value is added; reading a value by number takes no lock.

use std::hash::Hash;
use std::ops::Index;
use std::sync::Arc;

use foldhash::HashMap;
use parking_lot::RwLock;

/// Values of one kind; a copy shares them.
#[derive(Debug)]
pub(crate) struct Numbered<T: ?Sized> {
    table: Arc<Table<T>>,
    count: usize,
    bytes: u64,
}

/// Names of one kind.
pub(crate) type Names = Numbered<str>;

#[derive(Debug)]
struct Table<T: ?Sized> {
    list: boxcar::Vec<Arc<T>>,
    numbers: RwLock<HashMap<Arc<T>, u32>>,
}

impl<T: ?Sized> Default for Table<T> {
    fn default() -> Table<T> {
        Table {
            list: boxcar::Vec::new(),
            numbers: RwLock::default(),
        }
    }
}

impl<T: ?Sized + Eq + Hash> Table<T> {
    /// Adds `value` as number `at`, unless another value has come there.
    fn add(&self, value: &Arc<T>, at: usize) -> bool {
        let mut numbers = self.numbers.write();
        if self.list.count() != at {
            return false;
        }
        self.list.push(Arc::clone(value));
        numbers.insert(Arc::clone(value), number(at));
        true
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("fewer than 2^32 values")
}

impl<T: ?Sized> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered {
            table: Arc::default(),
            count: 0,
            bytes: 0,
        }
    }
}

impl<T: ?Sized> Clone for Numbered<T> {
    fn clone(&self) -> Numbered<T> {
        Numbered {
            table: Arc::clone(&self.table),
            count: self.count,
            bytes: self.bytes,
        }
    }
}

impl<T: ?Sized + Eq + Hash> Numbered<T> {
    /// The number of `value`, a new one if there is none.
    pub(crate) fn intern(&mut self, value: &T) -> u32
    where
        Arc<T>: for<'a> From<&'a T>,
    {
        self.number(value)
            .unwrap_or_else(|| self.push(Arc::from(value)))
    }

    /// Gives `value` the next number. A value that comes twice, as in a damaged file, keeps both;
    /// [`Numbered::number`] knows the second.
    pub(crate) fn push(&mut self, value: Arc<T>) -> u32 {
        if !self.table.add(&value, self.count) {
            let own = Arc::new(Table::default());
            for (at, known) in self.list().iter().enumerate() {
                own.add(known, at);
            }
            own.add(&value, self.count);
            self.table = own;
        }
        self.count += 1;
        self.bytes += size_of_val(&*value) as u64;
        number(self.count - 1)
    }

    /// Bytes of the values, such as those of texts.
    pub(crate) fn value_bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn number(&self, value: &T) -> Option<u32> {
        let known = self.table.numbers.read().get(value).copied();
        known.filter(|number| (*number as usize) < self.count)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Arc<T>> {
        self.list().get(number as usize)
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Whether the first values are those of `other`.
    pub(crate) fn starts_with(&self, other: &Numbered<T>) -> bool {
        if self.count < other.count {
            return false;
        }
        Arc::ptr_eq(&self.table, &other.table)
            || other.list().iter().eq(self.list().iter().take(other.count))
    }

    pub(crate) fn list(&self) -> NumberedList<'_, T> {
        NumberedList {
            list: &self.table.list,
            count: self.count,
        }
    }
}

impl<T: ?Sized + Eq + Hash> PartialEq for Numbered<T> {
    fn eq(&self, other: &Numbered<T>) -> bool {
        self.count == other.count && self.starts_with(other)
    }
}

impl<T: ?Sized + Eq + Hash> Index<u32> for Numbered<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        self.get(number).expect("a number that was given")
    }
}

/// Values of one kind, by number.
#[derive(Debug)]
pub struct NumberedList<'a, T: ?Sized> {
    list: &'a boxcar::Vec<Arc<T>>,
    count: usize,
}

/// Names of one kind, by number.
pub type NameList<'a> = NumberedList<'a, str>;

impl<T: ?Sized> Clone for NumberedList<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for NumberedList<'_, T> {}

impl<'a, T: ?Sized> NumberedList<'a, T> {
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

    /// The value with this number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&'a Arc<T>> {
        (number < self.count)
            .then(|| self.list.get(number))
            .flatten()
    }

    /// By ascending number.
    #[must_use]
    pub fn iter(&self) -> NumberedIter<'a, T> {
        self.from(0)
    }

    /// Those from number `first` on.
    #[must_use]
    pub fn from(&self, first: usize) -> NumberedIter<'a, T> {
        NumberedIter {
            values: *self,
            next: first,
        }
    }
}

impl<'a, T: ?Sized> IntoIterator for NumberedList<'a, T> {
    type Item = &'a Arc<T>;
    type IntoIter = NumberedIter<'a, T>;

    fn into_iter(self) -> NumberedIter<'a, T> {
        self.iter()
    }
}

/// Values by ascending number.
#[derive(Debug)]
pub struct NumberedIter<'a, T: ?Sized> {
    values: NumberedList<'a, T>,
    next: usize,
}

impl<T: ?Sized> Clone for NumberedIter<'_, T> {
    fn clone(&self) -> Self {
        NumberedIter { ..*self }
    }
}

impl<'a, T: ?Sized> Iterator for NumberedIter<'a, T> {
    type Item = &'a Arc<T>;

    fn next(&mut self) -> Option<&'a Arc<T>> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.values.len().saturating_sub(self.next);
        (left, Some(left))
    }
}

impl<T: ?Sized> ExactSizeIterator for NumberedIter<'_, T> {}

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
            (second.get(2).map(|n| &**n), first.value_bytes()),
            (Some("d"), 3)
        );
        assert_ne!(first, second);
        assert_eq!(before.list().from(1).count(), 1);
        assert!(before.list().get(2).is_none() && !before.list().is_empty());
        assert!(first.starts_with(&before) && second.starts_with(&before));
        assert!(!first.starts_with(&second) && !before.starts_with(&first));
    }
}

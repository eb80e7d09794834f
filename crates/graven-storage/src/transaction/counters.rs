//! What a transaction has changed, counted: one list of the counts and their names for all code
//! that adds, sends or shows them.

use std::ops::{AddAssign, Sub};

/// What a transaction has changed so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct WriteCounters {
    pub nodes_created: u64,
    pub nodes_deleted: u64,
    pub relationships_created: u64,
    pub relationships_deleted: u64,
    /// Properties set or removed.
    pub properties_set: u64,
    pub labels_added: u64,
    pub labels_removed: u64,
    pub indexes_added: u64,
    pub indexes_removed: u64,
    pub constraints_added: u64,
    pub constraints_removed: u64,
    /// Users created, changed or dropped.
    pub users_changed: u64,
}

impl WriteCounters {
    /// Whether anything was changed.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != WriteCounters::default()
    }

    /// The counts with their names: what was changed (in the plural), an underscore, how.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 12] {
        [
            ("nodes_created", self.nodes_created),
            ("nodes_deleted", self.nodes_deleted),
            ("relationships_created", self.relationships_created),
            ("relationships_deleted", self.relationships_deleted),
            ("properties_set", self.properties_set),
            ("labels_added", self.labels_added),
            ("labels_removed", self.labels_removed),
            ("indexes_added", self.indexes_added),
            ("indexes_removed", self.indexes_removed),
            ("constraints_added", self.constraints_added),
            ("constraints_removed", self.constraints_removed),
            ("users_changed", self.users_changed),
        ]
    }

    /// The names and counts of what was changed.
    pub fn changed(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.named().into_iter().filter(|(_, count)| *count > 0)
    }

    /// The counts in the order of their names.
    pub fn counts_mut(&mut self) -> [&mut u64; 12] {
        [
            &mut self.nodes_created,
            &mut self.nodes_deleted,
            &mut self.relationships_created,
            &mut self.relationships_deleted,
            &mut self.properties_set,
            &mut self.labels_added,
            &mut self.labels_removed,
            &mut self.indexes_added,
            &mut self.indexes_removed,
            &mut self.constraints_added,
            &mut self.constraints_removed,
            &mut self.users_changed,
        ]
    }
}

impl AddAssign for WriteCounters {
    fn add_assign(&mut self, more: WriteCounters) {
        for (sum, (_, more)) in self.counts_mut().into_iter().zip(more.named()) {
            *sum += more;
        }
    }
}

impl Sub for WriteCounters {
    type Output = WriteCounters;

    /// What was changed since `before`.
    fn sub(mut self, before: WriteCounters) -> WriteCounters {
        for (count, (_, before)) in self.counts_mut().into_iter().zip(before.named()) {
            *count -= before;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(from: u64) -> WriteCounters {
        let mut counters = WriteCounters::default();
        for (count, number) in counters.counts_mut().into_iter().zip(from..) {
            *count = number;
        }
        counters
    }

    #[test]
    fn names_and_counts_have_one_order() {
        let counters = counted(1);
        let fields = format!("{counters:?}");
        for ((name, count), number) in counters.named().into_iter().zip(1..) {
            assert_eq!(count, number, "{name}");
            assert!(
                fields.contains(&format!("{name}: {number}")),
                "{name} in {fields}"
            );
        }
    }

    #[test]
    fn what_is_added_can_be_taken_away() {
        let mut sum = counted(1);
        sum += counted(100);
        assert_eq!(sum.labels_removed, 7 + 106);
        assert_eq!(sum - counted(1), counted(100));
    }
}

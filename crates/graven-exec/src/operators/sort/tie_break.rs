//! Rows whose words hold equal bits of keys, put in order by what the words leave open.
//!
//! # How it works
//! The number of the first key that is left open is looked up once for each of the rows and sorted
//! together with their words; rows that are equal still go on with the key after it. Keys whose
//! numbers do not say all there is to their values are compared value by value, and so are two rows
//! and ties that are very long, so that the numbers take no memory worth counting.
//!
//! # Costs
//! One look-up a row and open key, where comparing would take two for each comparison: rows that
//! are tied lie far apart. A mebibyte a thread at most.

use crate::operators::sort::normalized_keys::Numbered;
use graven_cypher::plan::SortOrder;

use super::normalized_keys::{Form, Places};
use super::{KeyColumns, order_rows};
use crate::batch::Batch;

/// Rows whose numbers are written down at a time.
const NUMBERED_MAX: usize = 1 << 16;

/// What words leave open.
pub(super) struct Ties<'a> {
    batches: &'a [Batch],
    keys: &'a KeyColumns,
    places: Places,
    /// What the numbers of the keys are made of, from the first one that is left open.
    open: &'a [Form],
}

impl<'a> Ties<'a> {
    /// Ties of rows of `batches`, of whose keys the last ones, of these forms, are open.
    pub(super) fn new(
        batches: &'a [Batch],
        keys: &'a KeyColumns,
        places: Places,
        open: &'a [Form],
    ) -> Self {
        Self {
            batches,
            keys,
            places,
            open,
        }
    }

    /// Puts rows in order whose words are equal, and in the order of the rows.
    pub(super) fn settle(&self, tied: &mut [u64], scratch: &mut Numbered) {
        self.settle_from(0, tied, scratch);
    }

    /// The same for rows of which so many open keys are equal.
    fn settle_from(&self, equal: usize, tied: &mut [u64], scratch: &mut Numbered) {
        let Some(form) = self.open.get(equal) else {
            return;
        };
        if !form.is_exact() || tied.len() == 2 || tied.len() > NUMBERED_MAX {
            let row = |word: u64| {
                let (batch, row) = self.places.of(word);
                (&self.batches[batch as usize], row as usize)
            };
            tied.sort_by(|a, b| order_rows(self.keys, row(*a), row(*b)));
            return;
        }
        let (slot, direction) = self.keys[self.keys.len() - self.open.len() + equal];
        let turned = match direction {
            SortOrder::Ascending => 0,
            SortOrder::Descending => u64::MAX,
        };
        scratch.clear();
        scratch.extend(tied.iter().map(|word| {
            let (batch, row) = self.places.of(*word);
            let column = self.batches[batch as usize].column(slot);
            (form.number(column, row as usize) ^ turned, *word)
        }));
        // Words differ by their rows alone, whose order is that of the input.
        scratch.sort_unstable();
        let mut still = Vec::new();
        let mut at = 0;
        for same in scratch.chunk_by(|a, b| a.0 == b.0) {
            if same.len() > 1 {
                still.push(at..at + same.len());
            }
            at += same.len();
        }
        for (word, (_, sorted)) in tied.iter_mut().zip(scratch.iter()) {
            *word = *sorted;
        }
        for rows in still {
            self.settle_from(equal + 1, &mut tied[rows], scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Rows come out as comparing them with a stable sort puts them, whatever the words hold.

    use std::sync::Arc;

    use graven_types::rng::SplitMix64;

    use super::super::Buffer;
    use super::*;
    use crate::column::Column;
    use crate::value::Value;

    /// Batches of a wide integer, a float, a boolean, a node, a text and a constant, each of a few
    /// values.
    fn batches(random: &mut SplitMix64) -> Vec<Batch> {
        let batches = (0..5).map(|batch| {
            let rows = 300;
            let wide = [0, 1, 1 << 43, (1 << 43) + 1, i64::MAX, i64::MIN];
            let floats = [0.0, -0.0, 1.5, f64::NAN];
            let texts = ["", "a", "abcdefghij", "abcdefghik"];
            let mut of = |count| -> Vec<usize> { (0..rows).map(|_| random.place(count)).collect() };
            let columns = [
                Column::Integers(of(6).into_iter().map(|at| wide[at]).collect()),
                Column::Floats(of(4).into_iter().map(|at| floats[at]).collect()),
                Column::Booleans(of(2).into_iter().map(|at| at == 1).collect()),
                Column::Nodes(of(3).into_iter().map(|at| [5, 6, u64::MAX][at]).collect()),
                Column::Values(of(4).into_iter().map(|at| Value::text(texts[at])).collect()),
                Column::Constant(Value::Integer(batch % 2), rows),
            ];
            Batch::new(columns.map(Arc::new).to_vec(), rows)
        });
        batches.collect()
    }

    #[test]
    fn ties_are_in_the_order_of_values() {
        let mut random = SplitMix64::new(11);
        for turn in 0..60 {
            let mut buffer = Buffer::default();
            batches(&mut random)
                .into_iter()
                .for_each(|it| buffer.push(it));
            let keys: KeyColumns = (0..1 + turn % 5)
                .map(|key| {
                    let order = [SortOrder::Ascending, SortOrder::Descending];
                    ((turn * 7 + key * 5) % 6, order[(turn / 6 + key) % 2])
                })
                .collect();
            let sorted = buffer.order(&keys, usize::MAX, 1);
            let found: Vec<(u32, u32)> = sorted.at(0..buffer.rows).collect();
            let mut wanted: Vec<(u32, u32)> = (0..5)
                .flat_map(|batch| (0..300).map(move |row| (batch, row)))
                .collect();
            let row = |at: &(u32, u32)| (&buffer.batches[at.0 as usize], at.1 as usize);
            wanted.sort_by(|a, b| order_rows(&keys, row(a), row(b)));
            assert_eq!(found, wanted, "{keys:?}");
        }
    }
}

//! Rows in the order of the ids they hold, so that each page is visited once.

/// The place of a row without an id.
const NOWHERE: u32 = u32::MAX;

/// The distinct ids of some rows, ascending, and which of them each row holds.
#[derive(Default)]
pub(crate) struct IdOrder {
    /// Ascending.
    pub(crate) distinct: Vec<u64>,
    places: Vec<u32>,
}

impl IdOrder {
    /// Of rows that hold an id each, or none.
    pub(crate) fn new(ids: impl ExactSizeIterator<Item = Option<u64>>) -> Self {
        let rows = ids.len();
        let mut pairs: Vec<(u64, u32)> = Vec::with_capacity(rows);
        let (mut ascending, mut highest) = (true, 0);
        for (row, id) in (0..).zip(ids) {
            if let Some(id) = id {
                ascending &= highest <= id;
                highest = highest.max(id);
                pairs.push((id, row));
            }
        }
        let mut order = Self {
            distinct: Vec::with_capacity(pairs.len()),
            places: vec![NOWHERE; rows],
        };
        // Id and row in one number are sorted in a third of the time.
        let bits = usize::BITS - rows.leading_zeros();
        #[expect(
            clippy::stable_sort_primitive,
            reason = "lists one behind the other are merged"
        )]
        if ascending {
            order.fill(pairs.into_iter());
        } else if highest.leading_zeros() >= bits {
            let packed = pairs.iter().map(|(id, row)| id << bits | u64::from(*row));
            let mut packed: Vec<u64> = packed.collect();
            // Mostly these are some ascending lists one behind the other, which a stable sort merges.
            packed.sort();
            let mask = (1 << bits) - 1;
            order.fill(packed.into_iter().map(|both| {
                let row = u32::try_from(both & mask).expect("a batch is small");
                (both >> bits, row)
            }));
        } else {
            pairs.sort_unstable();
            order.fill(pairs.into_iter());
        }
        order
    }

    /// Takes ids in ascending order, each with its row.
    fn fill(&mut self, pairs: impl Iterator<Item = (u64, u32)>) {
        for (id, row) in pairs {
            if self.distinct.last() != Some(&id) {
                self.distinct.push(id);
            }
            let place = u32::try_from(self.distinct.len() - 1).expect("a batch is small");
            self.places[row as usize] = place;
        }
    }

    /// The place of the id of a row among the distinct ones; `None` where it holds none.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        let place = self.places[row];
        (place != NOWHERE).then_some(place as usize)
    }
}

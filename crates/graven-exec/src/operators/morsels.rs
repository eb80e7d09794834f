//! Cuts what threads divide into morsels.
//!
//! # How it works
//! The nodes of a scan are cut so that each morsel has about the same weight: a node weighs 1, and
//! as much as the list has entries that the operator above the scan visits first, as far as the
//! store knows that without reading lists ([`Adjacency::spread`]). An import gives the smallest ids
//! to the nodes with most relationships: of 16,080 tags the first 512 have seven tenths of all
//! messages. Rows are cut into as many each.
//!
//! # Invariants
//! * EX-58 Morsels cover all nodes or rows once, in their order, however they are weighed.

use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use graven_storage::Adjacency;

use crate::batch::{BATCH_ROWS, Batch};
use crate::error::Result;

/// Morsels for each worker, so that they end at nearly the same time.
const MORSELS_PER_WORKER: u64 = 8;
/// Fewer where they would have fewer nodes: operators do for many rows together what they would do
/// again for each few.
const FEWEST_MORSELS: u64 = 4;
const MORSEL_NODES: u64 = 128;
/// Towards the end morsels become smaller, down to such a part: there are so many yet for each
/// worker then.
const LAST_MORSELS: u64 = 3;
const SMALLEST: u64 = 4;

/// Morsels of rows for each worker, and fewest rows of a morsel: what expansions do for many rows
/// together they would do again for each few. Where there are not so many, some morsels all the
/// same, as each row may be much work.
const ROW_MORSELS: usize = 3;
const MORSEL_ROWS: usize = 64;
const FEW_MORSELS: usize = 2;
/// Rows of the first morsel where one worker tries what it takes: such a part of them, but not less
/// than so many.
const FIRST_SHARE: usize = 8;
const FIRST_ROWS: usize = 4;

/// Nodes and what all of them weigh together.
struct Weighed {
    nodes: Range<u64>,
    weight: u64,
}

/// Cuts ascending disjoint ranges into morsels of about the same weight, for so many workers, of at
/// least so many nodes each; at least one morsel, which may be empty. The lists that are visited
/// first are those in `visited`.
///
/// # Errors
/// What reading gives.
pub(super) fn cut_nodes(
    ranges: &[(u64, u64)],
    visited: &[Adjacency],
    workers: usize,
    least: u64,
) -> Result<Vec<(u64, u64)>> {
    let nodes: u64 = ranges.iter().map(|(from, to)| to - from).sum();
    let workers = workers as u64;
    let each = (nodes / workers / MORSEL_NODES).clamp(FEWEST_MORSELS, MORSELS_PER_WORKER);
    let count = workers * each;
    let entries = visited.iter().map(Adjacency::relationship_count);
    let entries = entries.fold(0, u64::saturating_add);
    // What is known of a part of the nodes that weighs no more than a morsel need not be known of
    // each of them.
    let most = nodes.saturating_add(entries) / count;
    let mut lists = Vec::with_capacity(visited.len());
    if let (Some(first), Some(last)) = (ranges.first(), ranges.last()) {
        for adjacency in visited {
            let mut own = Vec::new();
            adjacency.spread(first.0..last.1, most, |nodes, weight| {
                own.push(Weighed { nodes, weight });
            })?;
            lists.push(own);
        }
    }
    let weighed = weigh(ranges, &lists);
    Ok(cut_weighed(&weighed, workers, count, least))
}

/// The nodes of the ranges, cut wherever the weight of a node changes.
fn weigh(ranges: &[(u64, u64)], lists: &[Vec<Weighed>]) -> Vec<Weighed> {
    let all = lists.iter().flatten();
    let mut borders: Vec<u64> = all.flat_map(|it| [it.nodes.start, it.nodes.end]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut next = vec![0; lists.len()];
    let mut weighed = Vec::with_capacity(borders.len() + ranges.len());
    let mut border = 0;
    for (from, to) in ranges {
        let mut from = *from;
        while from < *to {
            while borders.get(border).is_some_and(|it| *it <= from) {
                border += 1;
            }
            let end = borders.get(border).map_or(*to, |it| *it.min(to));
            let mut weight = end - from;
            for (own, next) in lists.iter().zip(&mut next) {
                while own.get(*next).is_some_and(|it| it.nodes.end <= from) {
                    *next += 1;
                }
                if let Some(it) = own.get(*next)
                    && it.nodes.start <= from
                {
                    weight = weight.saturating_add(share(it, end - from));
                }
            }
            weighed.push(Weighed {
                nodes: from..end,
                weight,
            });
            from = end;
        }
    }
    weighed
}

/// What so many of the nodes weigh.
fn share(of: &Weighed, nodes: u64) -> u64 {
    let all = of.nodes.end - of.nodes.start;
    let weight = u128::from(of.weight) * u128::from(nodes) / u128::from(all.max(1));
    u64::try_from(weight).unwrap_or(u64::MAX)
}

/// Cuts them into morsels of `1 / count` of the weight, smaller ones at the end.
fn cut_weighed(weighed: &[Weighed], workers: u64, count: u64, least: u64) -> Vec<(u64, u64)> {
    let all = weighed.iter().map(|it| it.weight);
    let all = all.fold(0, u64::saturating_add);
    let (smallest, largest) = (all / count / SMALLEST, all / count);
    let size_of = |left: u64| {
        let size = left / (workers * LAST_MORSELS).max(1);
        size.clamp(smallest, largest).max(1)
    };
    let mut behind = all;
    let mut size = size_of(behind);
    let mut morsels = Vec::new();
    let mut start = weighed.first().map_or(0, |it| it.nodes.start);
    let (mut held, mut nodes) = (0_u64, 0);
    for it in weighed {
        let mut left = it.nodes.clone();
        while !left.is_empty() {
            let rest = Weighed {
                weight: share(it, left.end - left.start),
                nodes: left.clone(),
            };
            // As many nodes as are missing, by weight and by number.
            let missing = size.saturating_sub(held);
            let by_weight = match rest.weight > missing {
                true => share_of_weight(&rest, missing).max(1),
                false => rest.nodes.end - rest.nodes.start,
            };
            let taken = by_weight
                .max(least.saturating_sub(nodes))
                .min(left.end - left.start);
            held = held.saturating_add(share(&rest, taken));
            nodes += taken;
            left.start += taken;
            if held >= size && nodes >= least {
                morsels.push((start, left.start));
                start = left.start;
                behind = behind.saturating_sub(held);
                size = size_of(behind);
                (held, nodes) = (0, 0);
            }
        }
    }
    let end = weighed.last().map_or(0, |it| it.nodes.end);
    if nodes > 0 || morsels.is_empty() {
        morsels.push((start, end));
    }
    morsels
}

/// How many of the nodes weigh as much.
fn share_of_weight(of: &Weighed, weight: u64) -> u64 {
    let all = of.nodes.end - of.nodes.start;
    let nodes = u128::from(all) * u128::from(weight) / u128::from(of.weight.max(1));
    u64::try_from(nodes).unwrap_or(all)
}

/// Cuts batches into morsels of about the same number of rows; the first one is short where one
/// worker tries `alone` what it takes.
pub(super) fn cut_rows(batches: &[Batch], rows: usize, workers: usize, alone: bool) -> Vec<Batch> {
    let fewest = MORSEL_ROWS.min(rows.div_ceil(workers * FEW_MORSELS)).max(1);
    let size = (rows / (workers * ROW_MORSELS)).clamp(fewest, BATCH_ROWS);
    let first = (rows / FIRST_SHARE).clamp(FIRST_ROWS, MORSEL_ROWS);
    let mut morsels = Vec::new();
    for batch in batches {
        let mut from = 0;
        while from < batch.len() {
            let size = if alone && morsels.is_empty() {
                first
            } else {
                size
            };
            let to = batch.len().min(from + size);
            morsels.push(batch.slice(from, to));
            from = to;
        }
    }
    morsels
}

/// The part of a scan that a worker is to run: node ids `from..to`.
#[derive(Clone, Debug, Default)]
pub(crate) struct MorselSlot(Arc<Mutex<(u64, u64)>>);

impl MorselSlot {
    pub(super) fn get(&self) -> (u64, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, morsel: (u64, u64)) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = morsel;
    }
}

#[cfg(test)]
mod tests {
    //! Morsels cover all ranges once, in order, and weigh about the same.

    use super::{Weighed, cut_weighed, weigh};

    type Ranges = &'static [(u64, u64)];

    const CASES: [Ranges; 5] = [
        &[],
        &[(5, 6)],
        &[(0, 64 * 32)],
        &[(3, 100), (200, 5000), (5001, 5002), (9000, 20_000)],
        &[(0, 1), (2, 3), (100_000, 100_001)],
    ];

    fn lists(of: &[(u64, u64, u64)]) -> Vec<Weighed> {
        let each = of.iter().map(|(from, to, weight)| Weighed {
            nodes: *from..*to,
            weight: *weight,
        });
        each.collect()
    }

    fn covered(ranges: &[(u64, u64)], morsels: &[(u64, u64)]) -> Vec<u64> {
        let all = morsels.iter().flat_map(|(from, to)| *from..*to);
        all.filter(|id| ranges.iter().any(|(from, to)| (from..to).contains(&id)))
            .collect()
    }

    /// Goal (EX-58): whatever the nodes weigh, each of them is in one morsel, and none has fewer
    /// than it may.
    #[test]
    fn morsels_cover_the_ranges() {
        let weights = [
            Vec::new(),
            vec![lists(&[(0, 1, 1_000_000), (1, 64, 70), (4000, 30_000, 9)])],
            vec![
                lists(&[(5, 6, u64::MAX), (250, 4999, 17)]),
                lists(&[(0, 100_001, 5)]),
            ],
        ];
        for ranges in CASES {
            for weights in &weights {
                for (workers, count, least) in
                    [(1, 1, 1), (2, 2, 64), (2, 12, 4), (2, 32, 1), (3, 7, 1000)]
                {
                    let morsels = cut_weighed(&weigh(ranges, weights), workers, count, least);
                    assert!(!morsels.is_empty());
                    assert!(morsels.windows(2).all(|pair| pair[0].1 <= pair[1].0));
                    let wanted: Vec<u64> =
                        ranges.iter().flat_map(|(from, to)| *from..*to).collect();
                    assert_eq!(covered(ranges, &morsels), wanted, "{ranges:?} {count}");
                    let (_, whole) = morsels.split_last().expect("there is one");
                    for morsel in whole {
                        let nodes = covered(ranges, &[*morsel]).len() as u64;
                        assert!(nodes >= least, "{morsel:?} of {ranges:?}");
                    }
                }
            }
        }
    }

    /// Goal: where a few nodes have most relationships, no morsel weighs much more than another.
    #[test]
    fn hubs_are_told_apart() {
        let hubs: Vec<(u64, u64, u64)> = (0..200)
            .map(|node| (node, node + 1, 2000 / (node + 1)))
            .collect();
        let (hubs, rest) = (lists(&hubs), lists(&[(200, 10_000, 3000)]));
        let all: Vec<Weighed> = hubs.into_iter().chain(rest).collect();
        let weight = |from: u64, to: u64| -> u64 {
            let own = all.iter().filter(|it| (from..to).contains(&it.nodes.start));
            own.map(|it| it.weight).sum::<u64>() + (to - from)
        };
        let total = weight(0, 10_000);
        let weighed: Vec<Vec<Weighed>> = vec![
            all.iter()
                .map(|it| Weighed {
                    nodes: it.nodes.clone(),
                    weight: it.weight,
                })
                .collect(),
        ];
        let morsels = cut_weighed(&weigh(&[(0, 10_000)], &weighed), 2, 10, 1);
        assert!((10..=40).contains(&morsels.len()), "{morsels:?}");
        for (from, to) in morsels
            .iter()
            .filter(|(from, to)| to - from > 1 && *to <= 200)
        {
            assert!(
                weight(*from, *to) <= total / 5,
                "{from}..{to} of {morsels:?}"
            );
        }
    }
}

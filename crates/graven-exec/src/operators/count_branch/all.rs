//! The numbers of a branch for all nodes, where that costs less than for those that are asked for.

use crate::error::Result;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use super::Branch;
use crate::error::ExecError;
use crate::memory::Memory;
use crate::operators::adjacency_cache::THREADS_FROM;
use crate::operators::adjacency_cache::ids_of;
use crate::operators::adjacency_cache::pieces_of;
use crate::operators::counts::memory;
use crate::operators::counts::overflow;
use crate::operators::dense_counts::All;
use crate::operators::dense_counts::DenseCounts;
use crate::operators::dense_counts::DensifyPolicy;
use crate::operators::dense_counts::Numbers;
use crate::operators::dense_counts::{CHECKED_LISTS, Filled, SPARSE};
use crate::operators::neighbor_batch::csr_lists::is_wanted;
use crate::query_context::QueryContext;
use crate::reading_threads::on_reading_threads;
use crate::worker_pool::JobKey;
use graven_storage::Adjacency;
use graven_storage::NodeId;
use graven_storage::NodeSet;
use graven_storage::Sweep;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

impl Branch {
    /// The numbers of all nodes, found now if they are not there; `None` if they cannot be had.
    ///
    /// # Errors
    /// Only that the statement is cancelled or out of time (EX-59).
    pub(super) fn dense_counts(&mut self, rt: &QueryContext) -> Result<Option<Arc<DenseCounts>>> {
        let mut behind = Vec::with_capacity(self.branches.len());
        for branch in &mut self.branches {
            match branch.dense_counts(rt)? {
                Some(numbers) => behind.push(numbers),
                None => {
                    self.filling = DensifyPolicy::never();
                    return Ok(None);
                }
            }
        }
        let joint = self.known.all();
        let mut all = joint.lock();
        if let All::Unknown = &*all {
            *all = match self.find_all(&behind, joint.key(), rt) {
                Ok(Some(numbers)) => All::Known(Arc::new(numbers)),
                Err(error @ (ExecError::Cancelled | ExecError::TimedOut { .. })) => {
                    return Err(error);
                }
                _ => All::Refused,
            };
        }
        match &*all {
            All::Known(numbers) => {
                self.known.use_all(numbers);
                Ok(Some(Arc::clone(numbers)))
            }
            _ => {
                self.filling = DensifyPolicy::never();
                Ok(None)
            }
        }
    }

    /// Finds the numbers of all nodes by those of the branches behind; `None` where that takes too
    /// much memory.
    fn find_all(
        &self,
        behind: &[Arc<DenseCounts>],
        tag: JobKey,
        rt: &QueryContext,
    ) -> Result<Option<DenseCounts>> {
        let Some(span) = self.known.span() else {
            return Ok(None);
        };
        let mut parts = self.pattern.parts.iter();
        if !parts.all(|part| part.adjacency.ids_fit_u32()) {
            return Ok(None);
        }
        if let Some(numbers) = self.fill::<u32>(&span, behind, tag, rt)? {
            return Ok(Some(numbers.of(span.start, Numbers::Narrow)));
        }
        let numbers = self.fill::<u64>(&span, behind, tag, rt)?;
        Ok(numbers.map(|numbers| numbers.of(span.start, Numbers::Wide)))
    }

    /// As [`Branch::find_all`] in numbers of a size; `None` also where one of them is larger.
    fn fill<N: TryFrom<u64> + Send>(
        &self,
        span: &Range<u64>,
        behind: &[Arc<DenseCounts>],
        tag: JobKey,
        rt: &QueryContext,
    ) -> Result<Option<Filled<N>>> {
        let ids = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
        let mut charged = memory(&rt.budget);
        let bytes = ids.saturating_mul(size_of::<N>());
        if !(charged.is_small(bytes) && charged.try_charge(bytes)) {
            return Ok(None);
        }
        let mut work = span.end - span.start;
        for part in &self.pattern.parts {
            work = work.saturating_add(part.adjacency.relationship_count());
        }
        let threads = match work < THREADS_FROM as u64 {
            true => 1,
            false => rt.tuning.threads.max(1),
        };
        let mut numbers: Vec<N> = Vec::with_capacity(ids);
        let mut left = &mut numbers.spare_capacity_mut()[..ids];
        // Made here, where they count for the statement.
        let pieces = pieces_of(span, threads).into_iter().map(|range| {
            let length = usize::try_from(range.end - range.start).expect("they are in memory");
            let (own, others) = std::mem::take(&mut left).split_at_mut(length);
            left = others;
            (range, Mutex::new((own, memory(&rt.budget))))
        });
        let pieces: Vec<_> = pieces.collect();
        let found = on_reading_threads(&pieces, threads, tag, rt, |(range, piece)| {
            let mut piece = piece.lock().unwrap_or_else(PoisonError::into_inner);
            let (own, memory) = &mut *piece;
            self.find_range(range, behind, own, memory, rt)
        });
        drop(pieces);
        let fit = found.into_iter().collect::<Result<Vec<bool>>>()?;
        if !fit.into_iter().all(|fits| fits) {
            return Ok(None);
        }
        // SAFETY: pieces cover the span, whose ids there is room for, and `find_range` has written
        // each number of each of them.
        unsafe { numbers.set_len(ids) };
        Ok(Some(Filled { numbers, charged }))
    }

    /// Finds the numbers of the nodes with these ids and puts them into `to`, which is as long;
    /// whether each of them fits.
    fn find_range<N: TryFrom<u64>>(
        &self,
        range: &Range<u64>,
        behind: &[Arc<DenseCounts>],
        to: &mut [MaybeUninit<N>],
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<bool> {
        memory.charge(to.len().saturating_mul(9))?;
        let mut sums = vec![0_u64; to.len()];
        let (first, words) = ids_of(range);
        self.add_lists(
            NodeSet::new(first, &words),
            range.start,
            behind,
            &mut sums,
            rt,
        )?;
        let least = self.least();
        for (to, sum) in to.iter_mut().zip(&sums) {
            match N::try_from((*sum).max(least)) {
                Ok(number) => to.write(number),
                Err(_) => return Ok(false),
            };
        }
        memory.clear();
        rt.check_cancelled()?;
        Ok(true)
    }

    /// The numbers of `nodes`, which ascend, if those of all branches behind are there.
    pub(super) fn sums_of_all(
        &mut self,
        nodes: &[u64],
        rt: &QueryContext,
    ) -> Result<Option<Vec<u64>>> {
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
            return Ok(None);
        };
        let first = first & !63;
        let mut parts = self.pattern.parts.iter();
        // The numbers of few nodes far from each other are found list by list.
        if self.branches.is_empty()
            || (last - first) / SPARSE > nodes.len() as u64
            || !parts.all(|part| part.adjacency.ids_fit_u32())
        {
            return Ok(None);
        }
        let behind = self.branches.iter().map(|branch| branch.known.known_all());
        let Some(behind) = behind.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let place = |node: u64| usize::try_from(node - first).expect("a few times the nodes");
        let ids = place(*last) + 1;
        self.memory.charge(9 * ids)?;
        let mut words = vec![0_u64; ids.div_ceil(64)];
        for node in nodes {
            words[place(*node) / 64] |= 1 << (node % 64);
        }
        let mut sums = vec![0_u64; ids];
        self.add_lists(
            NodeSet::new(NodeId(first), &words),
            first,
            &behind,
            &mut sums,
            rt,
        )?;
        let least = self.least();
        let numbers = nodes.iter().map(|node| sums[place(*node)].max(least));
        Ok(Some(numbers.collect()))
    }

    /// Adds what hangs on the ends of the nodes of a set to their sums, which are those of ids from
    /// `first` on.
    fn add_lists(
        &self,
        set: NodeSet<'_>,
        first: u64,
        behind: &[Arc<DenseCounts>],
        sums: &mut [u64],
        rt: &QueryContext,
    ) -> Result<()> {
        let all_count = self.pattern.ends_lie_in(&self.ends)?;
        for part in &self.pattern.parts {
            let (mut visited, mut failed) = (0_u64, Ok(()));
            Adjacency::sweep_set(&[&part.adjacency], set, Sweep::Up, |_, node, list| {
                let at = usize::try_from(node.0.wrapping_sub(first)).unwrap_or(usize::MAX);
                let Some(sum) = sums.get_mut(at) else {
                    return ControlFlow::Continue(());
                };
                let skipped = part.skip_loops.then_some(node.0);
                let ends = list.iter().map(|end| u64::from(*end));
                let ends = ends.filter(|end| Some(*end) != skipped);
                failed = match (behind, all_count) {
                    ([], true) if skipped.is_none() => {
                        *sum += list.len() as u64;
                        Ok(())
                    }
                    ([only], true) if skipped.is_none() => self.add_only(list, only, sum),
                    (_, true) => self.add(ends, behind, sum),
                    (_, false) => {
                        let ends = ends.filter(|end| is_wanted(Some(&self.ends), *end));
                        self.add(ends, behind, sum)
                    }
                };
                visited += 1;
                if failed.is_ok() && visited.is_multiple_of(CHECKED_LISTS) {
                    failed = rt.check_cancelled();
                }
                match &failed {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            failed?;
        }
        Ok(())
    }

    /// Adds to `sum` what hangs on these ends in the only branch.
    #[inline]
    fn add_only(&self, ends: &[u32], numbers: &DenseCounts, sum: &mut u64) -> Result<()> {
        let Numbers::Narrow(narrow) = &numbers.numbers else {
            let ends = ends.iter().map(|end| u64::from(*end));
            return self.add(ends, std::slice::from_ref(&numbers), sum);
        };
        // Fewer than 2^32 ends, on each of which fewer hang.
        let mut own = 0_u64;
        for end in ends {
            let at = usize::try_from(u64::from(*end).wrapping_sub(numbers.first));
            let number = at.ok().and_then(|at| narrow.get(at));
            own += u64::from(*number.ok_or_else(|| self.pattern.stray(u64::from(*end)))?);
        }
        *sum = sum.checked_add(own).ok_or_else(overflow)?;
        Ok(())
    }

    /// Adds to `sum` what hangs on these ends.
    #[inline]
    fn add(
        &self,
        ends: impl Iterator<Item = u64>,
        behind: &[impl std::ops::Deref<Target = DenseCounts>],
        sum: &mut u64,
    ) -> Result<()> {
        for end in ends {
            let mut product = 1_u64;
            for numbers in behind {
                let number = numbers.get(end).ok_or_else(|| self.pattern.stray(end))?;
                product = product.checked_mul(number).ok_or_else(overflow)?;
            }
            *sum = sum.checked_add(product).ok_or_else(overflow)?;
        }
        Ok(())
    }
}

//! All lists of an adjacency, laid out once for a statement that visits many of them.
//!
//! # How it works
//! Expansions report what visiting their lists has cost. Once that comes to what laying out all
//! lists of the adjacency would cost, they are laid out, in one sweep over its pages. From then on
//! every operator of the statement finds lists there by the id of their node: nothing is sorted,
//! located, pinned or decoded any more. So no statement pays more than twice what the cheaper of
//! both ways would have cost it. Where the planner expects visits that pay by far, that is done
//! much earlier, but not at once: a limit above may end the statement after a few rows. Lists that
//! take more than 1/32 of the memory limit stay where they are.
//!
//! Incoming lists with a condition on relationships ([`FilteredAdjacency`]) are made from the lists
//! of the other ends, which know the ids of their relationships. These are read through in order,
//! so that properties are as well; each relationship that satisfies the condition is counted and
//! laid out by its other end. That takes every relationship once, and is done when so many were
//! asked for that it pays. The condition may fail for a relationship that no operator asks for. The
//! lists are not made then, and the operators evaluate the condition themselves.
//!
//! # Invariants
//! * EX-40 Only for statements that neither write nor run in a transaction: what is laid out does
//!   not change while they run.
//!
//! # Concurrency
//! The threads of a statement share the lists; one of them lays them out, with the help of others,
//! in pieces by the ids of their nodes; those that want the same help as well
//! ([`crate::worker_pool::CooperativeCell`]).
//!
//! # Source
//! Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", 1988 (renting until the rent
//! comes to the price).

use super::list_cache::AdjacencyCache;
use super::list_cache::Key;
use super::list_cache::{Conditional, State};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graven_cypher::plan::Expr;
use graven_storage::{Adjacency, Direction, IdCursor, NodeId, NodeSet, Sweep};

use super::neighbor_batch::csr_lists::{CsrLists, EndRanges, is_wanted};
use crate::batch::BATCH_ROWS;
use crate::error::{ExecError, Result};
use crate::id_sort::IdOrder;
use crate::memory::Memory;
use crate::pattern::{Pattern, PatternPart, sweep};
use crate::query_context::QueryContext;
use crate::reading_threads::on_reading_threads;
use crate::threads::on_threads;
use crate::tuning::ListAccess;
use crate::worker_pool::{CooperativeCell, JobKey};

/// Cost of visiting a list among others far from it, and among others near it, in entries decoded.
const FAR: u64 = 8;
const NEAR: u64 = 2;

/// Lists of one neighbour each are laid out so many times faster than others.
const TO_ONE_FASTER: u64 = 8;

/// If the visits that the planner expects cost so many times the price, it is paid so much earlier.
const PAYS: u64 = 2;
const EARLIER: u64 = 16;

/// Lists are near each other if one node in so many is visited.
const NEAR_SHARE: u64 = 8;

/// From so many lists and entries on they are laid out by all threads of the statement, in so many
/// pieces for each: those that want them would only wait.
pub(super) const THREADS_FROM: usize = 64 << 10;
const PIECES: usize = 4;

/// Fewer rows are no case for lists with a condition; one relationship in so many must have been
/// asked for.
const PASSING_ROWS: usize = 32;
const PASSING_SHARE: u64 = 4;

/// Relationships that are judged together, some batches.
const FILTER_BATCH: usize = 16 * BATCH_ROWS;

/// Incoming lists without what a condition on relationships refuses.
pub(super) struct FilteredAdjacency<'a> {
    pub(super) part: &'a PatternPart,
    pub(super) ends: EndRanges<'a>,
    /// Decides.
    pub(super) pattern: &'a Pattern,
    /// By what it is told from others of the statement.
    pub(super) condition: &'a Expr,
}

/// Nodes whose lists were visited together.
pub(super) struct Visit {
    pub(super) nodes: usize,
    /// The first and the last of them.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) entries: usize,
}

impl Visit {
    fn cost(&self) -> u64 {
        let nodes = self.nodes as u64;
        let near = (self.last - self.first) / NEAR_SHARE <= nodes;
        nodes * if near { NEAR } else { FAR } + self.entries as u64
    }
}

fn key_of(part: &PatternPart, ends: EndRanges<'_>) -> Key {
    let forward = part.direction == Direction::Out;
    let ends = ends.map(<[_]>::to_vec);
    (part.adjacency.rel_type(), forward, part.skip_loops, ends)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AdjacencyCache {
    /// Nothing laid out yet.
    fn state(&self, part: &PatternPart, ends: EndRanges<'_>) -> Arc<CooperativeCell<State>> {
        let key = key_of(part, ends);
        let mut known = locked(&self.known);
        let state = known.entry(key);
        Arc::clone(state.or_insert_with(|| Arc::new(CooperativeCell::new(State::NEW))))
    }

    /// All lists of `part`, if they are laid out or it is time for that; so many more visits are
    /// expected, if any number is known.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn get(
        &self,
        part: &PatternPart,
        ends: EndRanges<'_>,
        expected: f64,
        rt: &QueryContext,
    ) -> Result<Option<Arc<CsrLists>>> {
        let state = self.state(part, ends);
        let tag = state.key();
        let mut state = state.lock();
        match &*state {
            State::There(lists) => return Ok(Some(Arc::clone(lists))),
            State::TooLarge => return Ok(None),
            State::Visited { .. } if rt.tuning.list_access == ListAccess::Whole => {}
            State::Visited { cost: 0, .. } => return Ok(None),
            State::Visited { cost, to_one } => {
                let entries = part.adjacency.relationship_count();
                let span = part.adjacency.node_span()?;
                let lists = entries.min(span.end - span.start);
                let price = (lists * NEAR + entries) / if *to_one { TO_ONE_FASTER } else { 1 };
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let pays = expected * FAR as f64 >= (PAYS * price) as f64;
                if *cost < if pays { price / EARLIER } else { price } {
                    return Ok(None);
                }
            }
        }
        let lists = self.decode_lists(part, ends, tag, rt)?;
        *state = match &lists {
            Some(lists) => State::There(Arc::clone(lists)),
            None => State::TooLarge,
        };
        Ok(lists)
    }

    /// Reports that lists of `part` were visited.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn visited(
        &self,
        part: &PatternPart,
        ends: EndRanges<'_>,
        visit: &Visit,
    ) -> Result<()> {
        let state = self.state(part, ends);
        if let State::Visited { cost, to_one } = &mut *state.lock() {
            if *cost == 0 {
                *to_one = part.adjacency.seems_sole(NodeId(visit.first))?;
            }
            *cost = cost.saturating_add(visit.cost());
        }
        Ok(())
    }

    /// Lays out all lists, if they fit.
    fn decode_lists(
        &self,
        part: &PatternPart,
        ends: EndRanges<'_>,
        tag: JobKey,
        rt: &QueryContext,
    ) -> Result<Option<Arc<CsrLists>>> {
        let adjacency = &part.adjacency;
        let span = adjacency.node_span()?;
        let room = |entries: u64| usize::try_from(entries).ok();
        let sizes = room(span.end - span.start).zip(room(adjacency.relationship_count()));
        let Some((nodes, entries)) = sizes.filter(|_| adjacency.ids_fit_u32()) else {
            return Ok(None);
        };
        let threads = match nodes + entries < THREADS_FROM {
            true => 1,
            false => rt.tuning.threads.max(1),
        };
        let bytes = CsrLists::bytes(nodes, entries);
        // Pieces are there until they are joined.
        let pieces_bytes = if threads > 1 { bytes } else { 0 };
        if u32::try_from(entries).is_err() || !self.hold(bytes, pieces_bytes, rt) {
            return Ok(None);
        }
        let ranges = pieces_of(&span, threads);
        let share = entries / ranges.len().max(1);
        let laid_out = on_reading_threads(&ranges, threads, tag, rt, |range| {
            lay_out_range(part, ends, range.clone(), share)
        });
        let pieces = laid_out.into_iter().collect::<Result<Vec<_>>>()?;
        let lists = CsrLists::joined(pieces, threads);
        self.release(pieces_bytes);
        Ok(Some(Arc::new(lists)))
    }

    /// Charges for lists, and for what is gone when they are there; `false` where that is too much.
    fn hold(&self, bytes: usize, meanwhile: usize, rt: &QueryContext) -> bool {
        let mut memory = locked(&self.memory);
        let memory = memory
            .get_or_insert_with(|| Memory::new(&rt.budget, "Expand", "start from fewer nodes"));
        memory.is_small(bytes) && memory.try_charge(bytes + meanwhile)
    }

    fn release(&self, bytes: usize) {
        if let Some(memory) = locked(&self.memory).as_mut() {
            memory.release(bytes);
        }
    }

    /// All lists of `passing`, if they are laid out or those of `nodes` are enough for that.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn passing(
        &self,
        passing: &FilteredAdjacency<'_>,
        nodes: impl ExactSizeIterator<Item = Option<u64>> + Clone,
        rt: &QueryContext,
    ) -> Result<Option<Arc<CsrLists>>> {
        if rt.tuning.list_access == ListAccess::Stored {
            return Ok(None);
        }
        let key = key_of(passing.part, passing.ends);
        let state = {
            let mut known = locked(&self.conditional);
            let same = |it: &&Conditional| it.key == key && it.condition == *passing.condition;
            let found = known.iter().find(same).map(|it| Arc::clone(&it.state));
            found.unwrap_or_else(|| {
                let state = Arc::new(CooperativeCell::new(State::NEW));
                known.push(Conditional {
                    key,
                    condition: passing.condition.clone(),
                    state: Arc::clone(&state),
                });
                state
            })
        };
        let tag = state.key();
        let mut state = state.lock();
        match &mut *state {
            State::There(lists) => return Ok(Some(Arc::clone(lists))),
            State::TooLarge => return Ok(None),
            State::Visited { .. } if rt.tuning.list_access == ListAccess::Whole => {}
            State::Visited { cost: asked, .. } => {
                if nodes.len() < PASSING_ROWS {
                    return Ok(None);
                }
                let nodes = IdOrder::new(nodes).distinct;
                passing.part.sweep(&nodes, Sweep::Up, |_, list| {
                    *asked += list.len() as u64;
                    Ok(ControlFlow::Continue(()))
                })?;
                let all = passing.part.adjacency.relationship_count();
                if *asked < all / PASSING_SHARE {
                    return Ok(None);
                }
            }
        }
        let lists = match self.lay_out_passing(passing, tag, rt) {
            Ok(lists) => lists,
            Err(error @ (ExecError::Cancelled | ExecError::TimedOut { .. })) => return Err(error),
            Err(_) => None,
        };
        *state = match &lists {
            Some(lists) => State::There(Arc::clone(lists)),
            None => State::TooLarge,
        };
        Ok(lists)
    }

    /// As [`AdjacencyCache::decode_lists`] with a condition.
    fn lay_out_passing(
        &self,
        passing: &FilteredAdjacency<'_>,
        tag: JobKey,
        rt: &QueryContext,
    ) -> Result<Option<Arc<CsrLists>>> {
        let span = passing.part.adjacency.node_span()?;
        let others = passing.part.reversed.node_span()?;
        let entries = passing.part.adjacency.relationship_count();
        let narrow = passing.part.adjacency.ids_fit_u32() && passing.part.reversed.ids_fit_u32();
        let sizes = u32::try_from(entries)
            .ok()
            .zip(u32::try_from(span.end - span.start).ok());
        let Some((entries, nodes)) = sizes.filter(|_| narrow) else {
            return Ok(None);
        };
        let (entries, nodes) = (entries as usize, nodes as usize);
        let bytes = CsrLists::bytes(nodes, entries);
        let meanwhile = 8 * entries + 4 * nodes;
        if !self.hold(bytes, meanwhile, rt) {
            return Ok(None);
        }
        let threads = match nodes + entries < THREADS_FROM {
            true => 1,
            false => rt.tuning.threads.max(1),
        };
        let ranges = pieces_of(&others, threads).into_iter();
        // Each piece is judged with a runtime of its own, as those of workers are.
        let ranges: Vec<_> = ranges
            .map(|range| (range, Mutex::new(rt.for_worker())))
            .collect();
        let found = on_reading_threads(&ranges, threads, tag, rt, |(range, rt)| {
            passing_pairs(passing, range.clone(), &locked(rt))
        });
        let found = found.into_iter().collect::<Result<Vec<_>>>();
        let found = found.inspect_err(|_| self.release(bytes + meanwhile))?;
        let lists = by_node(&found, span.start, nodes, threads);
        let saved = 8 * (entries - found.iter().map(Vec::len).sum::<usize>());
        self.release(meanwhile + saved);
        Ok(Some(Arc::new(lists)))
    }
}

/// Ids in pieces for threads; they begin at multiples of 64.
pub(super) fn pieces_of(span: &Range<u64>, threads: usize) -> Vec<Range<u64>> {
    let pieces = match threads {
        1 => 1,
        _ => threads * PIECES,
    };
    let words = (span.end - (span.start & !63)).div_ceil(64);
    let length = 64 * words.div_ceil(pieces as u64).max(1);
    let starts = (span.start & !63..span.end).step_by(usize::try_from(length).expect("ids"));
    starts
        .map(|start| start.max(span.start)..span.end.min(start + length))
        .collect()
}

/// Pairs of a node and an end whose relationships pass, of the ends with these ids, which ascend.
fn passing_pairs(
    passing: &FilteredAdjacency<'_>,
    range: Range<u64>,
    rt: &QueryContext,
) -> Result<Vec<(u32, u32)>> {
    let FilteredAdjacency {
        part,
        ends,
        pattern,
        ..
    } = passing;
    let wanted: Vec<u64> = range.filter(|end| is_wanted(*ends, *end)).collect();
    let (mut pairs, mut waiting) = (Vec::new(), Vec::new());
    let (mut ids, mut relationships): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut cursor = IdCursor::default();
    let mut judged = Ok(());
    let mut judge = |waiting: &mut Vec<(u32, u32)>, relationships: &mut Vec<u64>| -> Result<()> {
        rt.check_cancelled()?;
        for (waiting, some) in (waiting.chunks(BATCH_ROWS)).zip(relationships.chunks(BATCH_ROWS)) {
            let passed = pattern.passing(some, rt)?;
            pairs.extend(passed.iter().map(|at| waiting[*at as usize]));
        }
        waiting.clear();
        relationships.clear();
        Ok(())
    };
    sweep(&part.reversed, &wanted, Sweep::Up, |end, list| {
        let other = u32::try_from(end.0).expect("ids fit 32 bits");
        list.append_relationships_at(&mut cursor, 0..list.len(), &mut relationships)?;
        waiting.extend(list.decode(&mut ids)?.iter().map(|node| (*node, other)));
        if waiting.len() >= FILTER_BATCH {
            judged = judge(&mut waiting, &mut relationships);
        }
        Ok(match &judged {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })
    })?;
    judged?;
    judge(&mut waiting, &mut relationships)?;
    if part.skip_loops {
        pairs.retain(|(node, end)| node != end);
    }
    Ok(pairs)
}

/// The ends of each node from `first` on, in the order of the pairs; each thread takes the nodes of
/// a range.
fn by_node(found: &[Vec<(u32, u32)>], first: u64, nodes: usize, threads: usize) -> CsrLists {
    let base = u32::try_from(first).expect("ids fit 32 bits");
    let mut lengths = vec![0_u32; nodes];
    for (node, _) in found.iter().flatten() {
        // The operators that read a damaged list report the damage.
        if let Some(length) = lengths.get_mut(node.wrapping_sub(base) as usize) {
            *length += 1;
        }
    }
    let all: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let mut neighbours = vec![0_u64; usize::try_from(all).expect("they are in memory")];
    let mut tasks = Vec::new();
    let (mut left, mut from) = (&mut neighbours[..], 0);
    let share = (all / threads.max(1) as u64).max(1);
    while from < nodes {
        let mut held = 0;
        let mut to = from;
        while to < nodes && held < share {
            held += u64::from(lengths[to]);
            to += 1;
        }
        if tasks.len() + 1 == threads {
            held += lengths[to..]
                .iter()
                .map(|length| u64::from(*length))
                .sum::<u64>();
            to = nodes;
        }
        let own;
        (own, left) = left.split_at_mut(usize::try_from(held).expect("they are in memory"));
        tasks.push((from..to, own));
        from = to;
    }
    let counted = &lengths;
    on_threads(tasks, |(range, own)| {
        let mut behind = 0;
        let starts = counted[range.clone()].iter().map(|length| {
            behind += length;
            behind - length
        });
        let mut at: Vec<u32> = starts.collect();
        for (node, end) in found.iter().flatten() {
            let node = (node.wrapping_sub(base) as usize).wrapping_sub(range.start);
            if let Some(at) = at.get_mut(node) {
                own[*at as usize] = u64::from(*end);
                *at += 1;
            }
        }
    });
    CsrLists::of_lengths(first, lengths.into_iter(), neighbours)
}

/// The ids of a range as a set; from the last multiple of 64 before it on.
pub(super) fn ids_of(range: &Range<u64>) -> (NodeId, Vec<u64>) {
    let first = range.start & !63;
    let words = usize::try_from((range.end - first).div_ceil(64)).expect("fewer than nodes");
    let mut all = vec![u64::MAX; words];
    // Ids behind the range belong to the next one.
    if !range.end.is_multiple_of(64)
        && let Some(last) = all.last_mut()
    {
        *last = (1 << (range.end % 64)) - 1;
    }
    (NodeId(first), all)
}

/// The lists of the nodes with these ids; about so many entries are expected.
fn lay_out_range(
    part: &PatternPart,
    ends: EndRanges<'_>,
    range: Range<u64>,
    entries: usize,
) -> Result<CsrLists> {
    let (first, all) = ids_of(&range);
    let nodes = usize::try_from(range.end - range.start).expect("ids are narrow");
    let mut lists = CsrLists::of_ids(range.start, nodes, entries);
    Adjacency::sweep_set(
        &[&part.adjacency],
        NodeSet::new(first, &all),
        Sweep::Up,
        |_, node, list| {
            lists.put(node.0, list, ends, part.skip_loops.then_some(node.0));
            ControlFlow::Continue(())
        },
    )?;
    Ok(lists)
}

//! All lists of an adjacency, laid out once for a statement that visits many of them.
//!
//! # How it works
//! Expansions report what visiting their lists has cost. Once that comes to what laying out all lists of the adjacency would cost,
//! they are laid out, in one sweep over its pages, and every operator of the statement finds lists there by the id of their
//! node: nothing is sorted, located, pinned or decoded any more. So no statement pays more than twice what the cheaper of both
//! ways would have cost it. Where the planner expects visits that pay by far, that is done much earlier, but not at once:
//! a limit above may end the statement after a few rows. Lists that take more than a small part of the memory limit stay where they are.
//!
//! # Invariants
//! * EX-40 Only for statements that neither write nor run in a transaction: what is laid out does not change while they run.
//!
//! # Concurrency
//! The threads of a statement share the lists; one of them lays them out, with the help of others, in pieces by the ids of their nodes, while those that want the same wait.
//!
//! # Source
//! Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", 1988 (renting until the rent comes to the price).

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt as _};
use graven_storage::{Adjacency, Direction, NodeId, NodeSet, Sweep, TypeId};

use super::lists::{EndRanges, PartLists, Wanted};
use crate::error::Result;
use crate::memory::Memory;
use crate::pattern::Part;
use crate::runtime::Runtime;
use crate::threads::on_reading_threads;
use crate::tuning::ListAccess;

/// Cost of visiting a list among others far from it, and among others near it, in entries decoded.
const FAR: u64 = 8;
const NEAR: u64 = 2;

/// If the visits that the planner expects cost so many times the price, it is paid so much earlier.
const PAYS: u64 = 2;
const EARLIER: u64 = 16;

/// Lists are near each other if one node in so many is visited.
const NEAR_SHARE: u64 = 8;

/// From so many lists and entries on they are laid out by all threads of the statement, in so many pieces for each: those that want them
/// would only wait.
const THREADS_FROM: usize = 64 << 10;
const PIECES: usize = 4;

/// What is laid out: type, direction, whether loops are left out, ends.
type Key = (TypeId, bool, bool, Option<Vec<(u64, u64)>>);

/// See the file header.
pub(crate) struct WholeLists {
    known: Mutex<HashMap<Key, Arc<Mutex<State>>>>,
    /// Holds what is laid out; made by the first that needs it, so that it counts for the statement.
    memory: Mutex<Option<Memory>>,
}

/// How far an adjacency has come.
enum State {
    /// What its visits have cost.
    Visited(u64),
    /// It does not fit.
    TooLarge,
    There(Arc<PartLists>),
}

/// Nodes whose lists were visited together.
pub(super) struct Visit {
    pub(super) nodes: usize,
    /// Ids from the first to the last of them.
    pub(super) span: u64,
    pub(super) entries: usize,
}

impl Visit {
    fn cost(&self) -> u64 {
        let nodes = self.nodes as u64;
        let near = self.span / NEAR_SHARE <= nodes;
        nodes * if near { NEAR } else { FAR } + self.entries as u64
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WholeLists {
    /// Nothing laid out yet.
    pub(crate) fn new() -> Self {
        Self {
            known: Mutex::new(HashMap::new()),
            memory: Mutex::new(None),
        }
    }

    fn state(&self, part: &Part, ends: EndRanges<'_>) -> Arc<Mutex<State>> {
        let forward = part.direction == Direction::Out;
        let ends = ends.map(<[_]>::to_vec);
        let key = (part.adjacency.rel_type(), forward, part.skip_loops, ends);
        let mut known = locked(&self.known);
        let state = known.entry(key);
        Arc::clone(state.or_insert_with(|| Arc::new(Mutex::new(State::Visited(0)))))
    }

    /// All lists of `part`, if they are laid out or it is time for that; so many more visits are expected, if any number is known.
    ///
    /// # Errors
    /// What reading gives.
    pub(super) fn get(
        &self,
        part: &Part,
        ends: EndRanges<'_>,
        expected: f64,
        rt: &Runtime,
    ) -> Result<Option<Arc<PartLists>>> {
        let state = self.state(part, ends);
        let mut state = locked(&state);
        match &*state {
            State::There(lists) => return Ok(Some(Arc::clone(lists))),
            State::TooLarge => return Ok(None),
            State::Visited(_) if rt.tuning.list_access == ListAccess::Whole => {}
            State::Visited(0) => return Ok(None),
            State::Visited(cost) => {
                let entries = part.adjacency.relationship_count();
                let span = part.adjacency.node_span()?;
                let lists = entries.min(span.end - span.start);
                let price = lists * NEAR + entries;
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let pays = expected * FAR as f64 >= (PAYS * price) as f64;
                if *cost < if pays { price / EARLIER } else { price } {
                    return Ok(None);
                }
            }
        }
        let lists = self.lay_out(part, ends, rt)?;
        *state = match &lists {
            Some(lists) => State::There(Arc::clone(lists)),
            None => State::TooLarge,
        };
        Ok(lists)
    }

    /// Reports that lists of `part` were visited.
    pub(super) fn visited(&self, part: &Part, ends: EndRanges<'_>, visit: &Visit) {
        let state = self.state(part, ends);
        if let State::Visited(cost) = &mut *locked(&state) {
            *cost = cost.saturating_add(visit.cost());
        }
    }

    /// Lays out all lists, if they fit.
    fn lay_out(
        &self,
        part: &Part,
        ends: EndRanges<'_>,
        rt: &Runtime,
    ) -> Result<Option<Arc<PartLists>>> {
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
        let bytes = PartLists::bytes(nodes, entries);
        // Pieces are there until they are joined.
        let pieces_bytes = if threads > 1 { bytes } else { 0 };
        {
            let mut memory = locked(&self.memory);
            let memory = memory
                .get_or_insert_with(|| Memory::new(&rt.budget, "Expand", "start from fewer nodes"));
            if u32::try_from(entries).is_err()
                || !memory.is_small(bytes)
                || !memory.try_charge(bytes + pieces_bytes)
            {
                return Ok(None);
            }
        }
        let pieces = match threads {
            1 => 1,
            _ => threads * PIECES,
        };
        let words = (span.end - (span.start & !63)).div_ceil(64);
        let length = 64 * words.div_ceil(pieces as u64).max(1);
        let starts = (span.start & !63..span.end).step_by(usize::try_from(length).expect("ids"));
        let ranges: Vec<Range<u64>> = starts
            .map(|start| start.max(span.start)..span.end.min(start + length))
            .collect();
        let share = entries / ranges.len().max(1);
        let laid_out = on_reading_threads(&ranges, threads, rt, |range| {
            lay_out_range(part, ends, range.clone(), share)
        });
        let pieces = laid_out.into_iter().collect::<Result<Vec<_>>>()?;
        let lists = PartLists::joined(pieces, threads);
        if let Some(memory) = locked(&self.memory).as_mut() {
            memory.release(pieces_bytes);
        }
        Ok(Some(Arc::new(lists)))
    }
}

/// The lists of the nodes with these ids; about so many entries are expected.
fn lay_out_range(
    part: &Part,
    ends: EndRanges<'_>,
    range: Range<u64>,
    entries: usize,
) -> Result<PartLists> {
    let first = range.start & !63;
    let words = usize::try_from((range.end - first).div_ceil(64)).expect("fewer than nodes");
    let mut all = vec![u64::MAX; words];
    // Ids behind the range belong to the next one.
    if !range.end.is_multiple_of(64)
        && let Some(last) = all.last_mut()
    {
        *last = (1 << (range.end % 64)) - 1;
    }
    let nodes = usize::try_from(range.end - range.start).expect("ids are narrow");
    let mut lists = PartLists::of_ids(range.start, nodes, entries);
    Adjacency::sweep_set(
        &[&part.adjacency],
        NodeSet::new(NodeId(first), &all),
        Sweep::Up,
        |_, node, list| {
            let list = list.iter().map(|id| u64::from(*id));
            if ends.is_none() && !part.skip_loops {
                lists.put(node.0, list);
            } else {
                let mut wanted = Wanted::new(ends, part.skip_loops.then_some(node.0));
                lists.put(node.0, list.filter(|id| wanted.admits(*id)));
            }
            ControlFlow::Continue(())
        },
    )?;
    Ok(lists)
}

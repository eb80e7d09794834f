//! A relationship between the end of an expansion and another node of the row.
//!
//! # How it works
//! The list of that node is laid out; its entries are marked in a bitmap once as many ends have
//! been looked for as pay for it (rows that follow each other mostly share the node), and searched
//! until then. Where all rows share a few nodes, as two countries that were found before, their
//! lists and the marks stay for the rows that come next.
//!
//! # Invariants
//! * EX-31 The bitmap of a join holds the list of its current node, or nothing.

use std::ops::Range;
use std::sync::Arc;

use graven_cypher::plan::{Direction, EndJoin, JoinKind, RelPattern, VarId};
use graven_types::told;

use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::layout::Layout;
use crate::memory::Memory;
use crate::operators::neighbor_batch::{Entries, ListsOfRows, NeighborBatch};
use crate::pattern::{Pattern, Shape};
use crate::query_context::QueryContext;

/// Searching a list for an end costs as much as marking so many of its entries.
const SEARCH_COST: usize = 4;

/// A relationship between the end and the node in column `probe_node`.
pub(super) struct Join {
    probe_node: usize,
    pub(super) pattern: Pattern,
    pub(super) kind: JoinKind,
    /// Earlier relationships to differ from, by their ends; `None` is the end at hand.
    pub(super) distinct_ends: Vec<(Option<usize>, Option<usize>)>,
    pub(super) lists: NeighborBatch,
    /// Place of the node whose list was looked at last.
    pub(super) current: Option<usize>,
    searched: usize,
    pub(super) marks: NodeMarks,
    /// Ends of the earlier relationships in the row at hand.
    taken: Vec<(End, End)>,
}

/// A set of nodes.
#[derive(Default)]
pub(super) struct NodeMarks {
    first: u64,
    words: Vec<u64>,
    /// Whether the current list is marked.
    pub(super) marked: bool,
    /// Whether a node stands in it more than once.
    pub(super) repeated: bool,
}

impl NodeMarks {
    #[inline]
    pub(super) fn contains(&self, node: u64) -> bool {
        let at = node.wrapping_sub(self.first);
        let word = usize::try_from(at / 64).ok();
        let word = word.and_then(|word| self.words.get(word));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

/// What is the same in every run.
pub(super) struct JoinPlan {
    probe_node: usize,
    pattern: Arc<Shape>,
    kind: JoinKind,
    distinct_ends: Vec<(Option<usize>, Option<usize>)>,
}

impl JoinPlan {
    pub(super) fn new(
        join: &EndJoin,
        to: VarId,
        layout: &Layout,
        rt: &QueryContext,
    ) -> Result<Self> {
        let slot = |var: VarId| {
            layout.slot(var).ok_or_else(|| ExecError::Plan {
                message: told!("variable {} is not produced below its use (CY-1)", var.0),
            })
        };
        let end = |var: VarId| match var == to {
            true => Ok(None),
            false => slot(var).map(Some),
        };
        let pairs = join.pattern.distinct_ends.iter();
        let plain = RelPattern {
            distinct_ends: Vec::new(),
            ..join.pattern.clone()
        };
        Ok(Self {
            probe_node: slot(join.near)?,
            pattern: Arc::new(Shape::new(&plain, layout, rt)?),
            kind: join.kind,
            distinct_ends: pairs
                .map(|(start, stop)| Ok((end(*start)?, end(*stop)?)))
                .collect::<Result<_>>()?,
        })
    }

    /// The relationship with what a run sees of it.
    pub(super) fn start(&self, rt: &QueryContext) -> Result<Join> {
        Ok(Join {
            probe_node: self.probe_node,
            pattern: self.pattern.start(rt)?,
            kind: self.kind,
            distinct_ends: self.distinct_ends.clone(),
            lists: NeighborBatch::default(),
            current: None,
            searched: 0,
            marks: NodeMarks::default(),
            taken: Vec::new(),
        })
    }
}

impl Join {
    pub(super) fn load(
        &mut self,
        batch: &Batch,
        rows: Range<usize>,
        expected: f64,
        memory: &mut Memory,
        rt: &QueryContext,
    ) -> Result<()> {
        let column = batch.column(self.probe_node);
        // Data stays as it is (EX-40).
        let stays = rt.shared.adjacency_cache.is_some();
        let same = stays.then(|| self.lists.of_same_nodes(column, rows.clone()));
        if let Some(same) = same.flatten() {
            memory.charge(8 * same.entries())?;
            self.lists = same;
        } else {
            self.forget();
            let wanted = ListsOfRows {
                column,
                rows,
                expected,
                entries: Entries::Ends,
                ends: None,
            };
            self.lists = NeighborBatch::of_rows(&self.pattern.parts, wanted, memory, rt)?;
        }
        if self.marks.words.is_empty() {
            let span = self.pattern.span()?;
            let words = usize::try_from((span.end - span.start).div_ceil(64)).unwrap_or(usize::MAX);
            if memory.is_small(words.saturating_mul(8)) {
                self.marks.first = span.start;
                self.marks.words = vec![0; words];
            }
        }
        memory.charge(8 * self.marks.words.len())
    }

    /// Takes the marks of the current list away.
    pub(super) fn forget(&mut self) {
        let Some(place) = self.current.take() else {
            return;
        };
        if std::mem::take(&mut self.marks.marked) {
            for part in &self.lists.parts {
                for node in part.list(place).iter() {
                    let at = (node - self.marks.first) / 64;
                    self.marks.words[usize::try_from(at).expect("it was marked")] = 0;
                }
            }
        }
    }

    /// Makes the node of the row the current one, for so many ends to be looked for; its place,
    /// none for null.
    pub(super) fn seek(&mut self, row: usize, ends: usize) -> Result<Option<usize>> {
        let Some(place) = self.lists.place(row) else {
            self.forget();
            return Ok(None);
        };
        if self.current != Some(place) {
            self.forget();
            self.current = Some(place);
            self.searched = 0;
        }
        self.searched += ends;
        if !self.marks.marked {
            let entries: usize = self.lists.parts.iter().map(|p| p.list(place).len()).sum();
            if self.searched * SEARCH_COST >= entries {
                self.mark(place)?;
            }
        }
        Ok(Some(place))
    }

    /// Keeps the ends that are joined to the current node, or are not.
    pub(super) fn filter(&self, ends: &mut Vec<u64>) {
        if self.current.is_none() {
            return;
        }
        let wanted = self.kind != JoinKind::Anti;
        if self.marks.marked {
            ends.retain(|end| self.marks.contains(*end) == wanted);
        } else {
            ends.retain(|end| self.contains(*end) == wanted);
        }
    }

    /// Whether an end is joined to the current node.
    pub(super) fn contains(&self, end: u64) -> bool {
        let Some(place) = self.current else {
            return false;
        };
        if self.marks.marked {
            return self.marks.contains(end);
        }
        let mut lists = self.lists.parts.iter().map(|part| part.list(place));
        lists.any(|list| list.binary_search(&end).is_ok())
    }

    fn mark(&mut self, place: usize) -> Result<()> {
        if self.marks.words.is_empty() {
            return Ok(());
        }
        let NodeMarks {
            first,
            words,
            repeated,
            ..
        } = &mut self.marks;
        *repeated = false;
        for node in self.lists.parts.iter().flat_map(|part| part.ends(place)) {
            let at = node.wrapping_sub(*first);
            let word = words.get_mut(usize::try_from(at / 64).unwrap_or(usize::MAX));
            let word = word.ok_or_else(|| self.pattern.stray(node))?;
            *repeated |= *word >> (at % 64) & 1 == 1;
            *word |= 1 << (at % 64);
        }
        self.marks.marked = true;
        Ok(())
    }

    /// Each end as often as relationships join it that no earlier one is.
    pub(super) fn repeat(&mut self, batch: &Batch, row: usize, ends: &mut Vec<u64>) {
        let Some(place) = self.current.filter(|_| self.kind == JoinKind::Inner) else {
            return;
        };
        let probe_node = self.lists.node(place);
        // Nodes of the row are looked up once.
        let node = |slot: Option<usize>| match slot {
            None => End::Any,
            Some(slot) => batch.column(slot).node(row).map_or(End::Null, End::Node),
        };
        self.taken.clear();
        let pairs = self.distinct_ends.iter();
        self.taken
            .extend(pairs.map(|(start, stop)| (node(*start), node(*stop))));
        let once = self.marks.marked && !self.marks.repeated;
        if once && self.taken.is_empty() {
            return;
        }
        let there = self.pattern.direction != Direction::In;
        let back = self.pattern.direction != Direction::Out;
        let mut repeated: Option<Vec<u64>> = None;
        for (at, end) in ends.iter().enumerate() {
            let found = if once { 1 } else { self.count(place, *end) };
            let earlier = self.taken.iter().filter(|(start, stop)| {
                there && start.is(probe_node, *end) && stop.is(*end, *end)
                    || back && start.is(*end, *end) && stop.is(probe_node, *end)
            });
            let times = found.saturating_sub(earlier.count());
            if times != 1 || repeated.is_some() {
                let out = repeated.get_or_insert_with(|| ends[..at].to_vec());
                out.extend(std::iter::repeat_n(*end, times));
            }
        }
        if let Some(repeated) = repeated {
            *ends = repeated;
        }
    }

    /// Relationships between the current node and an end.
    fn count(&self, place: usize, end: u64) -> usize {
        let lists = self.lists.parts.iter().map(|part| part.list(place));
        let counts = lists.map(|list| {
            let from = list.partition_point(|node| *node < end);
            list[from..].iter().take_while(|node| **node == end).count()
        });
        counts.sum()
    }
}

/// One end of an earlier relationship.
#[derive(Clone, Copy)]
enum End {
    /// A node of the row.
    Node(u64),
    /// Null there.
    Null,
    /// The end at hand.
    Any,
}

impl End {
    /// Whether it is `node`, when `end` is at hand.
    pub(super) fn is(self, node: u64, end: u64) -> bool {
        match self {
            Self::Node(own) => own == node,
            Self::Null => false,
            Self::Any => node == end,
        }
    }
}

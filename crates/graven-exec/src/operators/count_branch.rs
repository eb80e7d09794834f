//! One pattern that hangs on a node: how many matches it has from each of a set of nodes.

use crate::error::Result;
use crate::id_sort::IdOrder;
use crate::layout::Layout;
use crate::memory::Memory;
use crate::operators::count_cache::CountCache;
use crate::operators::count_cache::SharedCounts;
use crate::operators::counts::memory;
use crate::operators::counts::overflow;
use crate::operators::dense_counts::DenseCounts;
use crate::operators::dense_counts::DensifyPolicy;
use crate::operators::label_ranges::end_ranges;
use crate::operators::neighbor_batch::Ids;
use crate::operators::neighbor_batch::Wanted;
use crate::operators::neighbor_batch::distinct_ids;
use crate::pattern::Pattern;
use crate::pattern::PatternPart;
use crate::pattern::Shape;
use crate::query_context::QueryContext;
use std::ops::Range;
use std::sync::Arc;

mod all;

use std::ops::ControlFlow;

use graven_cypher::plan::CountTree;

use super::count_cache::CountArray;

/// List entries that a chunk of nodes aims to lay out.
const CHUNK_ENTRIES: usize = 64 << 10;
/// Portions for each thread in which numbers are found where other threads look for the same, and
/// fewest nodes of one.
const PORTIONS: usize = 4;
const PORTION_NODES: usize = 64;
/// Threads share numbers of nodes whose lists have as many entries on average: others are found as
/// fast as learnt from another thread.
const SHARED_ENTRIES: u64 = 4;

/// Numbers by node.
enum Array {
    /// Those of all nodes.
    All(Arc<DenseCounts>),
    /// As nodes are met.
    Met(Arc<CountArray>),
}

/// Tells numbers.
trait Numbers {
    fn number(&self, node: u64) -> Option<u64>;
}

impl Numbers for Arc<CountArray> {
    #[inline]
    fn number(&self, node: u64) -> Option<u64> {
        self.get(node)
    }
}

impl Numbers for Array {
    #[inline]
    fn number(&self, node: u64) -> Option<u64> {
        match self {
            Self::All(numbers) => numbers.get(node),
            Self::Met(numbers) => numbers.get(node),
        }
    }
}

/// One hanging pattern, resolved.
pub(crate) struct Branch {
    pub(super) pattern: Pattern,
    labels: Vec<Arc<str>>,
    /// Id ranges of ends that count; all where there is no condition.
    pub(super) ends: Vec<(u64, u64)>,
    optional: bool,
    pub(super) branches: Vec<Branch>,
    pub(super) known: CountCache,
    pub(super) filling: DensifyPolicy,
    mean_entries: usize,
    /// The number of a node is the length of its lists.
    are_degrees: bool,
    /// Room for what is laid out, and for nodes that are looked for.
    entries: Vec<(u32, u64)>,
    new: Vec<u64>,
    /// Of the entries that are laid out, or the sums that are added up.
    pub(super) memory: Memory,
}

/// What is the same in every run.
pub(crate) struct BranchPlan {
    pattern: Arc<Shape>,
    labels: Vec<Arc<str>>,
    optional: bool,
    branches: Vec<BranchPlan>,
}

impl BranchPlan {
    /// Resolves `hanging` for a row of any layout: it reads nothing of it.
    pub(crate) fn new(hanging: &CountTree, rt: &QueryContext) -> Result<Self> {
        Ok(Self {
            pattern: Arc::new(Shape::new(&hanging.pattern, &Layout::new(Vec::new()), rt)?),
            labels: hanging.labels.clone(),
            optional: hanging.optional,
            branches: Self::behind(hanging, rt)?,
        })
    }

    /// The branches of `hanging`, as [`BranchPlan::new`].
    pub(super) fn behind(hanging: &CountTree, rt: &QueryContext) -> Result<Vec<Self>> {
        let branches = hanging.branches.iter();
        branches.map(|branch| Self::new(branch, rt)).collect()
    }

    /// The branch of a run. Copies that threads run get the same `shared`.
    pub(crate) fn start(&self, shared: &SharedCounts, rt: &QueryContext) -> Result<Branch> {
        Ok(Branch {
            pattern: self.pattern.start(rt)?,
            labels: self.labels.clone(),
            ends: Vec::new(),
            optional: self.optional,
            branches: Self::start_all(&self.branches, shared, rt)?,
            known: CountCache::new(shared, &rt.budget),
            filling: DensifyPolicy::never(),
            mean_entries: 64,
            are_degrees: false,
            entries: Vec::new(),
            new: Vec::new(),
            memory: memory(&rt.budget),
        })
    }

    /// As [`BranchPlan::start`] for branches behind a node.
    pub(super) fn start_all(
        branches: &[Self],
        shared: &SharedCounts,
        rt: &QueryContext,
    ) -> Result<Vec<Branch>> {
        let branches = (0..).zip(branches);
        branches
            .map(|(at, branch)| branch.start(&shared.of_branch(at), rt))
            .collect()
    }
}

impl Branch {
    /// Looks up which nodes have the labels. Numbers of nodes with ids in `span` may be asked for
    /// many times, of so many different ones as far as one can tell.
    pub(super) fn begin(
        &mut self,
        span: Option<Range<u64>>,
        expected: f64,
        rt: &QueryContext,
    ) -> Result<()> {
        self.ends = end_ranges(&self.labels, rt)?;
        if self.branches.is_empty() {
            // Labels that all ends have say nothing.
            self.are_degrees = self.labels.is_empty() || self.pattern.ends_lie_in(&self.ends)?;
        }
        let take_long = !self.are_degrees && self.pattern.mean_list()? >= SHARED_ENTRIES;
        self.filling = match &span {
            Some(span) => DensifyPolicy::new(&self.pattern, span, expected)?,
            None => DensifyPolicy::never(),
        };
        self.known.begin(span, take_long);
        if self.branches.is_empty() {
            return Ok(());
        }
        let span = self.pattern.ends_span()?;
        let expected = match self.filling.pays() {
            true => f64::INFINITY,
            false => expected,
        };
        let ends = self.pattern.ends_of(expected)?;
        for branch in &mut self.branches {
            branch.begin(Some(span.clone()), ends, rt)?;
            if !branch.filling.pays() {
                self.filling = DensifyPolicy::never();
            }
        }
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.entries = Vec::new();
        self.new = Vec::new();
        self.memory.clear();
        self.branches.iter_mut().for_each(Branch::clear);
    }

    /// The numbers of matches of `nodes`, which ascend and are distinct.
    pub(super) fn numbers(&mut self, nodes: &[u64], rt: &QueryContext) -> Result<Vec<u64>> {
        if self.are_degrees {
            return self.degrees(nodes);
        }
        if let Some(array) = self.array(nodes.len(), rt)? {
            let known = || nodes.iter().map(|node| array.number(*node)).collect();
            if self.find_new(&array, nodes.iter().copied(), rt)? {
                if let Some(numbers) = known() {
                    return Ok(numbers);
                }
                self.find_late(&array, nodes.iter().copied(), rt)?;
                if let Some(numbers) = known() {
                    return Ok(numbers);
                }
            }
        }
        let mut numbers = vec![0; nodes.len()];
        let unknown = self.known.look_up(nodes, &mut numbers);
        let mut done = 0;
        while done < unknown.len() {
            rt.check_cancelled()?;
            let chunk = &unknown[done..unknown.len().min(done + self.chunk_nodes())];
            let chunk_nodes: Vec<u64> = chunk.iter().map(|at| nodes[*at]).collect();
            let sums = self.sums(&chunk_nodes, rt)?;
            for ((at, node), sum) in chunk.iter().zip(chunk_nodes).zip(sums) {
                numbers[*at] = sum;
                self.known.keep(node, sum);
            }
            done += chunk.len();
        }
        Ok(numbers)
    }

    /// The numbers by node, if there is an array for them or so many more nodes make it worth
    /// while.
    fn array(&mut self, nodes: usize, rt: &QueryContext) -> Result<Option<Array>> {
        if let Some(numbers) = self.known.known_all() {
            return Ok(Some(Array::All(numbers)));
        }
        let asked = self.known.asked(nodes);
        if self.filling.is_due(asked)
            && let Some(numbers) = self.dense_counts(rt)?
        {
            return Ok(Some(Array::All(numbers)));
        }
        Ok(self.known.array().map(Array::Met))
    }

    /// Nodes whose lists are laid out together.
    fn chunk_nodes(&self) -> usize {
        let mut branches = self.branches.iter();
        if !self.branches.is_empty() && branches.all(|it| it.known.known_all().is_some()) {
            return CHUNK_ENTRIES;
        }
        (CHUNK_ENTRIES / self.mean_entries.max(1)).clamp(1, CHUNK_ENTRIES)
    }

    /// Finds the numbers of nodes that no thread has begun with; `false` where a node has no place
    /// in the array.
    fn find_new(
        &mut self,
        array: &Array,
        nodes: impl Iterator<Item = u64>,
        rt: &QueryContext,
    ) -> Result<bool> {
        let Array::Met(array) = array else {
            return Ok(true);
        };
        let mut new = std::mem::take(&mut self.new);
        new.clear();
        for node in nodes {
            match array.begin(node) {
                Some(true) => new.push(node),
                Some(false) => {}
                None => return Ok(false),
            }
        }
        self.find(array, &distinct_ids(&new), false, rt)?;
        self.new = new;
        Ok(true)
    }

    /// Finds the numbers of nodes that others have begun with and not found yet.
    fn find_late(
        &mut self,
        array: &Array,
        nodes: impl Iterator<Item = u64>,
        rt: &QueryContext,
    ) -> Result<()> {
        let Array::Met(array) = array else {
            return Ok(());
        };
        let mut late: Vec<u64> = nodes.filter(|node| array.get(*node).is_none()).collect();
        late.sort_unstable();
        late.dedup();
        self.find(array, &late, true, rt)
    }

    /// Finds the numbers of `nodes`, which ascend, in small portions where other threads look as
    /// well: what they have found meanwhile is left out.
    fn find(
        &mut self,
        array: &CountArray,
        nodes: &[u64],
        backwards: bool,
        rt: &QueryContext,
    ) -> Result<()> {
        let portion = match self.known.is_shared() {
            false => nodes.len(),
            true => (nodes.len() / (PORTIONS * rt.tuning.threads)).max(PORTION_NODES),
        };
        let mut left = nodes;
        while !left.is_empty() {
            rt.check_cancelled()?;
            let size = self.chunk_nodes().min(portion).min(left.len());
            let some;
            (left, some) = match backwards {
                true => left.split_at(left.len() - size),
                false => {
                    let (some, behind) = left.split_at(size);
                    (behind, some)
                }
            };
            let some = some.iter().copied();
            let some: Vec<u64> = some.filter(|node| array.get(*node).is_none()).collect();
            let numbers = match self.are_degrees {
                true => self.degrees(&some)?,
                false => self.sums(&some, rt)?,
            };
            for (node, number) in some.into_iter().zip(numbers) {
                array.put(node, number);
            }
        }
        Ok(())
    }

    pub(super) fn least(&self) -> u64 {
        u64::from(self.optional)
    }

    /// Lengths of lists.
    fn degrees(&self, nodes: &[u64]) -> Result<Vec<u64>> {
        let mut degrees = vec![0_u64; nodes.len()];
        for part in &self.pattern.parts {
            part.sweep_places(nodes, |at, node, list| {
                let loops = match part.skip_loops {
                    true => list.positions(node)?.len(),
                    false => 0,
                };
                degrees[at] += (list.len() - loops) as u64;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        degrees.iter_mut().for_each(|d| *d = (*d).max(self.least()));
        Ok(degrees)
    }

    /// The numbers of a chunk of nodes, by their neighbours.
    fn sums(&mut self, nodes: &[u64], rt: &QueryContext) -> Result<Vec<u64>> {
        self.memory.release(self.memory.used());
        if let Some(sums) = self.sums_of_all(nodes, rt)? {
            return Ok(sums);
        }
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        for part in &self.pattern.parts {
            decode_lists(part, nodes, &self.ends, &mut entries, &mut self.memory)?;
        }
        self.mean_entries = self
            .mean_entries
            .midpoint(entries.len() / nodes.len().max(1));
        let mut sums = vec![0_u64; nodes.len()];
        if self.branches.is_empty() {
            entries.iter().for_each(|(at, _)| sums[*at as usize] += 1);
        } else if !self.add_up_arrays(&entries, &mut sums, rt)? {
            self.add_up(&entries, &mut sums, rt)?;
        }
        self.entries = entries;
        sums.iter_mut()
            .for_each(|sum| *sum = (*sum).max(self.least()));
        Ok(sums)
    }

    /// Adds what hangs on the ends of `entries` to the sums of their nodes; `false` where not all
    /// branches have arrays for it.
    fn add_up_arrays(
        &mut self,
        entries: &[(u32, u64)],
        sums: &mut [u64],
        rt: &QueryContext,
    ) -> Result<bool> {
        let ends = || entries.iter().map(|(_, end)| *end);
        let branches = self.branches.iter_mut();
        let arrays = branches.map(|branch| branch.array(entries.len(), rt));
        let Some(arrays) = arrays.collect::<Result<Option<Vec<_>>>>()? else {
            return Ok(false);
        };
        self.memory.charge(16 * entries.len())?;
        for (branch, array) in self.branches.iter_mut().zip(&arrays) {
            if !branch.find_new(array, ends(), rt)? {
                return Ok(false);
            }
        }
        let met = arrays.iter().map(|array| match array {
            Array::Met(array) => Some(Arc::clone(array)),
            Array::All(_) => None,
        });
        let met: Option<Vec<_>> = met.collect();
        let add_up = |sums: &mut [u64]| match &met {
            Some(met) => add_up_known(entries, met, sums),
            None => add_up_known(entries, &arrays, sums),
        };
        if add_up(sums)? {
            return Ok(true);
        }
        for (branch, array) in self.branches.iter_mut().zip(&arrays) {
            branch.find_late(array, ends(), rt)?;
        }
        sums.fill(0);
        let known = add_up(sums)?;
        if !known {
            sums.fill(0);
        }
        Ok(known)
    }

    /// As [`Branch::add_up_arrays`] without arrays.
    fn add_up(
        &mut self,
        entries: &[(u32, u64)],
        sums: &mut [u64],
        rt: &QueryContext,
    ) -> Result<()> {
        self.memory.charge(32 * entries.len())?;
        let ends = IdOrder::new(entries.iter().map(|(_, end)| Some(*end)));
        let mut products = vec![1_u64; ends.distinct.len()];
        for branch in &mut self.branches {
            let numbers = branch.numbers(&ends.distinct, rt)?;
            for (product, number) in products.iter_mut().zip(numbers) {
                *product = product.checked_mul(number).ok_or_else(overflow)?;
            }
        }
        for (number, (at, _)) in entries.iter().enumerate() {
            let place = ends.place(number).expect("each entry has an end");
            let sum = &mut sums[*at as usize];
            *sum = sum.checked_add(products[place]).ok_or_else(overflow)?;
        }
        Ok(())
    }
}

/// Adds the product of the numbers of each end to the sum of its node; `false` where a number is
/// not known.
fn add_up_known(entries: &[(u32, u64)], arrays: &[impl Numbers], sums: &mut [u64]) -> Result<bool> {
    for (at, end) in entries {
        let mut product = 1_u64;
        for array in arrays {
            let Some(number) = array.number(*end) else {
                return Ok(false);
            };
            product = product.checked_mul(number).ok_or_else(overflow)?;
        }
        let sum = &mut sums[*at as usize];
        *sum = sum.checked_add(product).ok_or_else(overflow)?;
    }
    Ok(true)
}

/// Appends the neighbours of `nodes` that lie in `ends`, each with the place of its node.
fn decode_lists(
    part: &PatternPart,
    nodes: &[u64],
    ends: &[(u64, u64)],
    entries: &mut Vec<(u32, u64)>,
    memory: &mut Memory,
) -> Result<()> {
    let mut ids = Ids::new(part);
    let mut refused = None;
    part.sweep_places(nodes, |at, node, list| {
        if let Err(error) = memory.charge(16 * list.len()) {
            refused = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        let place = u32::try_from(at).expect("a chunk is small");
        let mut wanted = Wanted::new(Some(ends), part.skip_loops.then_some(node.0));
        ids.for_each(list, |neighbour| {
            if wanted.admits(neighbour) {
                entries.push((place, neighbour));
            }
        })?;
        Ok(ControlFlow::Continue(()))
    })?;
    refused.map_or(Ok(()), Err)
}

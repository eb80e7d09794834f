//! Ghosts: ids of pages that left, in queues, with an index.
//!
//! # How it works
//! A slab of nodes on doubly linked rings (as in [`crate::lists`], sentinels first) and a
//! [`PageIndex`] over all queues together; a page is in at most one queue. The caller that adds
//! decides what to drop: [`Ghost::trim`].
//!
//! # Invariants
//! * GH-1 the index finds exactly the nodes that are on a queue.
//! * GH-2 lengths and weights of the queues are those of their nodes.
//!
//! # Costs
//! 24 bytes a ghost and 8 to 16 bytes of index.

use crate::PageId;
use crate::page_index::PageIndex;

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    page: u64,
    prev: u32,
    next: u32,
    weight: u32,
    queue: u32,
    payload: T,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    len: usize,
    weight: u64,
}

/// A fixed number of ghost queues with one index.
#[derive(Debug)]
pub(crate) struct Ghost<T = ()> {
    nodes: Vec<Node<T>>,
    sums: Vec<Sum>,
    /// First of the unused nodes, linked by `next`; `u32::MAX` when there is none.
    free: u32,
    index: PageIndex,
}

impl<T: Copy + Default> Ghost<T> {
    /// `queues` empty queues.
    pub(crate) fn new(queues: usize) -> Self {
        let sentinel = |q: usize| Node {
            page: 0,
            prev: q as u32,
            next: q as u32,
            weight: 0,
            queue: q as u32,
            payload: T::default(),
        };
        Self {
            nodes: (0..queues).map(sentinel).collect(),
            sums: vec![Sum::default(); queues],
            free: u32::MAX,
            index: PageIndex::new(),
        }
    }

    /// Number of ghosts in `queue`.
    pub(crate) fn len(&self, queue: usize) -> usize {
        self.sums[queue].len
    }

    /// Summed weight of `queue`.
    pub(crate) fn weight(&self, queue: usize) -> u64 {
        self.sums[queue].weight
    }

    /// The queue that holds `page`.
    #[inline]
    pub(crate) fn queue_of(&self, page: PageId) -> Option<usize> {
        let node = self
            .index
            .find(page, |node| self.nodes[node as usize].page)?;
        Some(self.nodes[node as usize].queue as usize)
    }

    /// Adds `page` as the newest of `queue`; if it was a ghost already it moves there.
    #[inline]
    pub(crate) fn push(&mut self, queue: usize, page: PageId, weight: u32) {
        self.push_with(queue, page, weight, T::default());
    }

    /// As [`Ghost::push`], with something to remember.
    #[inline]
    pub(crate) fn push_with(&mut self, queue: usize, page: PageId, weight: u32, payload: T) {
        self.remove(page);
        let node = if self.free == u32::MAX {
            let queue = queue as u32;
            self.nodes.push(Node {
                page: 0,
                prev: 0,
                next: 0,
                weight: 0,
                queue,
                payload,
            });
            self.nodes.len() as u32 - 1
        } else {
            let node = self.free;
            self.free = self.nodes[node as usize].next;
            node
        };
        let next = self.nodes[queue].next;
        self.nodes[node as usize] = Node {
            page: page.0,
            prev: queue as u32,
            next,
            weight,
            queue: queue as u32,
            payload,
        };
        self.nodes[queue].next = node;
        self.nodes[next as usize].prev = node;
        let sum = &mut self.sums[queue];
        sum.len += 1;
        sum.weight += u64::from(weight);
        self.index
            .insert(page, node, |node| self.nodes[node as usize].page);
    }

    /// Forgets `page` and says in which queue it was.
    #[inline]
    pub(crate) fn remove(&mut self, page: PageId) -> Option<usize> {
        self.take(page).map(|(queue, _)| queue)
    }

    /// Forgets `page` and says in which queue it was and what was remembered with it.
    #[inline]
    pub(crate) fn take(&mut self, page: PageId) -> Option<(usize, T)> {
        let node = self
            .index
            .remove(page, |node| self.nodes[node as usize].page)?;
        let Node {
            prev,
            next,
            weight,
            queue,
            payload,
            ..
        } = self.nodes[node as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        self.nodes[node as usize].next = self.free;
        self.free = node;
        let sum = &mut self.sums[queue as usize];
        sum.len -= 1;
        sum.weight -= u64::from(weight);
        Some((queue as usize, payload))
    }

    /// Forgets the oldest of `queue`; false when it is empty.
    #[inline]
    pub(crate) fn pop_oldest(&mut self, queue: usize) -> bool {
        let node = self.nodes[queue].prev as usize;
        node >= self.sums.len() && self.remove(PageId(self.nodes[node].page)).is_some()
    }

    /// Forgets the oldest of `queue` until its weight is at most `limit`.
    #[inline]
    pub(crate) fn trim(&mut self, queue: usize, limit: u64) {
        while self.weight(queue) > limit && self.pop_oldest(queue) {}
    }

    /// Recounts GH-1 and GH-2.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut total = 0;
        for queue in 0..self.sums.len() {
            let mut sum = Sum::default();
            let mut at = self.nodes[queue].next as usize;
            while at >= self.sums.len() {
                let node = self.nodes[at];
                if self.queue_of(PageId(node.page)) != Some(queue) {
                    return Err(format!(
                        "GH-1: ghost {} is not indexed in queue {queue}",
                        node.page
                    ));
                }
                sum.len += 1;
                sum.weight += u64::from(node.weight);
                at = node.next as usize;
            }
            if sum != self.sums[queue] {
                return Err(format!(
                    "GH-2: queue {queue} holds {sum:?}, counted {:?}",
                    self.sums[queue]
                ));
            }
            total += sum.len;
        }
        if total != self.index.len() {
            return Err(format!(
                "GH-1: {total} ghosts, {} indexed",
                self.index.len()
            ));
        }
        Ok(())
    }
}

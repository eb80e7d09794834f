//! Doubly linked lists of resident frames: the body of every list policy.
//!
//! # How it works
//! One node per frame, in an array; each frame is on at most one list. Every list is a ring through
//! a sentinel node, so linking has no branches. Sentinels come first in the array: frame `f` is
//! node `f + lists`. The *front* is the newest end, the *back* the oldest.
//!
//! # Invariants
//! * LI-1 `next` and `prev` of neighbours agree, and every node of ring `l` has `list == l`.
//! * LI-2 lengths and weights of a list are those of its nodes.
//!
//! # Costs
//! 24 bytes a frame.

use crate::{Claim, FrameIdx, Frames, PageId};

/// `list` of a node that is on none.
const ABSENT: u8 = u8::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    page: u64,
    prev: u32,
    next: u32,
    /// Weight at the time of loading.
    weight: u32,
    list: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    len: usize,
    weight: u64,
}

/// A fixed number of lists over the frames.
#[derive(Debug)]
pub(crate) struct Lists {
    nodes: Vec<Node>,
    sums: Vec<Sum>,
}

impl Lists {
    /// `lists` empty lists (fewer than 255).
    pub(crate) fn new(lists: usize) -> Self {
        assert!(
            lists < usize::from(ABSENT),
            "at most 254 lists, not {lists}"
        );
        let sentinel = |l: usize| Node {
            page: 0,
            prev: l as u32,
            next: l as u32,
            weight: 0,
            list: ABSENT,
        };
        Self {
            nodes: (0..lists).map(sentinel).collect(),
            sums: vec![Sum::default(); lists],
        }
    }

    #[inline]
    fn node(&self, frame: FrameIdx) -> usize {
        frame.0 as usize + self.sums.len()
    }

    #[inline]
    fn frame(&self, node: u32) -> Option<FrameIdx> {
        let lists = self.sums.len() as u32;
        (node >= lists).then(|| FrameIdx(node - lists))
    }

    /// Number of frames on `list`.
    #[inline]
    pub(crate) fn len(&self, list: usize) -> usize {
        self.sums[list].len
    }

    /// Summed weight of `list`.
    #[inline]
    pub(crate) fn weight(&self, list: usize) -> u64 {
        self.sums[list].weight
    }

    /// Summed weight of all lists.
    pub(crate) fn total_weight(&self) -> u64 {
        self.sums.iter().map(|sum| sum.weight).sum()
    }

    /// The list that holds `frame`.
    #[inline]
    pub(crate) fn list_of(&self, frame: FrameIdx) -> Option<usize> {
        let list = self.nodes.get(self.node(frame))?.list;
        (list != ABSENT).then_some(usize::from(list))
    }

    /// Whether `frame` is on a list and holds `page`: false for a hit that comes too late.
    #[inline]
    pub(crate) fn holds(&self, frame: FrameIdx, page: PageId) -> bool {
        self.nodes
            .get(self.node(frame))
            .is_some_and(|n| n.list != ABSENT && n.page == page.0)
    }

    /// The page in a frame that is on a list.
    #[inline]
    pub(crate) fn page(&self, frame: FrameIdx) -> PageId {
        PageId(self.nodes[self.node(frame)].page)
    }

    /// The weight a frame was loaded with.
    #[inline]
    pub(crate) fn frame_weight(&self, frame: FrameIdx) -> u32 {
        self.nodes[self.node(frame)].weight
    }

    /// Newest frame of `list`.
    #[inline]
    pub(crate) fn front(&self, list: usize) -> Option<FrameIdx> {
        self.frame(self.nodes[list].next)
    }

    /// Oldest frame of `list`.
    #[inline]
    pub(crate) fn back(&self, list: usize) -> Option<FrameIdx> {
        self.frame(self.nodes[list].prev)
    }

    /// The next newer frame on the same list.
    #[inline]
    pub(crate) fn newer(&self, frame: FrameIdx) -> Option<FrameIdx> {
        self.frame(self.nodes[self.node(frame)].prev)
    }

    #[inline]
    fn link(&mut self, list: usize, node: usize, after: u32) {
        let next = self.nodes[after as usize].next;
        self.nodes[after as usize].next = node as u32;
        self.nodes[next as usize].prev = node as u32;
        let this = &mut self.nodes[node];
        this.prev = after;
        this.next = next;
        this.list = list as u8;
        let sum = &mut self.sums[list];
        sum.len += 1;
        sum.weight += u64::from(this.weight);
    }

    #[inline]
    fn unlink(&mut self, node: usize) -> usize {
        let Node {
            prev,
            next,
            list,
            weight,
            ..
        } = self.nodes[node];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
        let sum = &mut self.sums[usize::from(list)];
        sum.len -= 1;
        sum.weight -= u64::from(weight);
        usize::from(list)
    }

    #[inline]
    fn admit(&mut self, frame: FrameIdx, page: PageId, weight: u32) -> usize {
        let node = self.node(frame);
        if node >= self.nodes.len() {
            let empty = Node {
                page: 0,
                prev: 0,
                next: 0,
                weight: 0,
                list: ABSENT,
            };
            self.nodes.resize(node + 1, empty);
        }
        assert!(
            self.nodes[node].list == ABSENT,
            "LI-1: frame {} is loaded twice",
            frame.0
        );
        self.nodes[node] = Node {
            page: page.0,
            weight,
            ..self.nodes[node]
        };
        node
    }

    /// Puts a newly loaded frame at the newest end of `list`.
    #[inline]
    pub(crate) fn push_front(&mut self, list: usize, frame: FrameIdx, page: PageId, weight: u32) {
        let node = self.admit(frame, page, weight);
        self.link(list, node, list as u32);
    }

    /// Moves a frame to the newest end of `list`.
    #[inline]
    pub(crate) fn move_front(&mut self, list: usize, frame: FrameIdx) {
        let node = self.node(frame);
        self.unlink(node);
        self.link(list, node, list as u32);
    }

    /// Takes a frame off its list; `None` when it is on none.
    #[inline]
    pub(crate) fn remove(&mut self, frame: FrameIdx) -> Option<(usize, PageId)> {
        self.list_of(frame)?;
        let node = self.node(frame);
        let list = self.unlink(node);
        self.nodes[node].list = ABSENT;
        Some((list, PageId(self.nodes[node].page)))
    }

    /// Claims the oldest frame of `list` that is not busy and takes it off; looks at each frame
    /// once.
    #[inline]
    pub(crate) fn evict_back<F: Frames + ?Sized>(
        &mut self,
        list: usize,
        frames: &mut F,
    ) -> Option<(FrameIdx, PageId)> {
        let mut at = self.back(list);
        while let Some(frame) = at {
            if frames.try_claim(frame) == Claim::Claimed {
                return self.remove(frame).map(|(_, page)| (frame, page));
            }
            at = self.newer(frame);
        }
        None
    }

    /// Recounts LI-1 and LI-2.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut on_lists = 0;
        for list in 0..self.sums.len() {
            let mut sum = Sum::default();
            let mut at = list as u32;
            loop {
                let next = self.nodes[at as usize].next;
                if self.nodes[next as usize].prev != at {
                    return Err(format!(
                        "LI-1: list {list}: node {next} does not point back to {at}"
                    ));
                }
                let Some(frame) = self.frame(next) else {
                    if next as usize != list {
                        return Err(format!("LI-1: list {list} runs into list {next}"));
                    }
                    break;
                };
                if self.list_of(frame) != Some(list) {
                    return Err(format!(
                        "LI-1: frame {} on list {list} says otherwise",
                        frame.0
                    ));
                }
                sum.len += 1;
                sum.weight += u64::from(self.frame_weight(frame));
                at = next;
            }
            if sum != self.sums[list] {
                return Err(format!(
                    "LI-2: list {list} holds {sum:?}, counted {:?}",
                    self.sums[list]
                ));
            }
            on_lists += sum.len;
        }
        let present = self.nodes.iter().filter(|node| node.list != ABSENT).count();
        if present != on_lists {
            return Err(format!(
                "LI-1: {present} frames say they are on a list, {on_lists} are"
            ));
        }
        Ok(())
    }
}

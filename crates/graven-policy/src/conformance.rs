//! The kit that every policy has to pass: random cache lives with pins, sizes, removals and
//! resizes.
//!
//! # How it works
//! [`KitFrames`] is a cache that knows everything: which frame holds which page, which frames are
//! pinned, how many looks a policy takes. [`run`] drives a policy through scenarios and panics with
//! the name of the invariant (PO-1 to PO-6 of the crate) that broke; [`Policy::check`] recounts
//! after every step.

use std::cell::Cell;
use std::collections::HashMap;

use crate::{Admission, Claim, FrameIdx, Frames, Hint, HitKind, PageId, Policy};
use graven_types::rng::SplitMix64;

/// Frames that watch the policy.
#[derive(Debug)]
pub struct KitFrames {
    usage: Vec<Cell<u8>>,
    stamp: Vec<Cell<u32>>,
    weight: Vec<u32>,
    pinned: Vec<bool>,
    page: Vec<Option<PageId>>,
    epoch: u32,
    looks: Cell<usize>,
}

impl KitFrames {
    fn new(frames: usize) -> Self {
        Self {
            usage: vec![Cell::new(0); frames],
            stamp: vec![Cell::new(0); frames],
            weight: vec![1; frames],
            pinned: vec![false; frames],
            page: vec![None; frames],
            epoch: 0,
            looks: Cell::new(0),
        }
    }

    fn look(&self) {
        self.looks.set(self.looks.get() + 1);
    }
}

impl Frames for KitFrames {
    fn frame_count(&self) -> usize {
        self.page.len()
    }
    fn usage(&self, frame: FrameIdx) -> u8 {
        self.look();
        self.usage[frame.0 as usize].get()
    }
    fn set_usage(&self, frame: FrameIdx, usage: u8) {
        assert!(usage <= 7, "usage {usage} does not fit three bits");
        let at = frame.0 as usize;
        assert!(
            !self.pinned[at] || usage >= self.usage[at].get(),
            "PO-3: the usage of busy frame {at} was lowered"
        );
        self.usage[at].set(usage);
    }
    fn stamp(&self, frame: FrameIdx) -> u32 {
        self.look();
        self.stamp[frame.0 as usize].get()
    }
    fn epoch(&self) -> u32 {
        self.epoch
    }
    fn weight(&self, frame: FrameIdx) -> u32 {
        self.weight[frame.0 as usize]
    }
    fn is_busy(&self, frame: FrameIdx) -> bool {
        self.look();
        self.pinned[frame.0 as usize]
    }
    fn try_claim(&mut self, frame: FrameIdx) -> Claim {
        self.look();
        let at = frame.0 as usize;
        assert!(
            self.page[at].is_some(),
            "PO-1: frame {at} was claimed and holds no page"
        );
        if self.pinned[at] {
            Claim::Busy
        } else {
            Claim::Claimed
        }
    }
}

/// What a scenario does besides accessing pages.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    name: &'static str,
    /// Capacity in weight units.
    capacity: u64,
    pages: usize,
    accesses: usize,
    /// Whether pages weigh 1, 2, 4 or 8.
    sizes: bool,
    /// One in so many accesses pins its page for a while; 0 for never.
    pins: usize,
    /// Whether pages are removed, forgotten, hinted, hit late, abandoned, and the cache resized.
    troubles: bool,
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "one frame",
        capacity: 1,
        pages: 5,
        accesses: 300,
        sizes: false,
        pins: 0,
        troubles: false,
    },
    Scenario {
        name: "two frames",
        capacity: 2,
        pages: 5,
        accesses: 300,
        sizes: false,
        pins: 0,
        troubles: true,
    },
    Scenario {
        name: "three frames",
        capacity: 3,
        pages: 9,
        accesses: 600,
        sizes: false,
        pins: 5,
        troubles: false,
    },
    Scenario {
        name: "plain",
        capacity: 40,
        pages: 150,
        accesses: 3_000,
        sizes: false,
        pins: 0,
        troubles: false,
    },
    Scenario {
        name: "pinned",
        capacity: 40,
        pages: 150,
        accesses: 3_000,
        sizes: false,
        pins: 2,
        troubles: false,
    },
    Scenario {
        name: "sizes",
        capacity: 120,
        pages: 150,
        accesses: 3_000,
        sizes: true,
        pins: 7,
        troubles: false,
    },
    Scenario {
        name: "troubles",
        capacity: 120,
        pages: 150,
        accesses: 4_000,
        sizes: true,
        pins: 5,
        troubles: true,
    },
];

/// Builds a policy for a capacity and a seed.
pub type Build<'a> = &'a dyn Fn(u64, u64) -> Box<dyn Policy<KitFrames>>;

/// A cache under test.
struct Kit {
    policy: Box<dyn Policy<KitFrames>>,
    frames: KitFrames,
    resident: HashMap<u64, FrameIdx>,
    free: Vec<FrameIdx>,
    capacity: u64,
    used: u64,
    sizes: bool,
    victims: Vec<PageId>,
}

impl Kit {
    fn new(build: Build<'_>, scenario: Scenario, seed: u64) -> Self {
        let frames = 2 * scenario.capacity as usize;
        Self {
            policy: build(scenario.capacity, seed),
            frames: KitFrames::new(frames),
            resident: HashMap::new(),
            free: (0..frames as u32).rev().map(FrameIdx).collect(),
            capacity: scenario.capacity,
            used: 0,
            sizes: scenario.sizes,
            victims: Vec::new(),
        }
    }

    fn weight_of(&self, page: u64) -> u32 {
        if self.sizes { 1 << (page % 4) } else { 1 }
    }

    /// Evicts once and checks PO-1, PO-2 and PO-4; false when nothing was found.
    fn evict(&mut self, admission: Admission) -> bool {
        self.frames.looks.set(0);
        let victim = self.policy.evict(&mut self.frames, admission);
        let looks = self.frames.looks.get();
        // Two looks per visit of a sweep (count, busy), a claim per list and frame.
        let bound = 2 * (2 * 7 * self.resident.len()) + 8 * self.resident.len() + 64;
        assert!(
            looks <= bound,
            "PO-4: {looks} looks at {} resident frames",
            self.resident.len()
        );
        let Some((frame, page)) = victim else {
            let idle = self
                .resident
                .values()
                .filter(|f| !self.frames.pinned[f.0 as usize])
                .count();
            assert!(
                idle == 0,
                "PO-4: no victim although {idle} resident frames are not busy"
            );
            return false;
        };
        let at = frame.0 as usize;
        assert!(
            !self.frames.pinned[at],
            "PO-2: pinned frame {at} was evicted"
        );
        assert_eq!(
            self.frames.page[at],
            Some(page),
            "PO-1: frame {at} holds another page"
        );
        self.victims.push(page);
        self.empty(frame, page);
        true
    }

    fn empty(&mut self, frame: FrameIdx, page: PageId) {
        let at = frame.0 as usize;
        self.resident.remove(&page.0);
        self.used -= u64::from(self.frames.weight[at]);
        self.frames.page[at] = None;
        self.frames.usage[at].set(0);
        self.free.push(frame);
    }

    fn access(&mut self, page: u64, hint: Hint) {
        if let Some(&frame) = self.resident.get(&page) {
            self.hit(frame, PageId(page));
            while self.policy.has_surplus() && self.evict(Admission::default()) {}
        } else {
            self.fault(page, hint);
        }
    }

    fn hit(&mut self, frame: FrameIdx, page: PageId) {
        let at = frame.0 as usize;
        let usage = self.frames.usage[at].get();
        match self.policy.hit_kind() {
            HitKind::None => {}
            HitKind::SetBit => self.frames.usage[at].set(usage.max(1)),
            HitKind::Count { max } if usage < max => self.frames.usage[at].set(usage + 1),
            HitKind::Count { .. } => {}
            HitKind::Stamp => self.frames.stamp[at].set(self.frames.epoch),
            HitKind::Append => self.policy.on_hit(&self.frames, frame, page),
        }
    }

    fn fault(&mut self, page: u64, hint: Hint) {
        let admission = self.policy.on_miss(PageId(page));
        let weight = self.weight_of(page);
        while self.used + u64::from(weight) > self.capacity {
            if !self.evict(admission) {
                return;
            }
        }
        let Some(frame) = self.free.pop() else { return };
        let at = frame.0 as usize;
        self.frames.weight[at] = weight;
        self.frames.page[at] = Some(PageId(page));
        self.frames.stamp[at].set(self.frames.epoch);
        self.used += u64::from(weight);
        self.resident.insert(page, frame);
        self.policy
            .on_load(&self.frames, frame, PageId(page), hint, admission);
    }

    fn trouble(&mut self, rng: &mut SplitMix64, original: u64) {
        let page = rng.place(150) as u64;
        match rng.place(6) {
            0 => {
                let resident = self.resident.get(&page).copied();
                if let Some(frame) = resident.filter(|f| !self.frames.pinned[f.0 as usize]) {
                    self.policy.on_remove(&self.frames, frame, PageId(page));
                    self.empty(frame, PageId(page));
                }
            }
            1 if !self.resident.contains_key(&page) => self.policy.forget(PageId(page)),
            2 if !self.resident.contains_key(&page) => {
                // A read that failed: the miss is abandoned.
                let _ = self.policy.on_miss(PageId(page));
            }
            3 if self.policy.hit_kind() == HitKind::Append => {
                // A hit that comes late, on a frame that holds something else or nothing.
                let frame = FrameIdx(rng.place(self.frames.frame_count()) as u32);
                self.policy.on_hit(&self.frames, frame, PageId(1 << 40));
            }
            4 => self.access(
                page,
                if rng.place(2) == 0 {
                    Hint::Scan
                } else {
                    Hint::Prefetch
                },
            ),
            5 if rng.place(8) == 0 => {
                self.capacity = (original / (1 + rng.place(4) as u64)).max(8.min(original));
                self.policy.resize(self.capacity);
                while self.used > self.capacity && self.evict(Admission::default()) {}
            }
            _ => {}
        }
    }

    fn check(&self) {
        if let Err(broken) = self.policy.check(&self.frames) {
            panic!("{broken}");
        }
    }
}

fn live(build: Build<'_>, scenario: Scenario, seed: u64) -> Vec<PageId> {
    let mut rng = SplitMix64::new(seed.wrapping_mul(31).wrapping_add(scenario.capacity));
    let mut kit = Kit::new(build, scenario, seed);
    let mut pins: Vec<FrameIdx> = Vec::new();
    for step in 0..scenario.accesses {
        // Half of the accesses go to a sixteenth of the pages, a quarter is a loop.
        let page = match rng.place(4) {
            0 => rng.place(scenario.pages),
            1 => step % scenario.pages,
            _ => rng.place(scenario.pages / 16 + 1),
        } as u64;
        kit.access(page, Hint::Normal);
        let pins_now = scenario.pins > 0 && rng.place(scenario.pins) == 0;
        if let (true, Some(&frame)) = (pins_now, kit.resident.get(&page)) {
            kit.frames.pinned[frame.0 as usize] = true;
            pins.push(frame);
        }
        // At times everything that was touched lately is pinned, then all is let go.
        if pins.len() > kit.resident.len() / 2 || rng.place(40) == 0 {
            for frame in pins.drain(..) {
                kit.frames.pinned[frame.0 as usize] = false;
            }
        }
        if scenario.troubles && rng.place(3) == 0 {
            kit.trouble(&mut rng, scenario.capacity);
        }
        kit.frames.epoch += u32::from(step % 16 == 0);
        kit.check();
    }
    pin_everything(&mut kit);
    drain(&mut kit);
    kit.victims
}

/// With every frame pinned there is no victim, twice, and no usage count falls (asserted by the
/// frames).
fn pin_everything(kit: &mut Kit) {
    kit.frames.pinned.fill(true);
    let held = kit.resident.len();
    for _ in 0..2 {
        assert!(
            !kit.evict(Admission::default()),
            "PO-2: a victim although everything is pinned"
        );
        kit.check();
    }
    assert_eq!(kit.resident.len(), held);
    kit.frames.pinned.fill(false);
}

/// Evicting to the end yields every resident page once and leaves an empty, working policy.
fn drain(kit: &mut Kit) {
    while kit.evict(Admission::default()) {
        kit.check();
    }
    assert!(
        kit.resident.is_empty(),
        "PO-1: {} pages were never chosen",
        kit.resident.len()
    );
    kit.access(3, Hint::Normal);
    kit.access(3, Hint::Normal);
    kit.check();
}

/// Runs all scenarios, each twice with the same seed and once with another.
///
/// # Panics
/// When the policy breaks an invariant of the contract.
pub fn run(build: Build<'_>) {
    for &scenario in SCENARIOS {
        for seed in [1, 2] {
            let play = || live(build, scenario, seed);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                assert!(play() == play(), "PO-6: the same seed gave other victims");
            }));
            if let Err(payload) = result {
                eprintln!("scenario {:?}, seed {seed}", scenario.name);
                std::panic::resume_unwind(payload);
            }
        }
    }
}

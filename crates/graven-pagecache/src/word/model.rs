//! Model of the entry word: every interleaving of eviction, fault, pin, optimistic read and move.
//!
//! # How it works
//! The model checker runs the functions of `word.rs` on its own atomics and explores all schedules
//! up to a number of preemptions, with the reorderings that the memory model allows. A frame is one
//! word of memory that holds the number of the page whose bytes are in it.
//!
//! # Source
//! `loom` (bounded exhaustive exploration after Norris and Demsky, "CDSChecker", OOPSLA 2013).

use super::*;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64 as ModelWord;
use loom::thread;

impl Word for ModelWord {
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }
    fn swap(&self, value: u64, order: Ordering) -> u64 {
        self.swap(value, order)
    }
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.compare_exchange(current, new, success, failure)
    }
    fn add(&self, amount: u64, order: Ordering) -> u64 {
        self.fetch_add(amount, order)
    }
    fn fence(order: Ordering) {
        loom::sync::atomic::fence(order);
    }
}

const PAGES: usize = 2;
const FRAMES: usize = 2;

/// A cache of two pages and two frames.
struct Model {
    words: [ModelWord; PAGES],
    frames: [ModelWord; FRAMES],
}

fn place(frame: u32) -> FrameAddress {
    FrameAddress::new(4, frame)
}

impl Model {
    /// Page 0 resident in frame 0.
    fn new() -> Arc<Model> {
        let model = Model {
            words: [ModelWord::new(0), ModelWord::new(0)],
            frames: [ModelWord::new(99), ModelWord::new(99)],
        };
        assert!(model.bring_in(0, 0, 1));
        Arc::new(model)
    }

    /// A fault of `page` into `frame`; `false` if another thread has begun one.
    fn bring_in(&self, page: usize, frame: usize, version: u32) -> bool {
        let word = &self.words[page];
        if !reserve(word, version) {
            return false;
        }
        start_read(word, place(frame as u32));
        self.frames[frame].store(page as u64, Ordering::Relaxed);
        arrive(word);
        let seen = word.load(Ordering::Acquire);
        // Once it has arrived, any thread may verify or evict it.
        if state_of(seen) == state::ARRIVED && begin_verify(word, seen) {
            publish(word, 0);
        }
        true
    }

    /// An eviction of `page`; the frame is the caller's afterwards.
    fn evict(&self, page: usize) -> Option<usize> {
        let word = &self.words[page];
        let seen = word.load(Ordering::Acquire);
        if !is_claimable(seen) || !claim(word, seen) {
            return None;
        }
        clear(word);
        Some(frame_of(seen) as usize)
    }

    /// A move of `page` to `frame`; the old frame is the caller's afterwards.
    fn relocate(&self, page: usize, frame: usize) -> Option<usize> {
        let word = &self.words[page];
        let seen = word.load(Ordering::Acquire);
        if state_of(seen) != state::RESIDENT || !try_lock(word, seen) {
            return None;
        }
        let from = frame_of(seen) as usize;
        self.frames[frame].store(self.frames[from].load(Ordering::Relaxed), Ordering::Relaxed);
        unlock(word, place(frame as u32), state::RESIDENT);
        Some(from)
    }

    /// An optimistic read; what it returns must be the page itself.
    fn read(&self, page: usize) {
        let word = &self.words[page];
        let seen = word.load(Ordering::Acquire);
        if !is_readable_as(seen, 4 << (CLASS_SHIFT + CLASS_BELOW_TOP)) {
            return;
        }
        touch(word, seen, usage_bits(3));
        let value = self.frames[frame_of(seen) as usize].load(Ordering::Relaxed);
        if is_same(word, seen) {
            assert_eq!(
                value, page as u64,
                "an optimistic reader believed another page's bytes"
            );
        }
    }

    /// A pin; while it is held the frame holds the page.
    fn pin(&self, page: usize) {
        let word = &self.words[page];
        let seen = word.load(Ordering::Relaxed);
        if !is_pinnable_as(seen, 4 << (CLASS_SHIFT + CLASS_BELOW_TOP))
            || !try_pin(word, seen, usage_bits(3))
        {
            return;
        }
        let frame = &self.frames[frame_of(seen) as usize];
        assert_eq!(
            frame.load(Ordering::Relaxed),
            page as u64,
            "pinned bytes are the page's"
        );
        assert_eq!(
            frame.load(Ordering::Relaxed),
            page as u64,
            "pinned bytes stay"
        );
        unpin(word);
    }

    /// No two pages share a frame and nothing is locked.
    fn check(&self) {
        let words = [0, 1].map(|page: usize| self.words[page].load(Ordering::SeqCst));
        for word in words {
            assert!(
                matches!(
                    state_of(word),
                    state::ABSENT | state::RESIDENT | state::ARRIVED
                ),
                "left in {word:#x}"
            );
        }
        let both = words.iter().all(|word| *word != 0);
        assert!(
            !both || frame_of(words[0]) != frame_of(words[1]),
            "two pages in one frame"
        );
    }
}

fn explore(scenario: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(scenario);
}

/// Goal: a frame taken from a page and given to another never shows through: evict x fault x read x
/// pin.
#[test]
fn eviction_and_fault_against_readers_and_pins() {
    explore(|| {
        let model = Model::new();
        let evictor = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                if let Some(frame) = model.evict(0) {
                    model.bring_in(1, frame, 2);
                }
            })
        };
        let reader = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.read(0))
        };
        model.pin(0);
        evictor.join().unwrap();
        reader.join().unwrap();
        model.check();
    });
}

/// Goal: two threads that fault the same page bind one frame to it: the others' frames stay free.
#[test]
fn one_fault_wins() {
    explore(|| {
        let model = Model::new();
        let other = {
            let model = Arc::clone(&model);
            thread::spawn(move || u32::from(model.bring_in(1, 1, 3)))
        };
        let mine = u32::from(model.bring_in(1, 1, 2));
        let theirs = other.join().unwrap();
        // One of them may come late and find the page absent only if it was evicted, and no thread
        // evicts here.
        assert_eq!(mine + theirs, 1);
        model.check();
    });
}

/// Goal: moving a page (compaction, shrinking) against readers, pins and eviction: the old frame is
/// reused at once.
#[test]
fn a_move_against_readers_and_pins() {
    explore(|| {
        let model = Model::new();
        let mover = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                if let Some(freed) = model.relocate(0, 1) {
                    model.bring_in(1, freed, 2);
                }
            })
        };
        let reader = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.read(0))
        };
        model.pin(0);
        mover.join().unwrap();
        reader.join().unwrap();
        model.check();
    });
}

/// Goal: an eviction and a move of the same page: one of them wins, the page is never in two
/// frames.
#[test]
fn a_move_against_an_eviction() {
    explore(|| {
        let model = Model::new();
        let mover = {
            let model = Arc::clone(&model);
            thread::spawn(move || model.relocate(0, 1))
        };
        if let Some(frame) = model.evict(0) {
            model.bring_in(0, frame, 2);
        }
        mover.join().unwrap();
        model.read(0);
        model.check();
    });
}

/// Goal: a policy changing usage counts disturbs no transition of the word's owner.
#[test]
fn usage_counts_against_transitions() {
    explore(|| {
        let model = Model::new();
        let sweeper = {
            let model = Arc::clone(&model);
            thread::spawn(move || {
                set_usage(&model.words[0], place(0), 2);
                set_usage(&model.words[0], place(0), 0);
            })
        };
        if let Some(frame) = model.evict(0) {
            model.bring_in(0, frame, 2);
        }
        model.pin(0);
        sweeper.join().unwrap();
        model.check();
    });
}

/// Goal: a version of few bits tells changes apart up to its width and no further; the shipped
/// width cannot wrap within an optimistic read that computes nothing but a page's worth of loads.
#[test]
fn versions_wrap_after_their_width() {
    const BITS: u32 = 3;
    let start = 5;
    let mut version = start;
    for change in 1..=6 {
        version = next_version(version, BITS);
        assert_ne!(version, 0, "PC-10");
        assert!(version != start, "change {change} is seen");
    }
    assert_eq!(
        next_version(version, BITS),
        start,
        "the seventh change looks like none"
    );
    // A change of a page takes a read of at least 4 KiB, no less than a microsecond; a section of a
    // page's worth of loads (4 MiB) takes less than 10 ms.
    const { assert!((1 << VERSION_BITS) - 1 > 10 * 1000 * 100) };
}

/// A cache of one page that is changed: its frame, its dirty flag, its place in the file.
struct Written {
    word: ModelWord,
    frame: ModelWord,
    dirty: ModelWord,
    file: ModelWord,
}

impl Written {
    /// The page resident and clean, with content 1.
    fn new() -> Arc<Written> {
        let page = Written {
            word: ModelWord::new(0),
            frame: ModelWord::new(1),
            dirty: ModelWord::new(0),
            file: ModelWord::new(1),
        };
        assert!(reserve(&page.word, 1));
        start_read(&page.word, place(0));
        hold(&page.word);
        unlock(&page.word, place(0), state::RESIDENT);
        Arc::new(page)
    }

    /// An exclusive guard that stores `content`; whether it got the page.
    fn change(&self, content: u64) -> bool {
        let seen = self.word.load(Ordering::Acquire);
        if state_of(seen) != state::RESIDENT || !try_lock(&self.word, seen) {
            return false;
        }
        self.frame.store(content, Ordering::Relaxed);
        // The flag before the word (PC-23).
        self.dirty.swap(1, Ordering::AcqRel);
        unlock(&self.word, place(0), state::RESIDENT);
        true
    }

    /// A write back: seal under the lock, write under a pin, then the flag falls (PC-24).
    fn write_back(&self) {
        let seen = self.word.load(Ordering::Acquire);
        if state_of(seen) != state::RESIDENT || !try_lock(&self.word, seen) {
            return;
        }
        if self.dirty.load(Ordering::Relaxed) == 0 {
            unlock(&self.word, place(0), state::RESIDENT);
            return;
        }
        publish(&self.word, 1);
        self.file
            .store(self.frame.load(Ordering::Relaxed), Ordering::Relaxed);
        self.dirty.swap(0, Ordering::AcqRel);
        unpin(&self.word);
    }

    /// An eviction: dirty pages are passed over. The frame is overwritten at once.
    fn evict(&self) {
        let seen = self.word.load(Ordering::Acquire);
        if !is_claimable(seen) || self.dirty.load(Ordering::Relaxed) == 1 {
            return;
        }
        if claim(&self.word, seen) {
            clear(&self.word);
            self.frame.store(99, Ordering::Relaxed);
        }
    }

    /// What a reader would find: in the frame if the page is there, else in the file.
    fn content(&self) -> u64 {
        let word = self.word.load(Ordering::SeqCst);
        assert!(
            matches!(state_of(word), state::ABSENT | state::RESIDENT),
            "left in {word:#x}"
        );
        let place = if word == 0 { &self.file } else { &self.frame };
        place.load(Ordering::SeqCst)
    }
}

/// Goal: a change is never lost to an eviction, with or without a write back between.
#[test]
fn a_change_and_its_write_back_against_an_eviction() {
    explore(|| {
        let page = Written::new();
        let evictor = {
            let page = Arc::clone(&page);
            thread::spawn(move || {
                page.write_back();
                page.evict();
            })
        };
        let changed = page.change(2);
        evictor.join().unwrap();
        assert_eq!(page.content(), if changed { 2 } else { 1 });
    });
}

/// Goal: a change during a write back leaves the page dirty or the file current, never neither.
#[test]
fn a_change_against_a_write_back() {
    explore(|| {
        let page = Written::new();
        let first = page.change(2);
        assert!(first);
        let writer = {
            let page = Arc::clone(&page);
            thread::spawn(move || page.write_back())
        };
        let changed = page.change(3);
        page.evict();
        writer.join().unwrap();
        let newest = if changed { 3 } else { 2 };
        assert_eq!(page.content(), newest);
        let is_dirty = page.dirty.load(Ordering::SeqCst) == 1;
        assert!(is_dirty || page.file.load(Ordering::SeqCst) == newest);
    });
}

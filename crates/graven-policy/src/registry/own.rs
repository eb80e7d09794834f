//! Policies of other programs: registered once, taken by name as those of this crate.
//!
//! # How it works
//! Such a policy is written once for every kind of frames and asked through `dyn Frames`;
//! [`Foreign`] hands it the frames of whatever cache or simulator runs it. Entries live as long as
//! the process.
//!
//! # Concurrency
//! One lock around the list, taken when a specification is read or a policy is built, never on a
//! hit.

use std::sync::{PoisonError, RwLock};

use super::{ALIASES, Entry, Spec, accepts, entries as all_entries};
use crate::{Admission, FrameIdx, Frames, Hint, HitKind, PageId, Policy, PolicyError};

/// Makes a policy from its specification, for a capacity in the unit of [`Frames::weight`] and a
/// seed.
pub type Build = fn(&Spec, u64, u64) -> Box<dyn Policy<dyn Frames>>;

static OWN: RwLock<Vec<(&'static Entry, Build)>> = RwLock::new(Vec::new());

/// Adds a policy, which specifications may name from now on.
///
/// # Errors
/// A name that is taken or cannot be written in a specification, or a parameter whose default it
/// does not accept.
pub fn register(entry: Entry, build: Build) -> Result<(), PolicyError> {
    let refused = |reason: &str| PolicyError::Refused {
        name: entry.name.to_string(),
        reason: reason.to_string(),
    };
    if entry.name.is_empty() || entry.name.contains([':', ',', '=', ' ']) {
        return Err(refused(
            "a name is not empty and has no `:`, `,`, `=` or space",
        ));
    }
    if let Some(p) = entry
        .parameters
        .iter()
        .find(|p| !accepts(p.accepts, p.default))
    {
        let reason = format!(
            "the default {} of {} is not in {}",
            p.default, p.name, p.accepts
        );
        return Err(refused(&reason));
    }
    let is_taken = all_entries().iter().any(|e| e.name == entry.name)
        || ALIASES.iter().any(|alias| alias.name == entry.name);
    if is_taken {
        return Err(refused("another policy has this name"));
    }
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    own.push((Box::leak(Box::new(entry)), build));
    Ok(())
}

/// The entries that were added, in order.
pub(super) fn entries() -> Vec<&'static Entry> {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    own.iter().map(|(entry, _)| *entry).collect()
}

/// The policy of `spec` if another program registered it.
pub(super) fn build(spec: &Spec, capacity: u64, seed: u64) -> Option<Foreign> {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    let (_, build) = own.iter().find(|(entry, _)| entry.name == spec.name)?;
    Some(Foreign(build(spec, capacity, seed)))
}

/// A policy that sees its frames through `dyn Frames`.
pub(super) struct Foreign(Box<dyn Policy<dyn Frames>>);

impl<F: Frames + 'static> Policy<F> for Foreign {
    fn hit_kind(&self) -> HitKind {
        self.0.hit_kind()
    }

    fn on_miss(&mut self, page: PageId) -> Admission {
        self.0.on_miss(page)
    }

    fn on_load(
        &mut self,
        frames: &F,
        frame: FrameIdx,
        page: PageId,
        hint: Hint,
        admission: Admission,
    ) {
        self.0.on_load(frames, frame, page, hint, admission);
    }

    fn on_hit(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        self.0.on_hit(frames, frame, page);
    }

    fn evict(&mut self, frames: &mut F, incoming: Admission) -> Option<(FrameIdx, PageId)> {
        self.0.evict(frames, incoming)
    }

    fn eviction_batch(&self, frames: usize) -> usize {
        self.0.eviction_batch(frames)
    }

    fn has_surplus(&self) -> bool {
        self.0.has_surplus()
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        self.0.figures()
    }

    fn on_remove(&mut self, frames: &F, frame: FrameIdx, page: PageId) {
        self.0.on_remove(frames, frame, page);
    }

    fn forget(&mut self, page: PageId) {
        self.0.forget(page);
    }

    fn resize(&mut self, capacity: u64) {
        self.0.resize(capacity);
    }

    fn check(&self, frames: &F) -> Result<(), String> {
        self.0.check(frames)
    }
}

//! Construction: from a checked specification to a policy of its own type, or a boxed one.

use super::{Spec, own};
use crate::arc::Arc;
use crate::batched::Batched;
use crate::car::Car;
use crate::clock::clock;
use crate::clockpro::{Adapt, ClockPro};
use crate::eviction_queue::EvictionQueue;
use crate::fifo::Fifo;
use crate::gclock::{GClock, GClockConfig};
use crate::graven::Graven;
use crate::history::{History, Memory};
use crate::lfu::Lfu;
use crate::lirs::Lirs;
use crate::lru::Lru;
use crate::lruk::LruK;
use crate::mglru::MgLru;
use crate::muninn::{Mode, Muninn};
use crate::neo4j::neo4j;
use crate::random::Random;
use crate::running::Running;
use crate::s3fifo::S3Fifo;
use crate::s4lru_blog::S4LruBlog;
use crate::sieve::Sieve;
use crate::slru::Slru;
use crate::thesis_clockpro::{Hot, ThesisClockPro};
use crate::twoq::TwoQ;
use crate::watt::Watt;
use crate::wtinylfu::WTinyLfu;
use crate::{Frames, Policy, PolicyError};

/// Something to do with a policy of whatever type.
pub trait Visitor<F: Frames> {
    /// What it results in.
    type Output;
    /// Does it.
    fn visit<P: Policy<F> + 'static>(self, policy: P) -> Self::Output;
}

/// Builds the policy of `spec` for `capacity` (in the unit of [`Frames::weight`]) and hands it over
/// with its own type; with `batch` or `running`, and where it is another program's, boxed.
///
/// # Errors
/// A capacity of 0, or a policy that needs the future.
#[rustfmt::skip]
pub fn visit<F: Frames + 'static, V: Visitor<F>>(
    spec: &Spec,
    capacity: u64,
    seed: u64,
    visitor: V,
) -> Result<V::Output, PolicyError> {
    if capacity == 0 {
        return Err(PolicyError::ZeroCapacity);
    }
    if let Some(pages) = spec.running {
        let unaware = Spec { running: None, ..spec.clone() };
        let policy = visit(&unaware, capacity, seed, Boxing)?;
        return Ok(visitor.visit(Running::new(policy, pages)));
    }
    if let Some(batch) = spec.batch {
        let unbatched = Spec { batch: None, ..spec.clone() };
        let policy = visit(&unbatched, capacity, seed, Boxing)?;
        return Ok(visitor.visit(Batched::new(policy, usize::from(batch))));
    }
    if let Some(policy) = own::build(spec, capacity, seed) {
        return Ok(visitor.visit(policy));
    }
    Ok(match spec.name {
        "random" => visitor.visit(Random::new(seed)),
        "fifo" => visitor.visit(Fifo::new()),
        "lru" => visitor.visit(Lru::new(capacity)),
        "eviction-queue" => visitor.visit(EvictionQueue::new()),
        "lfu" => visitor.visit(Lfu::new()),
        "slru" => visitor.visit(Slru::new(spec.number("segments"), capacity)),
        "s4lru-blog" => visitor.visit(S4LruBlog::new(capacity)),
        "twoq" => visitor.visit(TwoQ::new(capacity)),
        "arc" => visitor.visit(Arc::new(capacity)),
        "car" => visitor.visit(Car::new(capacity)),
        "lirs" => visitor.visit(Lirs::new(spec.number("ghosts"), capacity)),
        "clockpro" => visitor.visit(ClockPro::new(adapt(spec), capacity)),
        "wtinylfu" => visitor.visit(WTinyLfu::new(capacity)),
        "thesis-clockpro" => visitor.visit(ThesisClockPro::new(hot(spec), spec.number("cap"), capacity)),
        "watt" => visitor.visit(Watt::new(spec.number("uses"), spec.number("sample"), seed)),
        "lruk" => visitor.visit(LruK::new(spec.number("k"), capacity)),
        "mglru" => visitor.visit(MgLru::new()),
        "sieve" => visitor.visit(Sieve::new()),
        "s3fifo" => visitor.visit(S3Fifo::new(capacity)),
        "clock" => visitor.visit(clock(spec.arm(), spec.number("scan"), capacity, seed)),
        "gclock" => visitor.visit(GClock::new(gclock_config(spec), capacity, seed)),
        "neo4j" => visitor.visit(neo4j(spec.number("count"), spec.arm(), seed)),
        "muninn" => visitor.visit(Muninn::new(mode(spec), seed)),
        "graven" => visitor.visit(Graven::new(spec.number("patience"), spec.value("adapt") == "yes", capacity)),
        "history" => visitor.visit(History::new(
            spec.number("max"), memory(spec), spec.number("size"), spec.arm(), capacity, seed,
        )),
        name => return Err(PolicyError::Offline { name: name.to_string() }),
    })
}

fn gclock_config(spec: &Spec) -> GClockConfig {
    GClockConfig {
        max: spec.number("max"),
        init: spec.number("init"),
        threshold: spec.number("threshold"),
        arm: spec.arm(),
        scan: spec.number("scan"),
    }
}

fn adapt(spec: &Spec) -> Adapt {
    if spec.value("adapt") == "utility" {
        Adapt::Utility
    } else {
        Adapt::Unit
    }
}

fn hot(spec: &Spec) -> Hot {
    match spec.value("hot") {
        "adaptive" => Hot::Adaptive,
        "plus" => Hot::Plus,
        _ => Hot::Fixed,
    }
}

fn mode(spec: &Spec) -> Mode {
    if spec.value("mode") == "coop" {
        Mode::Coop
    } else {
        Mode::Batch
    }
}

fn memory(spec: &Spec) -> Memory {
    match spec.value("ghost") {
        "bitset" => Memory::Bitset,
        "cleaned" => Memory::Cleaned,
        _ => Memory::Exact,
    }
}

/// Builds the policy of a specification, boxed.
///
/// # Errors
/// As [`Spec::parse`] and [`visit`].
pub fn parse<F: Frames + 'static>(
    spec: &str,
    capacity: u64,
    seed: u64,
) -> Result<Box<dyn Policy<F>>, PolicyError> {
    visit(&Spec::parse(spec)?, capacity, seed, Boxing)
}

/// A visitor that boxes.
pub struct Boxing;

impl<F: Frames> Visitor<F> for Boxing {
    type Output = Box<dyn Policy<F>>;
    fn visit<P: Policy<F> + 'static>(self, policy: P) -> Self::Output {
        Box::new(policy)
    }
}

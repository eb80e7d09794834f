//! A trace in memory, replayed by replacement policies: hits of one policy in a cache of one size.
//!
//! # How it works
//! The pages of a trace are numbered once; each replay starts with an empty cache and runs the very
//! policy code of the page cache ([`graven_policy::simulator`]). Flags of the trace become hints
//! (scan, prefetch), its queries transactions.
//!
//! # Costs
//! 4 bytes an access, 1 more where the trace has flags, 8 more where it names queries.

use graven_policy::belady::{self, Bypass};
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator, TransactionAccess};
use graven_policy::{Hint, Policy, PolicyError};

use crate::dense::{self, Dense};
use crate::{Detail, FLAG_PREFETCH, FLAG_SCAN, Trace};

/// Frames that a policy's parts are made of: the smallest is a hundredth of the cache.
const PARTS: usize = 128;

/// What a replay needs of a trace.
#[derive(Clone, Debug)]
pub struct ReplayTrace {
    dense: Dense,
    /// Hint of every access, where the trace has any.
    hints: Option<Vec<Hint>>,
    /// The transaction of every access and whether it is its last, where the trace names queries.
    transactions: Option<Vec<(u32, bool)>>,
}

/// What a replay counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Accesses that found their page.
    pub hits: u64,
    /// Pages evicted; the optimum does not count them.
    pub evictions: Option<u64>,
    /// What the policy tells about itself at the end.
    pub figures: Vec<(String, f64)>,
    /// What the clock went on by while the policy ran.
    pub seconds: f64,
}

/// A replay that cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The policy cannot be made.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The policy looks at transactions, and the trace names none.
    #[error(
        "policy {policy} scores pages of running transactions, and this trace does not say which \
         query an access is of; `graven lab record` writes one that does"
    )]
    NoTransactions {
        /// The policy.
        policy: String,
    },
}

impl ReplayTrace {
    /// Numbers the pages of a trace.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        Self {
            dense: dense::map(&trace.pages),
            hints: trace.flags.as_deref().and_then(hints),
            transactions: trace.details.as_deref().and_then(transactions),
        }
    }

    /// The page of every access, by its number.
    #[must_use]
    pub fn pages(&self) -> &[u32] {
        &self.dense.pages
    }

    /// The first `count` accesses.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        let pages = self.dense.pages[..count.min(self.accesses())].to_vec();
        // Pages are numbered in the order in which they come.
        let unique = pages.iter().max().map_or(0, |most| *most as usize + 1);
        let until = pages.len();
        Self {
            dense: Dense { pages, unique },
            hints: (self.hints.as_ref()).map(|hints| hints[..until].to_vec()),
            transactions: (self.transactions.as_ref()).map(|of| with_ends(of[..until].to_vec())),
        }
    }

    /// Accesses.
    #[must_use]
    pub fn accesses(&self) -> usize {
        self.dense.pages.len()
    }

    /// Different pages.
    #[must_use]
    pub fn unique(&self) -> usize {
        self.dense.unique
    }

    /// Replays the trace in an empty cache of `capacity` pages; `seed` is for policies that draw,
    /// `clock` gives the seconds that are measured by.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub fn replay(
        &self,
        spec: &Spec,
        capacity: usize,
        seed: u64,
        clock: impl Fn() -> f64,
    ) -> Result<Replayed, ReplayError> {
        if spec.running.is_some() && self.transactions.is_none() {
            let policy = spec.to_string();
            return Err(ReplayError::NoTransactions { policy });
        }
        if let Some(bypass) = belady::bypass_of(spec) {
            return Ok(self.optimum(capacity, bypass, clock));
        }
        // What no page of the trace can fill need not be made.
        let unique = self.dense.unique.max(1);
        let running = Running {
            trace: self,
            capacity: capacity.min(unique),
            transactions: (self.transactions.as_deref()).filter(|_| spec.running.is_some()),
            clock,
        };
        let capacity = capacity.min(unique.saturating_mul(PARTS)) as u64;
        Ok(registry::visit(spec, capacity, seed, running)?)
    }

    fn optimum(&self, capacity: usize, bypass: Bypass, clock: impl Fn() -> f64) -> Replayed {
        let started = clock();
        let hits = belady::hits(&self.dense.pages, self.dense.unique, capacity, bypass);
        Replayed {
            hits,
            evictions: None,
            figures: Vec::new(),
            seconds: clock() - started,
        }
    }
}

/// The hints in a trace's flags; none where every access is an ordinary one.
fn hints(flags: &[u8]) -> Option<Vec<Hint>> {
    let hint = |flags: u8| match flags {
        f if f & FLAG_PREFETCH != 0 => Hint::Prefetch,
        f if f & FLAG_SCAN != 0 => Hint::Scan,
        _ => Hint::Normal,
    };
    let any = flags.iter().any(|&flags| hint(flags) != Hint::Normal);
    any.then(|| flags.iter().map(|&flags| hint(flags)).collect())
}

/// Queries as transactions: each runs from its first access to its last one; none where the trace
/// names no query.
fn transactions(details: &[Detail]) -> Option<Vec<(u32, bool)>> {
    let mut numbering = dense::Numbering::new();
    // Access 0 is that of no query, which is transaction 0.
    numbering.index_of(0);
    let number = |detail: &Detail| (numbering.index_of(u64::from(detail.query)), false);
    let all = details.iter().map(number).collect();
    (numbering.unique() > 1).then(|| with_ends(all))
}

/// Says of every access whether it is the last one of its transaction.
fn with_ends(mut all: Vec<(u32, bool)>) -> Vec<(u32, bool)> {
    let unique = all.iter().map(|(of, _)| *of as usize + 1).max();
    let mut is_seen = vec![false; unique.unwrap_or(0)];
    for (transaction, ends) in all.iter_mut().rev() {
        *ends = !std::mem::replace(&mut is_seen[*transaction as usize], true);
    }
    all
}

/// Replays a trace against a policy of whatever type.
struct Running<'a, C> {
    trace: &'a ReplayTrace,
    capacity: usize,
    transactions: Option<&'a [(u32, bool)]>,
    clock: C,
}

impl<C> Running<'_, C> {
    /// Every access with its transaction.
    fn accesses<'a>(
        &'a self,
        transactions: &'a [(u32, bool)],
    ) -> impl Iterator<Item = TransactionAccess> + 'a {
        let hint = |at: usize| {
            let hints = self.trace.hints.as_ref();
            hints.map_or(Hint::Normal, |hints| hints[at])
        };
        let pages = self.trace.dense.pages.iter().zip(transactions).enumerate();
        pages.map(move |(at, (page, (transaction, ends)))| TransactionAccess {
            page: *page,
            hint: hint(at),
            transaction: *transaction,
            ends: *ends,
        })
    }
}

impl<C: Fn() -> f64> Visitor<ArrayFrames> for Running<'_, C> {
    type Output = Replayed;

    fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> Replayed {
        let started = (self.clock)();
        let Dense { pages, unique } = &self.trace.dense;
        let mut simulator = Simulator::new(policy, *unique, self.capacity);
        match (&self.trace.hints, self.transactions) {
            (_, Some(transactions)) => {
                simulator.replay_transactions(self.accesses(transactions));
            }
            (None, None) => simulator.replay(pages),
            (Some(hints), None) => {
                simulator.replay_hinted(pages.iter().copied().zip(hints.iter().copied()));
            }
        }
        let seconds = (self.clock)() - started;
        let outcome = simulator.outcome();
        let figures = simulator.figures().into_iter();
        Replayed {
            hits: outcome.hits,
            evictions: Some(outcome.evictions),
            figures: figures
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scattered accesses to 40 pages by queries of 25 accesses.
    fn trace() -> Trace {
        let page = |at: u64| 7_000 + at * at % 1_009 % 40;
        let pages: Vec<u64> = (0..1_000u64).map(page).collect();
        let flag = |at: usize| if at.is_multiple_of(9) { FLAG_SCAN } else { 0 };
        let detail = |at: usize| Detail {
            query: 1 + (at / 25) as u32,
            ..Detail::default()
        };
        Trace {
            flags: Some((0..pages.len()).map(flag).collect()),
            details: Some((0..pages.len()).map(detail).collect()),
            pages,
            ..Trace::default()
        }
    }

    fn hits(trace: &ReplayTrace, policy: &str) -> u64 {
        let spec = Spec::parse(policy).expect("a policy");
        trace.replay(&spec, 12, 1, || 0.0).expect("replayed").hits
    }

    #[test]
    fn the_first_accesses_are_replayed_as_a_trace_that_ends_there() {
        let whole = ReplayTrace::new(&trace());
        for count in [1, 30, 777, 5_000] {
            let mut cut = trace();
            cut.truncate(count);
            let (cut, first) = (ReplayTrace::new(&cut), whole.first(count));
            assert_eq!(cut.pages(), first.pages());
            assert_eq!(cut.unique(), first.unique());
            assert_eq!(cut.transactions, first.transactions);
            for policy in ["lru", "min", "slru", "gclock:max=3"] {
                assert_eq!(hits(&cut, policy), hits(&first, policy), "{policy} {count}");
            }
        }
    }

    #[test]
    fn no_access_at_all_is_replayed() {
        let none = ReplayTrace::new(&trace()).first(0);
        assert_eq!((none.accesses(), none.unique()), (0, 0));
        assert_eq!(hits(&none, "lru"), 0);
    }

    #[test]
    fn flags_of_a_trace_are_hints() {
        // Eight pages in turn, and a scan between them that would leave none of them.
        let pages: Vec<u64> = (0..1_000u64)
            .map(|at| if at % 2 == 0 { at / 2 % 8 } else { 100 + at })
            .collect();
        let flags = pages.iter().map(|page| match page {
            ..100 => 0,
            _ => FLAG_SCAN,
        });
        let plain = Trace {
            pages: pages.clone(),
            ..Trace::default()
        };
        let with = Trace {
            flags: Some(flags.collect()),
            ..plain.clone()
        };
        assert_eq!(hits(&ReplayTrace::new(&plain), "lru"), 0);
        assert_eq!(hits(&ReplayTrace::new(&with), "lru"), 492);
    }
}

//! Static pools: fixed shares of the memory, each for pages of one fixed size; for comparison with
//! size classes, which share one budget.
//!
//! # How it works
//! A page belongs to the first pool whose pages hold it, and takes a whole page of that pool,
//! however small it is itself. A page larger than all belongs to the last pool and takes as many of
//! its pages as it needs. Everything that is no page (operators, page tables, results) lives in the
//! last pool. A fault evicts from the pool of its page alone, in the policy's order. Memory of the
//! other pools is set aside when the cache is opened, and no one else ever gets it.
//!
//! # Invariants
//! * PC-35: the pages of a pool never take more than its share, but for an overdraft.
//!
//! # Concurrency
//! Used under the frame pool lock.
//!
//! # Costs
//! A reservation is changed with every page that comes or goes.
//!
//! # Source
//! The founding document on variable-size pages in Kuzu: 4 KiB and 256 KiB, 75 to 25.
//!
//! # Deviations
//! There, each pool has its own eviction queue. Here, one order holds the pages of all pools, and
//! an eviction passes over those of the others; a clock's arm is shared.

use crate::page_ref::SizeClass;
use std::fmt;
use std::str::FromStr;

/// What every specification of pools begins with.
const PREFIX: &str = "static:";

/// One pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Size of its pages.
    pub page: SizeClass,
    /// Its share of the memory.
    pub percent: u8,
}

/// Fixed pools, the one of the smallest pages first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pools(Vec<Pool>);

/// How full a pool is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolUse {
    /// Bytes of its pages.
    pub page_bytes: u64,
    /// Its share of the memory.
    pub limit_bytes: u64,
    /// Bytes that its pages take, each at least the pool's page size.
    pub charged_bytes: u64,
    /// Bytes of the pages themselves.
    pub resident_bytes: u64,
}

impl Pools {
    /// The pools, the one of the smallest pages first.
    #[must_use]
    pub fn list(&self) -> &[Pool] {
        &self.0
    }

    /// The pool of pages of `class`.
    fn of(&self, class: SizeClass) -> usize {
        let fits = self.0.iter().position(|pool| class <= pool.page);
        fits.unwrap_or(self.0.len() - 1)
    }
}

impl fmt::Display for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for (at, pool) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let kib = pool.page.bytes() >> 10;
            write!(f, "{comma}{kib}KiB={}%", pool.percent)?;
        }
        Ok(())
    }
}

impl FromStr for Pools {
    type Err = String;

    /// Reads `static:4KiB=75%,256KiB=25%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "for example static:4KiB=75%,256KiB=25%";
        let list = text
            .strip_prefix(PREFIX)
            .ok_or_else(|| format!("pools \"{text}\" do not begin with `{PREFIX}`; {example}"))?;
        let mut pools: Vec<Pool> = Vec::new();
        for part in list.split(',') {
            let pool = pool(part).map_err(|what| format!("pools \"{text}\": {what}; {example}"))?;
            if pools.last().is_some_and(|last| last.page >= pool.page) {
                return Err(format!(
                    "pools \"{text}\": page sizes grow from pool to pool, and `{part}` is not \
                        larger than the one before it"
                ));
            }
            pools.push(pool);
        }
        let percent: u32 = pools.iter().map(|pool| u32::from(pool.percent)).sum();
        if percent != 100 {
            return Err(format!(
                "pools \"{text}\": the shares add up to {percent}%, not to 100%"
            ));
        }
        Ok(Pools(pools))
    }
}

/// Reads `4KiB=75%`.
fn pool(text: &str) -> Result<Pool, String> {
    let (size, share) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is no pool"))?;
    let (size, share) = (size.trim(), share.trim());
    let units = [("KiB", 10), ("MiB", 20)];
    let bytes = units.iter().find_map(|(unit, shift)| {
        let number: usize = size.strip_suffix(unit)?.trim().parse().ok()?;
        number.checked_mul(1 << shift)
    });
    let page = bytes
        .filter(|bytes| bytes.is_power_of_two())
        .and_then(SizeClass::for_page_bytes)
        .filter(|class| Some(class.bytes()) == bytes);
    let page = page
        .ok_or_else(|| format!("`{size}` is no page size (a power of two from 4KiB to 128MiB)"))?;
    let percent = share.strip_suffix('%').and_then(|n| n.trim().parse().ok());
    let percent = percent.filter(|percent| (1..=100).contains(percent));
    let percent = percent.ok_or_else(|| format!("`{share}` is no share (1% to 100%)"))?;
    Ok(Pool { page, percent })
}

/// The pools of a cache, and which one an eviction is for.
#[derive(Debug)]
pub(crate) struct PoolState {
    pools: Pools,
    uses: Vec<PoolUse>,
    /// The pool that victims come from; any if none.
    wanted: Option<usize>,
}

impl PoolState {
    pub(crate) fn new(pools: Pools, limit: u64) -> PoolState {
        let uses = pools.list().iter().map(|pool| PoolUse {
            page_bytes: pool.page.bytes() as u64,
            limit_bytes: 0,
            charged_bytes: 0,
            resident_bytes: 0,
        });
        let mut state = PoolState {
            uses: uses.collect(),
            pools,
            wanted: None,
        };
        state.set_limit(limit);
        state
    }

    /// The memory that the pools share is `bytes` now.
    pub(crate) fn set_limit(&mut self, bytes: u64) {
        for (pool, used) in self.pools.list().iter().zip(&mut self.uses) {
            used.limit_bytes = bytes / 100 * u64::from(pool.percent);
        }
    }

    pub(crate) fn uses(&self) -> &[PoolUse] {
        &self.uses
    }

    /// Victims come from the pool of `class` now.
    pub(crate) fn want(&mut self, class: SizeClass) {
        self.wanted = Some(self.pools.of(class));
    }

    /// Victims come from a pool that passes its share now or, where none does, from the last one:
    /// memory is given back.
    pub(crate) fn want_to_give(&mut self) {
        let passes = |used: &PoolUse| used.charged_bytes > used.limit_bytes;
        let over = self.uses.iter().position(passes);
        self.wanted = Some(over.unwrap_or(self.uses.len() - 1));
    }

    /// Victims come from any pool.
    pub(crate) fn want_any(&mut self) {
        self.wanted = None;
    }

    /// Whether victims of this class are passed over.
    pub(crate) fn passes_over(&self, class: SizeClass) -> bool {
        self.wanted
            .is_some_and(|wanted| wanted != self.pools.of(class))
    }

    /// Whether pages of `class` live in the last pool.
    pub(crate) fn is_last(&self, class: SizeClass) -> bool {
        self.pools.of(class) + 1 == self.uses.len()
    }

    /// Whether another page of `class` fits, where `others` bytes are no pages.
    pub(crate) fn has_room(&self, class: SizeClass, others: u64) -> bool {
        let used = &self.uses[self.pools.of(class)];
        let others = if self.is_last(class) { others } else { 0 };
        let page = used.page_bytes.max(class.bytes() as u64);
        used.charged_bytes + page + others <= used.limit_bytes
    }

    /// A page of `class` came (or went).
    pub(crate) fn count(&mut self, class: SizeClass, came: bool) {
        let used = &mut self.uses[self.pools.of(class)];
        let bytes = class.bytes() as u64;
        let charged = bytes.max(used.page_bytes);
        if came {
            used.charged_bytes += charged;
            used.resident_bytes += bytes;
        } else {
            used.charged_bytes -= charged;
            used.resident_bytes -= bytes;
        }
    }

    /// Bytes of all pools but the last that hold no page now: no one else gets them.
    pub(crate) fn set_aside(&self) -> u64 {
        let (_, others) = self.uses.split_last().expect("there is a pool");
        let free = |used: &PoolUse| used.limit_bytes.saturating_sub(used.resident_bytes);
        others.iter().map(free).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: what is written is read again; what is wrong is named with what would be right.
    #[test]
    fn pools_are_read_and_mistakes_named() {
        let text = "static:4KiB=75%,256KiB=25%";
        assert_eq!(text.parse::<Pools>().unwrap().to_string(), text);
        let same: Pools = "static: 4KiB = 75% ,256KiB=25%".parse().unwrap();
        assert_eq!(same.to_string(), text);
        for (bad, expected) in [
            ("4KiB=75%,256KiB=25%", "do not begin with `static:`"),
            ("static:", "`` is no pool"),
            ("static:4KiB", "`4KiB` is no pool"),
            ("static:5KiB=100%", "`5KiB` is no page size"),
            ("static:2KiB=100%", "`2KiB` is no page size"),
            ("static:256MiB=100%", "`256MiB` is no page size"),
            ("static:4=100%", "`4` is no page size"),
            ("static:4KiB=x", "`x` is no share"),
            ("static:4KiB=0%,8KiB=100%", "`0%` is no share"),
            ("static:4KiB=101%", "`101%` is no share"),
            ("static:4KiB=60%,256KiB=25%", "add up to 85%"),
            ("static:256KiB=25%,4KiB=75%", "`4KiB=75%` is not larger"),
        ] {
            let message = bad.parse::<Pools>().unwrap_err();
            assert!(message.contains(expected), "{bad}: {message}");
        }
    }

    /// Goal: a page takes a whole page of its pool, one larger than all several of the last.
    #[test]
    fn pages_are_charged_by_pool() {
        let class = |kib: usize| SizeClass::for_page_bytes(kib << 10).unwrap();
        let pools = "static:4KiB=75%,256KiB=25%".parse().unwrap();
        let mut state = PoolState::new(pools, 4 << 20);
        for kib in [4, 8, 1024] {
            state.count(class(kib), true);
        }
        let charged: Vec<u64> = state.uses().iter().map(|it| it.charged_bytes).collect();
        assert_eq!(charged, [4 << 10, (256 << 10) + (1 << 20)]);
        assert!(state.has_room(class(4), 4 << 20));
        assert!(!state.has_room(class(8), 0));
        let room = (4 << 20) / 100 * 75;
        assert_eq!(state.set_aside(), room - (4 << 10));
        state.want(class(64));
        assert!(state.passes_over(class(4)) && !state.passes_over(class(8)));
    }
}

//! What `graven bench cache` found: rows, aims, and the text shown to people.

use std::fmt;

use graven_pagecache::SizeClass;
use serde::Serialize;

use super::CacheBench;
use super::data::Folder;
use crate::machine::Machine;

/// Measurements of one subject over the rounds.
#[derive(Default)]
pub(super) struct Samples {
    /// CPU seconds per access or page.
    pub(super) cpu: Vec<f64>,
    /// Accesses or pages a second.
    pub(super) rate: Vec<f64>,
}

/// How a hit is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Access {
    Floor,
    FloorArray,
    FloorPin,
    Read,
    Pin,
}

/// The kind of read that misses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MissSubject {
    FloorNear,
    FloorPool,
    Plain,
    Verified,
}

impl Access {
    fn name(self) -> &'static str {
        match self {
            Access::Floor => "floor: plain read",
            Access::FloorArray => "floor: array",
            Access::FloorPin => "floor: array, pin",
            Access::Read => "optimistic read",
            Access::Pin => "pin and unpin",
        }
    }
}

impl MissSubject {
    fn name(self) -> &'static str {
        match self {
            MissSubject::FloorNear => "floor: bare loop",
            MissSubject::FloorPool => "floor over pool",
            MissSubject::Plain => "not verified",
            MissSubject::Verified => "verified",
        }
    }
}

/// Cost of accesses to resident pages.
#[derive(Clone, Debug, Serialize)]
pub struct HitRow {
    /// `large` or `small` set of pages.
    pub set: String,
    /// Bytes of the set.
    pub set_bytes: u64,
    access: Access,
    /// Policy; empty for the floor.
    pub policy: String,
    /// Threads.
    pub threads: usize,
    /// CPU nanoseconds per access, median of the rounds.
    pub cpu_ns: f64,
    /// The best round.
    pub cpu_ns_best: f64,
    /// Millions of accesses a second, all threads together, median.
    pub million_per_second: f64,
    /// Pages that had to be read during all measurements with this number of threads; should be 0.
    pub faults: u64,
}

/// Cost of bringing pages in.
#[derive(Clone, Debug, Serialize)]
pub struct MissRow {
    /// Bytes of a page.
    pub page_bytes: u64,
    subject: MissSubject,
    /// Policy; empty for the floors.
    pub policy: String,
    /// Threads.
    pub threads: usize,
    /// Pages read a second, median of the rounds.
    pub pages_per_second: f64,
    /// Megabytes (10^6) a second.
    pub megabytes_per_second: f64,
    /// CPU microseconds of the process per page, median of the rounds.
    pub cpu_us: f64,
    /// The best round.
    pub cpu_us_best: f64,
}

/// Resident memory that filled caches added to the process.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryRow {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Budgets of the caches together.
    pub budget_bytes: u64,
    /// Growth of resident memory: frames, tables, bookkeeping, rings, heap.
    pub resident_bytes: u64,
    /// Growth over budget, minus 1.
    pub overshoot: f64,
}

/// An aim and whether this run met it.
#[derive(Clone, Debug, Serialize)]
pub struct Target {
    /// What is wanted.
    pub name: String,
    /// The limit.
    pub limit: f64,
    /// What was measured (the worst where there are several).
    pub value: f64,
    /// Whether the limit holds.
    pub met: bool,
}

/// Result of `graven bench cache`.
#[derive(Clone, Debug, Serialize)]
pub struct CacheReport {
    /// What it ran on.
    pub machine: Machine,
    /// How pages were read, after any fallback.
    pub io: String,
    /// Reads kept in flight.
    pub depth: usize,
    /// Bytes of each data file.
    pub data_bytes: u64,
    /// Budget while misses were measured.
    pub pool_bytes: u64,
    /// Rounds.
    pub rounds: usize,
    /// Costs of hits.
    pub hits: Vec<HitRow>,
    /// Costs of misses.
    pub misses: Vec<MissRow>,
    /// Resident memory.
    pub memory: Vec<MemoryRow>,
    /// Aims and what became of them.
    pub aims: Vec<Target>,
}

impl CacheReport {
    pub(super) fn new(bench: &CacheBench, folder: &Folder) -> CacheReport {
        CacheReport {
            machine: Machine::describe(folder.path()),
            io: String::new(),
            depth: bench.depth,
            data_bytes: bench.data_bytes,
            pool_bytes: bench.pool_bytes,
            rounds: bench.rounds,
            hits: Vec::new(),
            misses: Vec::new(),
            memory: Vec::new(),
            aims: Vec::new(),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one argument a column, called in one place"
    )]
    pub(super) fn hit_row(
        &mut self,
        set: &str,
        set_bytes: u64,
        access: Access,
        policy: &str,
        threads: usize,
        samples: &Samples,
        faults: u64,
    ) {
        self.hits.push(HitRow {
            set: set.to_owned(),
            set_bytes,
            access,
            policy: policy.to_owned(),
            threads,
            cpu_ns: median(&samples.cpu) * 1e9,
            cpu_ns_best: least(&samples.cpu) * 1e9,
            million_per_second: median(&samples.rate) / 1e6,
            faults,
        });
    }

    pub(super) fn miss_row(
        &mut self,
        class: SizeClass,
        subject: MissSubject,
        policy: &str,
        threads: usize,
        samples: &Samples,
    ) {
        let pages_per_second = median(&samples.rate);
        self.misses.push(MissRow {
            page_bytes: class.bytes() as u64,
            subject,
            policy: policy.to_owned(),
            threads,
            pages_per_second,
            megabytes_per_second: pages_per_second * class.bytes() as f64 / 1e6,
            cpu_us: median(&samples.cpu) * 1e6,
            cpu_us_best: least(&samples.cpu) * 1e6,
        });
    }

    pub(super) fn memory_row(&mut self, class: SizeClass, resident_bytes: u64, budget_bytes: u64) {
        self.memory.push(MemoryRow {
            page_bytes: class.bytes() as u64,
            budget_bytes,
            resident_bytes,
            overshoot: resident_bytes as f64 / budget_bytes as f64 - 1.0,
        });
    }

    /// Compares the rows with the aims.
    pub(super) fn judge(&mut self) {
        for (set, read, pin) in [("large", 15.0, 20.0), ("small", 4.0, 8.0)] {
            for (access, limit) in [(Access::Read, read), (Access::Pin, pin)] {
                let value = self.worst_hit(set, access);
                let name = format!(
                    "{}, {set} set, worst counter policy, 1 and 2 threads, CPU ns",
                    access.name()
                );
                self.aim(name, limit, value);
            }
        }
        self.aim(
            "any counter policy / random, optimistic read, 1 thread".to_owned(),
            1.3,
            self.policy_ratio(counts),
        );
        self.aim(
            "any list policy, sampled / random, optimistic read, 1 thread".to_owned(),
            1.5,
            self.policy_ratio(is_sampled),
        );
        if let Some(ratio) = self.many_threads_ratio() {
            let name = "2 threads / 8 threads, optimistic reads a second, counter policies, over \
                plain reads' ratio";
            self.aim(name.to_owned(), 1.05, ratio);
        }
        for (bytes, plain, verified) in [(4096, 4.0, 5.0), (65536, 6.0, 11.0)] {
            let kib = bytes / 1024;
            for (subject, limit) in [
                (MissSubject::Plain, plain),
                (MissSubject::Verified, verified),
            ] {
                let value = self.miss(bytes, subject).map_or(f64::NAN, |row| row.cpu_us);
                let name = format!("miss, {kib} KiB, {}, CPU us", subject.name());
                self.aim(name, limit, value);
            }
            let rate = |subject| {
                self.miss(bytes, subject)
                    .map_or(f64::NAN, |row| row.pages_per_second)
            };
            let value = rate(MissSubject::FloorNear) / rate(MissSubject::Plain);
            let name = format!("miss, {kib} KiB, bare loop's pages/s / cache's, not verified");
            self.aim(name, 1.0 / 0.95, value);
        }
        let over = self
            .memory
            .iter()
            .map(|row| row.overshoot)
            .fold(f64::NAN, f64::max);
        if self.pool_bytes >= 64 << 20 {
            self.aim("resident memory over budget, share".to_owned(), 0.02, over);
        }
    }

    /// Adds an aim unless what it is about was not measured.
    fn aim(&mut self, name: String, limit: f64, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.aims.push(Target {
            name,
            limit,
            value,
            met: value <= limit,
        });
    }

    fn worst_hit(&self, set: &str, access: Access) -> f64 {
        self.hits
            .iter()
            .filter(|row| {
                row.set == set && row.access == access && row.threads <= 2 && counts(&row.policy)
            })
            .map(|row| row.cpu_ns)
            .fold(f64::NAN, f64::max)
    }

    /// The most that a hit of one of these policies costs, by one of `random`.
    fn policy_ratio(&self, is_meant: fn(&str) -> bool) -> f64 {
        let reads = || {
            let rows = self.hits.iter();
            rows.filter(|row| row.access == Access::Read && row.threads == 1)
        };
        let mut worst = f64::NAN;
        for row in reads().filter(|row| is_meant(&row.policy)) {
            let random = reads().find(|other| other.set == row.set && other.policy == "random");
            worst = worst.max(random.map_or(f64::NAN, |random| row.cpu_ns / random.cpu_ns));
        }
        worst
    }

    /// What 8 threads read less than 2 do, as a factor: the median of counting policies and sets.
    /// Divided by the factor of plain reads, because with more threads than cores the system's
    /// scheduling makes some of it.
    fn many_threads_ratio(&self) -> Option<f64> {
        let rate = |set: &str, access, policy: &str, threads| {
            let row = self.hits.iter().find(|row| {
                (&*row.set, row.access, &*row.policy, row.threads) == (set, access, policy, threads)
            })?;
            Some(row.million_per_second)
        };
        let factor = |row: &HitRow, access, policy: &str| {
            Some(rate(&row.set, access, policy, 2)? / rate(&row.set, access, policy, 8)?)
        };
        let factors: Vec<f64> = self
            .hits
            .iter()
            .filter(|row| row.access == Access::Read && row.threads == 8 && counts(&row.policy))
            .filter_map(|row| {
                Some(factor(row, Access::Read, &row.policy)? / factor(row, Access::Floor, "")?)
            })
            .collect();
        (!factors.is_empty()).then(|| median(&factors))
    }

    fn miss(&self, bytes: u64, subject: MissSubject) -> Option<&MissRow> {
        self.misses
            .iter()
            .find(|row| row.page_bytes == bytes && row.subject == subject && row.threads == 1)
    }
}

impl fmt::Display for CacheReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine {
            processor,
            cores,
            kernel,
            storage,
            ..
        } = &self.machine;
        writeln!(
            f,
            "{processor}, {cores} cores, Linux {kernel}, {storage}, {} files",
            self.io
        )?;
        writeln!(f, "{} rounds: median, best in brackets", self.rounds)?;
        writeln!(
            f,
            "\nhits: Zipf 0.99 over resident 8 KiB pages; CPU time of the threads per access"
        )?;
        writeln!(
            f,
            "{:<6} {:>8} {:<18} {:<24} {:>7} {:>14} {:>9} {:>6}",
            "set", "MiB", "access", "policy", "threads", "CPU ns", "M/s", "faults"
        )?;
        for row in &self.hits {
            let cost = format!("{:.1} ({:.1})", row.cpu_ns, row.cpu_ns_best);
            writeln!(
                f,
                "{:<6} {:>8} {:<18} {:<24} {:>7} {:>14} {:>9.1} {:>6}",
                row.set,
                row.set_bytes >> 20,
                row.access.name(),
                row.policy,
                row.threads,
                cost,
                row.million_per_second,
                row.faults
            )?;
        }
        writeln!(
            f,
            "\nmisses: uniform over {} MiB, pool {} MiB, {} reads in flight; CPU time of the \
                process per page",
            self.data_bytes >> 20,
            self.pool_bytes >> 20,
            self.depth
        )?;
        writeln!(
            f,
            "{:>8} {:<18} {:<24} {:>7} {:>9} {:>7} {:>15}",
            "page KiB", "subject", "policy", "threads", "pages/s", "MB/s", "CPU us"
        )?;
        for row in &self.misses {
            let cost = format!("{:.2} ({:.2})", row.cpu_us, row.cpu_us_best);
            writeln!(
                f,
                "{:>8} {:<18} {:<24} {:>7} {:>9.0} {:>7.0} {:>15}",
                row.page_bytes >> 10,
                row.subject.name(),
                row.policy,
                row.threads,
                row.pages_per_second,
                row.megabytes_per_second,
                cost
            )?;
        }
        writeln!(f, "\nresident memory of full caches")?;
        for row in &self.memory {
            writeln!(
                f,
                "{:>8} KiB pages: {:.1} MiB for a budget of {} MiB ({:+.1} %)",
                row.page_bytes >> 10,
                row.resident_bytes as f64 / 1048576.0,
                row.budget_bytes >> 20,
                row.overshoot * 100.0
            )?;
        }
        writeln!(f, "\naims")?;
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "missed" };
            writeln!(
                f,
                "{:>7}  {:>8.2} (at most {:.2})  {}",
                verdict, aim.value, aim.limit, aim.name
            )?;
        }
        Ok(())
    }
}

/// Whether hits only change a usage count, if anything: the policies that the aims are about.
fn counts(policy: &str) -> bool {
    let name = policy.split(':').next().unwrap_or_default();
    !matches!(name, "lru" | "eviction-queue")
}

/// Whether the policy is told of a sample of the hits.
fn is_sampled(policy: &str) -> bool {
    policy.contains("protocol=sampled")
}

/// The middle value; NaN without values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n.is_multiple_of(2) => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        n => sorted[n / 2],
    }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

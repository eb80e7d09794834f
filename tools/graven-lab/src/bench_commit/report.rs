//! What `bench commit` prints: a line per setting, or the guide's table.

use std::fmt;

use graven::Durability;
use serde::Serialize;

use super::{Raw, Run, Slice, Workload};

/// What one setting measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// What a transaction does.
    pub workload: Workload,
    /// Threads that commit.
    pub clients: usize,
    /// `full`, `relaxed(N ms)` or `off`.
    pub durability: String,
    /// Operations, or rows, of a transaction.
    pub operations: u64,
    /// Transactions of all rounds.
    pub transactions: u64,
    /// Median over the rounds of transactions a second.
    pub tx_per_second: f64,
    /// Standard deviation over the rounds.
    pub tx_per_second_deviation: f64,
    /// Median of operations a second.
    pub operations_per_second: f64,
    /// Bytes a transaction put into the log.
    pub log_bytes_per_tx: f64,
    /// Share of the clients' time spent waiting for the log: 0 to 1.
    pub waited_share: f64,
    /// Commits served by the sync that a commit waited for, on average.
    pub group: f64,
    /// Median time of a transaction in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Flushes that the disk counted per transaction, all processes together.
    pub flushes_per_tx: Option<f64>,
    /// Median over the rounds of durable raw writes of the same bytes a second.
    pub floor_per_second: f64,
    /// Median over the rounds of transactions per raw write.
    pub ratio: f64,
    /// Transactions and raw writes a second of each round.
    pub rounds: Vec<(f64, f64)>,
}

impl Measurement {
    pub(super) fn new(
        workload: Workload,
        clients: usize,
        durability: Durability,
        run: &Run,
        slices: Vec<(Slice, Raw)>,
    ) -> Measurement {
        let rate = |count: u64, seconds: f64| count as f64 / seconds.max(1e-9);
        let rounds: Vec<(f64, f64)> = slices
            .iter()
            .map(|(ours, raw)| (rate(ours.transactions, ours.seconds), raw.per_second()))
            .collect();
        let sum = |value: fn(&Slice) -> f64| slices.iter().map(|(s, _)| value(s)).sum::<f64>();
        let transactions = sum(|s| s.transactions as f64);
        let per_tx = |total: f64| total / transactions.max(1.0);
        let ours: Vec<f64> = rounds.iter().map(|round| round.0).collect();
        // Percentiles of the round in the middle: rounds differ more than the percentiles in one.
        let middle = slices.get(slices.len() / 2).map(|(s, _)| s.latency.view());
        let percentile = |share| {
            let view = middle.as_ref();
            view.map_or(0.0, |view| view.percentile(share) as f64 / 1000.0)
        };
        let flushes: Option<u64> = slices.iter().map(|(s, _)| s.flushes).sum();
        Measurement {
            workload,
            clients,
            durability: name(durability),
            operations: run.operations(),
            transactions: transactions as u64,
            tx_per_second: median(&ours),
            tx_per_second_deviation: deviation(&ours),
            operations_per_second: median(&ours) * run.operations() as f64,
            log_bytes_per_tx: per_tx(sum(|s| s.log_bytes as f64)),
            waited_share: sum(|s| s.waited.as_secs_f64())
                / (sum(|s| s.seconds) * clients as f64).max(1e-9),
            group: sum(|s| s.grouped as f64) / sum(|s| s.groups as f64).max(1.0),
            p50_us: percentile(0.5),
            p99_us: percentile(0.99),
            flushes_per_tx: flushes.map(|flushes| per_tx(flushes as f64)),
            floor_per_second: median(&rounds.iter().map(|round| round.1).collect::<Vec<_>>()),
            ratio: median(
                &rounds
                    .iter()
                    .map(|round| round.0 / round.1.max(1e-9))
                    .collect::<Vec<_>>(),
            ),
            rounds,
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workload = match self.workload {
            Workload::Single => "single operation".to_owned(),
            Workload::Large => format!("{} operations", self.operations),
            Workload::Unwind => format!("UNWIND of {}", self.operations),
        };
        write!(
            f,
            "{workload}, {} clients, {}: {:.0} tx/s (+- {:.0}), {:.0} operations/s, {:.0} log \
                bytes/tx, \
             p50 {:.0} us, p99 {:.0} us, {:.0} % waiting for the log, groups of {:.1}",
            self.clients,
            self.durability,
            self.tx_per_second,
            self.tx_per_second_deviation,
            self.operations_per_second,
            self.log_bytes_per_tx,
            self.p50_us,
            self.p99_us,
            self.waited_share * 100.0,
            self.group
        )?;
        if let Some(flushes) = self.flushes_per_tx {
            write!(f, ", {flushes:.2} flushes/tx")?;
        }
        writeln!(
            f,
            "\n    the disk's own floor: {:.0} durable writes/s of the same bytes; ratio {:.2}",
            self.floor_per_second, self.ratio
        )
    }
}

/// Settings against small and large transactions.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Matrix {
    /// One per setting and workload.
    pub measurements: Vec<Measurement>,
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:16} {:>8} {:>24} {:>24} {:>24}",
            "durability", "clients", "single operations/s", "large operations/s", "UNWIND rows/s"
        )?;
        let mut settings: Vec<(&str, usize)> = Vec::new();
        for m in &self.measurements {
            if !settings.contains(&(&*m.durability, m.clients)) {
                settings.push((&m.durability, m.clients));
            }
        }
        for (durability, clients) in settings {
            write!(f, "{durability:16} {clients:>8}")?;
            for workload in [Workload::Single, Workload::Large, Workload::Unwind] {
                let cell = self.measurements.iter().find(|m| {
                    m.workload == workload && m.durability == durability && m.clients == clients
                });
                let text = cell.map_or("-".to_owned(), |m| {
                    let deviation = m.tx_per_second_deviation * m.operations as f64;
                    format!("{:.0} +- {deviation:.0}", m.operations_per_second)
                });
                write!(f, " {text:>24}")?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\nmedian and standard deviation over the rounds")
    }
}

fn name(durability: Durability) -> String {
    match durability {
        Durability::Full => "full".to_owned(),
        Durability::Relaxed(delay) => format!("relaxed({} ms)", delay.as_millis()),
        _ => "off".to_owned(),
    }
}

/// A percentile of the latency of the transactions, in microseconds.
pub(super) fn percentile_us(slice: &Slice, share: f64) -> f64 {
    slice.latency.view().percentile(share) as f64 / 1000.0
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

//! Group commit: small transactions of several clients share a force of the log.

use std::time::Duration;

use graven::Durability;

use crate::bench_commit::{CommitBench, Measurement, Workload};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::statistics::{self, Claim};
use crate::study::{Page, Section, Study, StudyProgress, Table, Verdict, shown};

const CLIENTS: [usize; 5] = [1, 2, 4, 8, 16];

pub(super) fn add(page: &mut Page, study: &Study, tell: StudyProgress<'_>) -> Result<(), LabError> {
    let bench = CommitBench {
        directory: study.scratch.clone(),
        memory: 128 << 20,
        operations: 1,
        rounds: if study.quick { 3 } else { 7 },
        slice: Duration::from_millis(if study.quick { 150 } else { 500 }),
    };
    let mut runs: Vec<Measurement> = Vec::new();
    for clients in CLIENTS {
        tell(&format!("small transactions of {clients} clients"))?;
        runs.push(bench.run(Workload::Single, clients, Durability::Full)?);
    }
    // One client once more: what the machine does by itself.
    let again = bench.run(Workload::Single, 1, Durability::Full)?;
    let ours = |run: &Measurement| -> Vec<f64> { run.rounds.iter().map(|round| round.0).collect() };
    let floor =
        |run: &Measurement| -> Vec<f64> { run.rounds.iter().map(|round| round.1).collect() };
    let mut table = Table::new(
        "Small transactions by clients",
        &[
            "clients",
            "tx/s",
            "deviation",
            "commits that share a force",
            "p50, us",
            "p99, us",
            "the disk's floor, writes/s",
            "ratio",
        ],
    );
    for run in &runs {
        table.rows.push(vec![
            run.clients.to_string(),
            format!("{:.0}", run.tx_per_second),
            format!("{:.0}", run.tx_per_second_deviation),
            format!("{:.1}", run.group),
            format!("{:.0}", run.p50_us),
            format!("{:.0}", run.p99_us),
            format!("{:.0}", run.floor_per_second),
            format!("{:.2}", run.ratio),
        ]);
    }
    let labels = CLIENTS.map(|clients| clients.to_string()).to_vec();
    let line = |name: &str, value: &dyn Fn(&Measurement) -> Vec<f64>| {
        let (points, errors) = runs
            .iter()
            .enumerate()
            .map(|(at, run)| {
                let mean = statistics::mean(&value(run));
                let (mean, half) =
                    mean.map_or((f64::NAN, 0.0), |i| (i.mean, (i.high - i.low) / 2.0));
                ((at as f64, mean), half)
            })
            .unzip();
        Series {
            name: name.to_owned(),
            points,
            errors,
        }
    };
    page.push(
        "clients",
        Section {
            title: "Small transactions of many clients share a force".to_owned(),
            text: vec![
                "Each client commits transactions of one operation, every one durable before it is \
                    acknowledged. The floor: as many threads that write as many bytes \
                 to a preallocated file and share syncs. Lines on the points: 95 % intervals of \
                 the mean of the rounds."
                    .to_owned(),
            ],
            figures: vec![Figure {
                name: "clients".to_owned(),
                title: "Durable transactions a second by clients".to_owned(),
                panels: vec![
                    Panel {
                        title: "throughput".to_owned(),
                        x: Axis::categories("clients", labels.clone()),
                        y: Axis::from_zero("transactions a second"),
                        shape: Shape::Lines,
                        series: vec![line("graven", &ours), line("the disk's floor", &floor)],
                    },
                    Panel {
                        title: "commits that share a force".to_owned(),
                        x: Axis::categories("clients", labels),
                        y: Axis::from_zero("commits"),
                        shape: Shape::Lines,
                        series: vec![line("graven", &|run| vec![run.group; run.rounds.len()])],
                    },
                ],
                columns: 2,
            }],
            tables: vec![table],
            ..Section::default()
        },
    );
    let one = ours(&runs[0]);
    let band = statistics::noise_band(&one, &ours(&again));
    let most = statistics::ratio(&ours(&runs[CLIENTS.len() - 1]), &one);
    page.verdicts.push(
        Verdict::timed(
            "Small transactions gain when many share a force (here: sixteen clients commit twice \
                as many as one)",
            statistics::judge(Claim::Above(2.0), most, band),
            format!(
                "Transactions a second of 16 clients by those of one: {}.",
                shown(most, band)
            ),
        )
        .of("clients", "file system tuning for high IO", "no numbers"),
    );
    Ok(())
}

//! The study's question asked of Graven itself, with less memory than the graph takes: what it
//! waits for.

use std::path::PathBuf;

use graven::IoMode;
use graven_import::{ImportOptions, ImportSource};

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::measurement::Measurement;
use crate::study::{Section, Study, StudyProgress, Table, layout};
use crate::three_hop::{self, Length, Questions};

const MEMORY_MIB: [u64; 3] = [2, 4, 8];
const POLICIES: [&str; 5] = [
    "random",
    "gclock",
    "lru:protocol=locked",
    "lru:protocol=combining",
    "graven",
];

/// Asks the question by every policy and amount of memory: the starts and the runs; nothing where
/// there is no data.
pub(super) fn ask(
    study: &Study,
    tell: StudyProgress<'_>,
) -> Result<(Vec<i64>, Vec<Measurement>), LabError> {
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let Some((database, params)) = database(study, folder.path().join("social.graven"), tell)?
    else {
        return Ok((Vec::new(), Vec::new()));
    };
    let mut questions = Questions::read(&params, None)?;
    questions.starts.truncate(if study.quick { 12 } else { 96 });
    let threads: &[usize] = if study.quick { &[1] } else { &[1, 2] };
    let mut runs = Vec::new();
    for mib in MEMORY_MIB {
        for policy in POLICIES {
            for &threads in threads {
                tell(&format!(
                    "three hops: {policy}, {mib} MiB, {threads} threads"
                ))?;
                runs.push(three_hop::run(
                    &database,
                    &questions,
                    &three_hop::Setting {
                        policy: policy.to_owned(),
                        pools: None,
                        cache_bytes: mib << 20,
                        cache_share: None,
                        threads,
                        io: IoMode::Direct,
                        batch: 1,
                        warm_up_passes: u64::from(!study.quick),
                        length: Length::Passes(1),
                    },
                )?);
            }
        }
    }
    Ok((questions.starts, runs))
}

/// The database that was named, or one that is made of the network's tables.
fn database(
    study: &Study,
    made: PathBuf,
    tell: StudyProgress<'_>,
) -> Result<Option<(PathBuf, PathBuf)>, LabError> {
    if let (Some(database), Some(params)) = (&study.database, &study.params) {
        return Ok(Some((database.clone(), params.clone())));
    }
    let params = study.data.join("three-hop-params.csv");
    if layout::knows(&study.data).is_none() || !params.exists() {
        return Ok(None);
    }
    tell("importing the network")?;
    let source = ImportSource::Ldbc(study.data.clone());
    let mut quiet = |_: graven_import::Progress<'_>| std::ops::ControlFlow::Continue(());
    graven_import::import(&made, &source, &ImportOptions::default(), &mut quiet)?;
    Ok(Some((made, params)))
}

/// Milliseconds a question waited for pages.
fn waited(run: &Measurement) -> f64 {
    let all: f64 = run.kinds.iter().map(|kind| kind.waited_ms).sum();
    all / run.queries.max(1) as f64
}

pub(super) fn section(runs: &[Measurement]) -> Section {
    let title = "The same question asked of Graven: blocking faults".to_owned();
    if runs.is_empty() {
        let left_out = "Left out: there is neither a database nor a network to make one of.";
        return Section {
            title,
            text: vec![left_out.to_owned()],
            ..Section::default()
        };
    }
    let mut table = Table::new(
        "Every run, direct reads",
        &[
            "policy",
            "memory",
            "threads",
            "questions/s",
            "hit ratio",
            "transactional",
            "faults a question",
            "blocking",
            "waited, ms a question",
            "device, MiB read",
        ],
    );
    for run in runs {
        table.rows.push(vec![
            run.policy.clone(),
            graven::format_bytes(run.cache_bytes),
            run.threads.to_string(),
            format!("{:.0}", run.throughput_qps),
            format!("{:.4}", run.hit_ratio),
            format!("{:.4}", run.transactional_hit_ratio),
            format!("{:.1}", run.faults_per_query),
            format!("{:.1}", run.blocked_per_query),
            format!("{:.2}", waited(run)),
            format!("{:.1}", run.device_read_bytes as f64 / f64::from(1 << 20)),
        ]);
    }
    let labels: Vec<String> = MEMORY_MIB.iter().map(|mib| format!("{mib} MiB")).collect();
    let panel = |title: &str, unit: &str, value: &dyn Fn(&Measurement) -> f64| Panel {
        title: title.to_owned(),
        x: Axis::categories("memory for everything", labels.clone()),
        y: Axis::from_zero(unit),
        shape: Shape::Lines,
        series: POLICIES
            .iter()
            .map(|policy| {
                let of_policy = runs
                    .iter()
                    .filter(|run| run.policy == *policy && run.threads == 1);
                let points = of_policy
                    .enumerate()
                    .map(|(at, run)| (at as f64, value(run)));
                Series::new(*policy, points.collect())
            })
            .collect(),
    };
    Section {
        title,
        text: vec![
            "Graven keeps the graph in a few MiB and visits lists in the order of their pages, so \
                the pressure of the study begins at 2 to 8 MiB. A fault \
             is a page that had to be read, alone or ahead with others; blocking ones are accesses \
             that waited, and transactional is the share of accesses that did not; waited is the \
             time for which the question could not go on."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "questions".to_owned(),
            title: "Three hops in Graven, one thread, direct reads".to_owned(),
            panels: vec![
                panel("faults a question", "faults", &|run| run.faults_per_query),
                panel("accesses that waited", "a question", &|run| {
                    run.blocked_per_query
                }),
                panel("time waited for pages", "milliseconds a question", &waited),
                panel("throughput", "questions a second", &|run| {
                    run.throughput_qps
                }),
            ],
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

pub(super) fn finding(runs: &[Measurement]) -> String {
    let of = |mib: u64, value: fn(&Measurement) -> f64| {
        let at = runs
            .iter()
            .filter(|run| run.cache_bytes == mib << 20 && run.threads == 1);
        at.map(value)
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), value| {
                (low.min(value), high.max(value))
            })
    };
    if runs.is_empty() {
        return "The question was not asked of Graven: there was no network.".to_owned();
    }
    let (low, high) = of(2, |run| run.faults_per_query);
    let (low8, high8) = of(8, |run| run.faults_per_query);
    let roomy = match high8 < 0.5 {
        true => "none".to_owned(),
        false => format!("{low8:.0} to {high8:.0}"),
    };
    format!(
        "Asked of Graven, the question takes {low:.0} to {high:.0} faults in 2 MiB, by policy, and \
            {roomy} in 8 MiB; Neo4j's pins are about half a million \
         a question."
    )
}

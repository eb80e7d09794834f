//! Scans with and without a hint: what becomes of the hot set, in the simulator and on the live
//! cache.

use std::ops::ControlFlow;

use graven::IoMode;
use graven_pagecache::Reserve;

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::replay::{EvictorChoice, Replayed, Setting, Source, Stage};
use crate::simulate::{Run, Simulation, Size};
use crate::study::{Section, Study, Table, percent};
use crate::workload::Workload;
use graven_trace::ReadOptions;

/// Point reads and friend lists, and three tenths of the accesses from scans.
const WORKLOAD: &str = "mixed:pages=20000,alpha=0.9,scans=0.3";

/// The same accesses unmarked and marked.
pub(super) struct Hinted {
    /// Simulated, by policy.
    simulated: [Vec<Run>; 2],
    /// On the live cache, by policy.
    live: [Vec<Replayed>; 2],
}

pub(super) fn measure(study: &Study) -> Result<Hinted, LabError> {
    let accesses = if study.quick { 60_000 } else { 400_000 };
    let workload: Workload = WORKLOAD.parse().map_err(LabError::Setting)?;
    let (mut pages, mut flags) = (Vec::new(), Vec::new());
    for access in workload.accesses(1).take(accesses) {
        pages.push(access.page);
        flags.push(access.flags);
    }
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let one = |name: &str, flags: Option<Vec<u8>>| -> Result<(Vec<Run>, Vec<Replayed>), LabError> {
        let path = folder.path().join(format!("{name}.u64.zst"));
        let trace = graven_trace::Trace {
            pages: pages.clone(),
            flags,
            ..graven_trace::Trace::default()
        };
        graven_trace::raw::write(&path, &trace)?;
        let simulation = Simulation {
            traces: vec![path.clone()],
            policies: crate::live_policies(),
            sizes: vec![Size::Share(0.1)],
            page_bytes: 4096,
            read: ReadOptions::default(),
            accesses: None,
            seed: 1,
            threads: 0,
        };
        let simulated = simulation.run(&mut |_| ControlFlow::Continue(()))?;
        let source = Source::Trace(path, ReadOptions::default());
        let stage = Stage::new(&source, 4096, accesses, &study.scratch)?;
        let cache_pages = (stage.unique() / 10) as u64;
        let live = crate::live_policies().into_iter().map(|policy| {
            stage.play(&Setting {
                policy,
                pools: None,
                cache_pages,
                threads: 1,
                io: IoMode::Buffered.into(),
                evictor: EvictorChoice::Background,
                reserve: Reserve::default(),
                warm_up: 0.0,
                time: None,
                verify: false,
                seed: 1,
            })
        });
        Ok((simulated, live.collect::<Result<_, _>>()?))
    };
    let (unmarked, marked) = (one("without", None)?, one("with", Some(flags.clone()))?);
    Ok(Hinted {
        simulated: [unmarked.0, marked.0],
        live: [unmarked.1, marked.1],
    })
}

pub(super) fn section(hinted: &Hinted) -> Section {
    let mut table = Table::new(
        "Hit ratio (%) with a cache of 10 % of the pages",
        &[
            "policy",
            "simulated, unmarked",
            "marked",
            "points gained",
            "live, unmarked",
            "marked",
            "points gained",
        ],
    );
    let both = hinted.simulated[0].iter().zip(&hinted.simulated[1]);
    let live = hinted.live[0].iter().zip(&hinted.live[1]);
    for ((plain, marked), (live_plain, live_marked)) in both.zip(live) {
        table.rows.push(vec![
            plain.policy.clone(),
            percent(plain.hit_ratio),
            percent(marked.hit_ratio),
            format!("{:+.2}", (marked.hit_ratio - plain.hit_ratio) * 100.0),
            percent(live_plain.hit_ratio),
            percent(live_marked.hit_ratio),
            format!(
                "{:+.2}",
                (live_marked.hit_ratio - live_plain.hit_ratio) * 100.0
            ),
        ]);
    }
    let panel = |title: &str, runs: &[Replayed]| Panel {
        title: title.to_owned(),
        x: Axis::from_zero("hit ratio, %"),
        shape: Shape::Bars,
        series: runs
            .iter()
            .map(|run| Series::new(run.policy.clone(), vec![(0.0, run.hit_ratio * 100.0)]))
            .collect(),
        ..Panel::default()
    };
    Section {
        title: "Scan hints".to_owned(),
        text: vec![
            "Point reads and friend lists by Zipf's law, three tenths of the accesses from scans \
                of a thousand pages. Marked scans enter at the \
             probation end and do not count as use; hits on pages that a scan finds are counted in \
             both columns. A query's scan of a column that is larger than \
             a quarter of the memory is marked by the storage itself."
                .to_owned(),
        ],
        figures: vec![Figure {
            name: "scan-hints".to_owned(),
            title: "Scans on the live cache, before and after the hint".to_owned(),
            panels: vec![
                panel("before: unmarked", &hinted.live[0]),
                panel("after: marked", &hinted.live[1]),
            ],
            columns: 2,
        }],
        tables: vec![table],
        ..Section::default()
    }
}

pub(super) fn finding(hinted: &Hinted) -> String {
    let gained: Vec<f64> = hinted.live[0]
        .iter()
        .zip(&hinted.live[1])
        .map(|(plain, marked)| (marked.hit_ratio - plain.hit_ratio) * 100.0)
        .collect();
    let better = gained.iter().filter(|points| **points > 0.05).count();
    let most = gained.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!(
        "Marking scans raises the live cache's hit ratio under {better} of {} policies, by up to \
            {most:.1} points.",
        gained.len()
    )
}

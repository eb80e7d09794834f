//! Reports that put a founding document's claims to the test: one self-contained page each.
//!
//! # How it works
//! A page is a list of sections (text, tables, figures) and ends in a table of verdicts: every
//! claim of the original with what was seen here, confirmed, refuted, or not testable on this
//! machine, and why. Verdicts are computed from the runs that the page shows, so they cannot
//! disagree with it. The page, a run file and every figure (SVG and PNG) go to one folder.
//!
//! | report | original |
//! | --- | --- |
//! | [`neo4j`] | the study of Neo4j's page cache: policies under threads, three hops |
//! | [`thesis`] | the thesis on replacement policies: counters, arms, CLOCK variants, history |
//! | [`ext4`] | write throughput on ext4: one large transaction or a thousand small ones, settings of the system |
//! | [`linux`] | the Linux guide: the write test, dirty pages beside it, group commit |
//! | [`kuzu`] | variable-size pages: two static pools against size classes |
//!
//! A report is made of named parts ([`Which::parts`]); [`Study::only`] makes one of them alone.
//! [`site`] makes all reports with an index of every figure, table and claim.

mod ext4;
mod kuzu;
mod layout;
mod linux;
mod neo4j;
mod page;
mod site;
mod thesis;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::LabError;
use crate::machine::Machine;
use crate::replay::{self, Replayed, Setting, Source, Stage};
use crate::simulate::{Run, Simulation, Size};
use crate::statistics::{self, Claim, Interval, Standing};
use crate::workload::Workload;
use graven_trace::ReadOptions;
pub use page::{Basis, Exhibit, Outcome, Page, Section, Table, Verdict};
pub use site::{Reported, Site, compare};

/// Accesses of a trace that a quick look simulates.
const QUICK_ACCESSES: usize = 400_000;
/// Rounds of replays.
const ROUNDS: usize = 5;
/// What a reader has to know of them.
const ROUNDS_IN_TURN: &str = "Every setting is played in five rounds, in turn with the others (a \
    quick look makes one, which decides nothing). Points are \
                              the means of the rounds, bars around them the 95 % bootstrap \
                              intervals; the other columns are those of the fastest round.";

/// Which report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The study of Neo4j's page cache.
    Neo4jStudy,
    /// The thesis.
    Thesis,
    /// Write throughput on ext4.
    Ext4,
    /// The Linux performance guide.
    LinuxGuide,
    /// Variable-size pages.
    KuzuPages,
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|which| which.name() == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|which| which.name()).collect();
            format!("`{text}`: expected {}, or all", names.join(", "))
        })
    }
}

impl Which {
    /// All of them, in the order of the documents.
    pub const ALL: [Self; 5] = [
        Self::Neo4jStudy,
        Self::Thesis,
        Self::Ext4,
        Self::LinuxGuide,
        Self::KuzuPages,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Neo4jStudy => "neo4j-study",
            Self::Thesis => "thesis",
            Self::Ext4 => "ext4",
            Self::LinuxGuide => "linux-guide",
            Self::KuzuPages => "kuzu-pages",
        }
    }

    /// Names of its parts, in their order.
    #[must_use]
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Neo4jStudy => &neo4j::PARTS,
            Self::Thesis => &thesis::PARTS,
            Self::Ext4 => &ext4::PARTS,
            Self::LinuxGuide => &linux::PARTS,
            Self::KuzuPages => &kuzu::PARTS,
        }
    }

    /// Whether it plays recorded traces.
    #[must_use]
    pub fn plays_traces(self) -> bool {
        matches!(self, Self::Neo4jStudy | Self::Thesis)
    }
}

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct Study {
    /// Which one.
    pub which: Which,
    /// One part of it, or all.
    pub only: Option<String>,
    /// Settings of the system may be changed, in a file system of its own (as root).
    pub apply: bool,
    /// Folder of the recorded traces.
    pub traces: PathBuf,
    /// The traces there are those of [`own_traces`].
    pub own_traces: bool,
    /// Folder with `knows.csv[.zst]` of the social network.
    pub data: PathBuf,
    /// A database of that network, if there is one.
    pub database: Option<PathBuf>,
    /// The starts of the three-hop question, for that database.
    pub params: Option<PathBuf>,
    /// Folder for files that are removed afterwards.
    pub scratch: PathBuf,
    /// A tenth of the work, for a look.
    pub quick: bool,
    /// The command line that asked for it.
    pub command: String,
    /// The machine before it began.
    pub machine: Machine,
}

/// Traces that reports play, and the workloads that stand for them where they are not at hand.
const OWN_TRACES: [(&str, &str); 4] = [
    ("neo4j-hop3-1thread", "bfs:pages=8000,hops=3"),
    ("neo4j-hop3-4threads", "bfs:pages=8000,hops=3"),
    ("neo4j-snb-mix", "mixed:pages=10000"),
    ("synth-thesislike", "zipf:pages=9000,alpha=0.8"),
];
const OWN_ACCESSES: usize = 600_000;

/// Generated traces under the names of the recorded ones, in a folder in `scratch` that goes with
/// what is returned.
///
/// # Errors
/// What the system refuses.
pub fn own_traces(scratch: &Path) -> Result<tempfile::TempDir, LabError> {
    let folder = tempfile::tempdir_in(scratch).map_err(LabError::io(scratch, "making a folder"))?;
    for (name, workload) in OWN_TRACES {
        let workload: Workload = workload.parse().map_err(LabError::Setting)?;
        let accesses = workload.accesses(1).take(OWN_ACCESSES);
        let trace = graven_trace::Trace {
            pages: accesses.map(|access| access.page).collect(),
            ..graven_trace::Trace::default()
        };
        graven_trace::raw::write(&folder.path().join(format!("{name}.u64.zst")), &trace)?;
    }
    Ok(folder)
}

/// Told what is done at the moment; an error ends the report.
pub type StudyProgress<'a> = &'a mut dyn FnMut(&str) -> Result<(), LabError>;

impl Study {
    /// Makes the report.
    ///
    /// # Errors
    /// Traces or data that cannot be read, runs that fail.
    pub fn run(&self, tell: StudyProgress<'_>) -> Result<Page, LabError> {
        let parts = self.which.parts();
        if let Some(part) = &self.only
            && !parts.contains(&part.as_str())
        {
            return Err(LabError::Setting(format!(
                "{} has no part `{part}`: it has {}",
                self.which.name(),
                parts.join(", ")
            )));
        }
        if self.which.plays_traces() {
            self.find_traces()?;
        }
        let mut page = match self.which {
            Which::Neo4jStudy => neo4j::page(self, tell)?,
            Which::Thesis => thesis::page(self, tell)?,
            Which::Ext4 => ext4::page(self, tell)?,
            Which::LinuxGuide => linux::page(self, tell)?,
            Which::KuzuPages => kuzu::report(self, tell)?,
        };
        if let Some(part) = &self.only {
            page.keep(part);
        }
        page.seed = 1;
        page.summarise();
        if self.own_traces && self.which.plays_traces() {
            page.lead.push_str(
                " The recorded traces are not at hand: generated ones stand for them, so nothing \
                    here says anything of Neo4j.",
            );
        }
        Ok(page)
    }

    /// Whether one of these parts is made.
    fn wants(&self, parts: &[&str]) -> bool {
        self.only
            .as_ref()
            .is_none_or(|only| parts.contains(&only.as_str()))
    }

    /// That the folder has the traces that reports play.
    fn find_traces(&self) -> Result<(), LabError> {
        let missing = OWN_TRACES
            .iter()
            .find(|(name, _)| !self.trace(name).is_file());
        match missing {
            None => Ok(()),
            Some((name, _)) => Err(LabError::Setting(format!(
                "{}: the trace {name}.u64.zst is not there; name the folder of the recorded traces \
                    with --traces, or ask for generated \
                 ones with --traces generated",
                self.traces.display()
            ))),
        }
    }

    fn trace(&self, name: &str) -> PathBuf {
        self.traces.join(format!("{name}.u64.zst"))
    }

    /// The first accesses of a trace with a file of their pages.
    fn stage(&self, trace: &str, limit: usize) -> Result<Stage, LabError> {
        let source = Source::Trace(self.trace(trace), ReadOptions::default());
        Stage::new(&source, 8192, limit, &self.scratch)
    }

    /// Plays every setting in several rounds; a setting's fastest run counts, and knows the speeds
    /// of all. The first and the last setting are played twice in every round, which gives the
    /// noise band.
    fn replay(
        &self,
        stage: &Stage,
        settings: &[Setting],
        what: &str,
        tell: StudyProgress<'_>,
    ) -> Result<Vec<Replayed>, LabError> {
        let rounds = if self.quick { 1 } else { ROUNDS };
        let mut fastest: Vec<Replayed> = Vec::new();
        let mut speeds = vec![Vec::new(); settings.len()];
        let mut ratios = speeds.clone();
        let again: Vec<usize> = [0, settings.len().saturating_sub(1)].into();
        let mut again_speeds = vec![Vec::new(); again.len()];
        for round in 1..=rounds {
            let mut progress = |policy: &str, done: u64, total: u64| {
                let text = format!(
                    "{what}: {} of {total}, round {round} of {rounds}, {policy}",
                    done + 1
                );
                match tell(&text) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            };
            let runs = replay::play_all(stage, settings, &mut progress)?;
            for (at, run) in runs.iter().enumerate() {
                speeds[at].push(run.accesses_per_second);
                ratios[at].push(run.hit_ratio);
            }
            if rounds > 1 {
                for (speeds, &at) in again_speeds.iter_mut().zip(&again) {
                    speeds.push(stage.play(&settings[at])?.accesses_per_second);
                }
            }
            if fastest.is_empty() {
                fastest = runs;
                continue;
            }
            for (best, run) in fastest.iter_mut().zip(runs) {
                if run.accesses_per_second > best.accesses_per_second {
                    *best = run;
                }
            }
        }
        let bands = again.iter().zip(&again_speeds);
        let band = bands
            .map(|(&at, second)| statistics::noise_band(&speeds[at], second))
            .reduce(wider)
            .flatten();
        for (run, (speeds, ratios)) in fastest.iter_mut().zip(speeds.into_iter().zip(ratios)) {
            run.rounds = speeds;
            run.hit_ratios = ratios;
            run.noise_band = band;
        }
        Ok(fastest)
    }

    /// Simulates policies on a trace at some sizes; a quick look, on its first part.
    fn simulate(
        &self,
        trace: &str,
        policies: &[&str],
        sizes: &[u64],
    ) -> Result<Vec<Run>, LabError> {
        let mut path = self.trace(trace);
        let folder = tempfile::tempdir_in(&self.scratch)
            .map_err(LabError::io(&self.scratch, "making a folder"))?;
        if self.quick {
            let mut whole = graven_trace::read_with(&path, &ReadOptions::default())?;
            whole.pages.truncate(QUICK_ACCESSES);
            path = folder.path().join(format!("{trace}.u64.zst"));
            let part = graven_trace::Trace {
                pages: whole.pages,
                ..graven_trace::Trace::default()
            };
            graven_trace::raw::write(&path, &part)?;
        }
        let simulation = Simulation {
            traces: vec![path],
            policies: policies.iter().map(|policy| (*policy).to_owned()).collect(),
            sizes: sizes.iter().map(|&pages| Size::Pages(pages)).collect(),
            page_bytes: 8192,
            read: ReadOptions::default(),
            accesses: None,
            seed: 1,
            threads: 0,
        };
        simulation.run(&mut |_| std::ops::ControlFlow::Continue(()))
    }
}

/// The rounds of some settings, added up round by round, and the noise band of their runs.
struct Rounds {
    speeds: Vec<f64>,
    band: Option<f64>,
}

impl Rounds {
    fn of<'a>(runs: impl Iterator<Item = &'a Replayed>) -> Self {
        let mut sum = Self {
            speeds: Vec::new(),
            band: Some(1.0),
        };
        for run in runs {
            if sum.speeds.is_empty() {
                sum.speeds = vec![0.0; run.rounds.len()];
            }
            for (sum, speed) in sum.speeds.iter_mut().zip(&run.rounds) {
                *sum += speed;
            }
            sum.band = wider(sum.band, run.noise_band);
        }
        sum
    }

    /// What part of `other`'s speed this has: the interval, widened by the noise, and how a claim
    /// about it stands.
    fn against(&self, other: &Self, claim: Claim) -> (Standing, String) {
        let band = wider(self.band, other.band);
        let interval = statistics::ratio(&self.speeds, &other.speeds);
        (
            statistics::judge(claim, interval, band),
            shown(interval, band),
        )
    }
}

/// The wider of two noise bands; none if one is not known.
fn wider(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one?.max(other?))
}

/// An interval as a verdict shows it.
fn shown(interval: Option<Interval>, band: Option<f64>) -> String {
    match (interval, band) {
        (Some(interval), Some(band)) => {
            let Interval { low, mean, high } = interval.widened(band);
            format!("{mean:.2} ({low:.2} to {high:.2})")
        }
        (Some(interval), None) => format!("{:.2} (noise not measured)", interval.mean),
        (None, _) => "too few rounds to tell".to_owned(),
    }
}

fn listed(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

/// The run of a policy at a size.
fn find<'a>(runs: &'a [Run], policy: &str, pages: u64) -> Option<&'a Run> {
    runs.iter()
        .find(|run| run.policy == policy && run.capacity_pages == pages)
}

fn percent(share: f64) -> String {
    format!("{:.2}", share * 100.0)
}

#[cfg(test)]
mod tests;

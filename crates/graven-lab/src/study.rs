//! Reports that put a founding document's claims to the test: one self-contained page each.
//!
//! # How it works
//! A page is a list of sections (text, tables, figures) and ends in a table of verdicts: every claim of the original with
//! what was seen here, confirmed, refuted, or not testable on this machine, and why. Verdicts are computed from the runs
//! that the page shows, so they cannot disagree with it. The page, a run file and every figure (SVG and PNG) go to one folder.
//!
//! | report | original |
//! | --- | --- |
//! | [`neo4j`] | the study of Neo4j's page cache: policies under threads, three hops |
//! | [`thesis`] | the thesis on replacement policies: counters, arms, CLOCK variants, history |
//! | [`kuzu`] | variable-size pages: two static pools against size classes |

mod kuzu;
mod layout;
mod neo4j;
mod page;
mod thesis;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::LabError;
use crate::machine::Machine;
use crate::replay::{self, Replayed, Setting, Source, Stage};
use crate::simulate::{Run, Simulation, Size};
use graven_trace::ReadOptions;
pub use page::{Outcome, Page, Section, Table, Verdict};

/// Accesses of a trace that a quick look simulates.
const QUICK_ACCESSES: usize = 400_000;
/// Rounds of replays, of which the fastest run counts.
const ROUNDS: usize = 3;
/// What a reader has to know of them.
const FASTEST_OF_ROUNDS: &str = "Every run is the fastest of three, made in turn with the others (a quick look makes one): other work on the machine \
                                 only slows a run down. Differences of a few percent say nothing.";

/// Which report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The study of Neo4j's page cache.
    Neo4jStudy,
    /// The thesis.
    Thesis,
    /// Variable-size pages.
    KuzuPages,
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "neo4j-study" => Ok(Self::Neo4jStudy),
            "thesis" => Ok(Self::Thesis),
            "kuzu-pages" => Ok(Self::KuzuPages),
            _ => Err(format!(
                "`{text}`: expected neo4j-study, thesis or kuzu-pages"
            )),
        }
    }
}

impl Which {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Neo4jStudy => "neo4j-study",
            Self::Thesis => "thesis",
            Self::KuzuPages => "kuzu-pages",
        }
    }
}

/// What a report is made from.
#[derive(Clone, Debug)]
pub struct Study {
    /// Which one.
    pub which: Which,
    /// Folder of the recorded traces.
    pub traces: PathBuf,
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

/// Told what is done at the moment; an error ends the report.
pub type Tell<'a> = &'a mut dyn FnMut(&str) -> Result<(), LabError>;

impl Study {
    /// Makes the report.
    ///
    /// # Errors
    /// Traces or data that cannot be read, runs that fail.
    pub fn run(&self, tell: Tell<'_>) -> Result<Page, LabError> {
        match self.which {
            Which::Neo4jStudy => neo4j::page(self, tell),
            Which::Thesis => thesis::page(self, tell),
            Which::KuzuPages => kuzu::report(self, tell),
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

    /// Plays every setting in several rounds; a setting's fastest run counts.
    fn replay(
        &self,
        stage: &Stage,
        settings: &[Setting],
        what: &str,
        tell: Tell<'_>,
    ) -> Result<Vec<Replayed>, LabError> {
        let rounds = if self.quick { 1 } else { ROUNDS };
        let mut fastest: Vec<Replayed> = Vec::new();
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

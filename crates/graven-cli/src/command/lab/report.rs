//! `graven lab report`: a founding document's figures, tables and claims, as one page.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use graven_lab::LabError;
use graven_lab::machine::Machine;
use graven_lab::run_file::RunFile;
use graven_lab::study::{self, Outcome, Reported, Site, Study, Which};

use super::options;
use crate::failure::Failure;

/// Reproduce the figures and tables of a founding document, with a verdict for each of its claims.
#[derive(Args, Debug)]
#[command(
    after_help = "Writes REPORT.html (one self-contained page), a run file and every figure as SVG \
        and PNG to --out; `all` writes a
folder for each report as soon as it is finished, and index.html, with a row for every figure, table and claim. --only makes \
one part:
neo4j-study: threads, batches, reference, policies, every, equality, live, layout, hints, resident
thesis: sizes, counts, clocks, history, summary, prototype, questions
ext4: transactions, settings, mirror
linux-guide: reads, canonical, series, log, clients, system
kuzu-pages: waste, completion, memory, release, ways

Examples:
  graven lab report all --out study
  graven lab report thesis --only counts
  graven lab report ext4 --apply
  graven lab report neo4j-study --traces ../shared/traces --data ../shared/data/ldbc-snb-sf10-knows
  graven lab report thesis --traces ../shared/traces
  graven lab report kuzu-pages --quick"
)]
pub(crate) struct Report {
    /// neo4j-study, thesis, ext4, linux-guide, kuzu-pages, or all
    which: Wanted,
    /// One part of the report
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// Change settings of the system (ext4), as root, in a file system of its own
    #[arg(long)]
    apply: bool,
    /// Folder of the recorded traces, or `generated` for small ones made here
    #[arg(long, value_name = "FOLDER", default_value = "../shared/traces")]
    traces: PathBuf,
    /// Folder with knows.csv[.zst] of the social network
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "../shared/data/ldbc-snb-sf10-knows"
    )]
    data: PathBuf,
    /// A database of that network; then the question is asked of Graven, too
    #[arg(long, value_name = "FILE", requires = "params")]
    db: Option<PathBuf>,
    /// Starts of the three-hop question for that database
    #[arg(long, value_name = "FILE", requires = "db")]
    params: Option<PathBuf>,
    /// Folder for files that are removed afterwards
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = ".",
        hide_default_value = true
    )]
    dir: PathBuf,
    /// A tenth of the work, for a look
    #[arg(long)]
    quick: bool,
    /// Print the tables and verdicts as JSON
    #[arg(long)]
    json: bool,
    /// Folder for the page, the run file and the figures
    #[arg(long, value_name = "FOLDER", default_value = "graven-report")]
    out: PathBuf,
}

/// One report or all of them.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    All,
    One(Which),
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            _ => text.parse().map(Self::One),
        }
    }
}

impl Report {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let arguments: Vec<String> = std::env::args_os()
            .skip(1)
            .map(|a| a.to_string_lossy().into_owned())
            .collect();
        if !self.dir.is_dir() {
            let message = format!("--dir {} is no directory", self.dir.display());
            return Err(Failure::usage(message));
        }
        if matches!(self.which, Wanted::All) && self.only.is_some() {
            return Err(Failure::usage("--only is for one report, not for all"));
        }
        let is_generated = self.traces.as_os_str() == "generated";
        let own = is_generated
            .then(|| study::own_traces(&self.dir))
            .transpose()?;
        let study = Study {
            which: match self.which {
                Wanted::One(which) => which,
                Wanted::All => Which::Neo4jStudy,
            },
            only: self.only,
            apply: self.apply,
            traces: own
                .as_ref()
                .map_or(self.traces, |own| own.path().to_path_buf()),
            own_traces: is_generated,
            data: self.data,
            database: self.db,
            params: self.params,
            machine: Machine::describe(&self.dir),
            scratch: self.dir,
            quick: self.quick,
            command: format!("graven {}", arguments.join(" ")),
        };
        match self.which {
            Wanted::One(which) => {
                let page = with_bar(|tell| study.run(tell))?;
                let path = page.save(&study, &self.out)?;
                let run = RunFile::new(arguments, &page)?;
                run.save(&self.out, which.name(), &page.figures())?;
                print(self.json, &page, &[("", &page)])?;
                eprintln!("wrote {}", path.display());
            }
            Wanted::All => {
                let mut finished = |one: &Reported| one.save(&study, &self.out, &arguments);
                let site = with_bar(|tell| Site::make(&study, tell, &mut finished))?;
                eprintln!("{}", site.took());
                let path = site.save(&study, &self.out)?;
                RunFile::new(arguments, &site)?.save(&self.out, "all", &[])?;
                let pages = site.reports.iter().map(|one| (one.report, &one.page));
                print(self.json, &site, &pages.collect::<Vec<_>>())?;
                eprintln!("wrote {}", path.display());
            }
        }
        Ok(())
    }
}

/// Makes something with a bar that names what is done.
fn with_bar<T>(
    make: impl FnOnce(study::StudyProgress<'_>) -> Result<T, LabError>,
) -> Result<T, LabError> {
    options::with_bar(|report| {
        make(&mut |what| match report(what, 0, 0) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(LabError::Interrupted),
        })
    })
}

/// Prints everything as JSON, or the verdicts.
fn print(
    json: bool,
    results: &impl serde::Serialize,
    pages: &[(&str, &study::Page)],
) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(results).map_err(Failure::failed)?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    for (name, page) in pages {
        if !name.is_empty() {
            writeln!(out, "{name}")?;
        }
        for verdict in &page.verdicts {
            let word = match verdict.outcome {
                Outcome::Confirmed => "confirmed",
                Outcome::Refuted => "refuted",
                Outcome::Undecided => "undecided",
                Outcome::NotTestable => "not testable here",
            };
            writeln!(out, "{word}: {}\n    {}", verdict.claim, verdict.why)?;
        }
    }
    Ok(())
}

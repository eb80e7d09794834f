//! `graven lab report`: a founding document's figures, tables and claims, as one page.

use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use graven_lab::LabError;
use graven_lab::machine::Machine;
use graven_lab::run_file::RunFile;
use graven_lab::study::{self, Study, Which};

use super::options;
use crate::failure::Failure;

/// Reproduce the figures and tables of a founding document, with a verdict for each of its claims.
#[derive(Args, Debug)]
#[command(
    after_help = "Writes REPORT.html (one self-contained page), a run file and every figure as SVG and PNG to --out.

Examples:
  graven lab report neo4j-study --traces ../shared/traces --data ../shared/data/ldbc-snb-sf10-knows
  graven lab report thesis --traces ../shared/traces
  graven lab report kuzu-pages --quick"
)]
pub(crate) struct Report {
    /// neo4j-study, thesis or kuzu-pages
    which: Which,
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
        let is_generated = self.traces.as_os_str() == "generated";
        let own = is_generated
            .then(|| study::own_traces(&self.dir))
            .transpose()?;
        let study = Study {
            which: self.which,
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
        let page = options::with_bar(|report| {
            study.run(&mut |what| match report(what, 0, 0) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(LabError::Interrupted),
            })
        })?;
        let path = page.save(&study, &self.out)?;
        let name = study.which.name();
        RunFile::new(arguments, &page)?.save(&self.out, name, &page.figures())?;
        let mut out = std::io::stdout().lock();
        use std::io::Write;
        if self.json {
            let text = serde_json::to_string_pretty(&page).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
        } else {
            for verdict in &page.verdicts {
                writeln!(
                    out,
                    "{:?}: {}\n    {}",
                    verdict.outcome, verdict.claim, verdict.why
                )?;
            }
        }
        eprintln!("wrote {}", path.display());
        Ok(())
    }
}

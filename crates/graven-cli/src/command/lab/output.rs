//! Where the results of an experiment go: a table or JSON on standard output, files in a folder.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use graven_lab::figure::Figure;
use graven_lab::run_file::RunFile;
use serde::Serialize;

use crate::failure::Failure;

/// Arguments that all experiments share.
#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a run file and the figures (SVG and PNG) into this folder; `graven lab rerun` takes
    /// the run file
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

impl Output {
    /// Prints the results and writes the files of the command `name`.
    pub(crate) fn deliver(
        &self,
        name: &str,
        results: &impl Serialize,
        figures: impl FnOnce() -> Vec<Figure>,
        table: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if self.json {
            let text = serde_json::to_string_pretty(results).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
        } else {
            table(&mut out)?;
        }
        out.flush()?;
        drop(out);
        if let Some(folder) = &self.out {
            let arguments = std::env::args_os().skip(1);
            let arguments = arguments
                .map(|a| a.to_string_lossy().into_owned())
                .collect();
            let written = RunFile::new(arguments, results)?.save(folder, name, &figures())?;
            for path in written {
                eprintln!("wrote {}", path.display());
            }
        }
        Ok(())
    }
}

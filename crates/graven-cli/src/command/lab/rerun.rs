//! `graven lab rerun`: does again what a run file says.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use graven_lab::run_file::RunFile;

use crate::failure::Failure;

/// Do again what a run file of `graven lab ... --out FOLDER`, or of `graven bench three-hop`, says.
#[derive(Args, Debug)]
#[command(
    after_help = "The same arguments, in the folder they were given in. Hit counts come out the \
        same; times do not. Files are \
written to the folder of --out, so the run file itself is replaced; keep a copy to compare."
)]
pub(crate) struct Rerun {
    /// The run file
    run_file: PathBuf,
}

impl Rerun {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let run = RunFile::read(&self.run_file)?;
        let command = run.arguments.first().map(String::as_str);
        if !matches!(command, Some("lab" | "bench")) || run.arguments.len() < 2 {
            return Err(Failure::failed(format!(
                "{}: its arguments {:?} are no experiment",
                self.run_file.display(),
                run.arguments
            )));
        }
        if run.arguments[1] == "rerun" {
            return Err(Failure::failed("a run file cannot ask for a rerun"));
        }
        let program = std::env::current_exe().map_err(Failure::failed)?;
        eprintln!("graven {}", run.arguments.join(" "));
        let folder = PathBuf::from(&run.folder);
        let mut command = Command::new(program);
        command.args(&run.arguments);
        if folder.is_dir() {
            command.current_dir(folder);
        }
        let status = command.status().map_err(Failure::failed)?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::AlreadyTold)
        }
    }
}

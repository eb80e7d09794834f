//! `graven completions` and `graven man`: what a shell and `man` want to know of the program, made
//! of its command line, so that it is always that of this build.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;

/// Print what a shell needs to complete the program's commands and options.
///
/// For bash: graven completions bash > ~/.local/share/bash-completion/completions/graven
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(self, mut program: clap::Command) -> Result<(), Failure> {
        // Into memory first: the generator ends the program when its output is closed.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut program, "graven", &mut text);
        Ok(std::io::stdout().write_all(&text)?)
    }
}

/// Write manual pages, one for each command, into a folder.
///
/// For one user: graven man ~/.local/share/man/man1
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder, made if it is missing.
    dir: PathBuf,
}

impl Man {
    pub(crate) fn run(self, program: clap::Command) -> Result<(), Failure> {
        let failed = |error: &std::io::Error| {
            Failure::failed(format!(
                "{}: cannot write manual pages there: {error}",
                self.dir.display()
            ))
        };
        fs::create_dir_all(&self.dir).map_err(|error| failed(&error))?;
        clap_mangen::generate_to(program, &self.dir).map_err(|error| failed(&error))?;
        let pages = fs::read_dir(&self.dir).map_err(|error| failed(&error))?;
        let pages = pages.filter_map(Result::ok);
        let pages = pages.filter(|it| it.file_name().to_string_lossy().starts_with("graven"));
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{} manual pages in {}",
            pages.count(),
            self.dir.display()
        )?;
        Ok(())
    }
}

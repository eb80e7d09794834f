//! `cargo xtask torture`: the crash simulation for as long as wanted, and its check on itself.

use std::process::Command;

use crate::run;

/// Passes everything on to `graven-torture`; `--mutants` builds it with the seeded faults.
///
/// # Errors
/// A promise was broken, a mutant was missed, or it does not build.
pub(crate) fn torture(args: &[String]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(run::root()).args([
        "run",
        "--quiet",
        "-p",
        "graven-torture",
        "--no-default-features",
    ]);
    if args.iter().any(|arg| arg == "--mutants") {
        command.args(["--features", "mutants"]);
    }
    command.arg("--").args(args);
    let status = command.status().map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err("the torture found something".to_owned()),
    }
}

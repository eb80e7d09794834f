//! `cargo xtask fuzz`: generated queries and transactions against a naive interpreter, and damaged
//! statements against the parser.

use crate::run::{cargo, run};

/// Passes everything on to `graven-fuzz`, built for speed, with the seams that `--coverage` and
/// `--mutants` look through: a hundred thousand queries take minutes.
///
/// # Errors
/// A query gave other rows than the interpreter, a statement made the library panic, or it does not
/// build.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let mut command = cargo(&[
        "run",
        "--profile",
        "measure",
        "--quiet",
        "-p",
        "graven-fuzz",
        "--features",
        "mutants",
        "--",
    ]);
    run(command.args(args))
}

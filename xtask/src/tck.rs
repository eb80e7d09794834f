//! `cargo xtask tck`: openCypher's scenarios against the library; see `tools/graven-tck`.

use crate::run::{cargo, run};

/// Builds the runner and passes it the options.
///
/// # Errors
/// The build or the run fails; a scenario that fails is counted, not an error.
pub(crate) fn scenarios(args: &[String]) -> Result<(), String> {
    let mut command = cargo(&[
        "run",
        "--quiet",
        "--locked",
        "--package",
        "graven-tck",
        "--",
    ]);
    run(command.args(args))
}

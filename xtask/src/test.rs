//! `cargo xtask test`: set-up and every check in one command, cheapest first.

use std::env;
use std::process::{Command, Stdio};

use crate::run::{cargo, run};
use crate::{slowest, tidy};

/// What property tests draw from, and the seed unless the environment names one: the same commit
/// gives the same verdict on every machine. `PROPTEST_RNG_SEED=random cargo xtask test` draws anew.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20011");

/// Formatting, tidy rules, lints, tests (documentation examples included).
///
/// # Errors
/// The first step that fails, by its command line.
pub(crate) fn all() -> Result<(), String> {
    need_component("fmt", "rustfmt")?;
    need_component("clippy", "clippy")?;
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    tidy::check_and_print()?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))?;
    let with_seed = |mut tests: Command| {
        if env::var_os(SEED.0).is_none() {
            tests.env(SEED.0, SEED.1);
        }
        tests
    };
    let tests = slowest::run(&mut with_seed(slowest::timed_tests()));
    let mut examples = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    examples.arg("--doc");
    tests.and(run(&mut with_seed(examples)))
}

/// Installs a toolchain component where a toolchain manager is there to do it.
fn need_component(subcommand: &str, component: &str) -> Result<(), String> {
    let there = cargo(&[subcommand, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if there {
        return Ok(());
    }
    run(Command::new("rustup").args(["component", "add", component]))
        .map_err(|e| format!("{component} is missing and could not be installed: {e}"))
}

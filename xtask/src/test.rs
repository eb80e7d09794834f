//! `cargo xtask test`: set-up and every check in one command, cheapest first.

use std::process::{Command, Stdio};

use crate::run::{cargo, run};
use crate::tidy;

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
    run(&mut cargo(&[
        "test",
        "--workspace",
        "--locked",
        "--no-fail-fast",
    ]))
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

//! `cargo xtask test`: set-up and every check in one command, cheapest first.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use crate::run::{cargo, root, run};
use crate::tidy;

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
    let mut tests = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    if env::var_os(SEED.0).is_none() {
        tests.env(SEED.0, SEED.1);
    }
    let times = root().join("target/check-times.txt");
    let _ = fs::remove_file(&times);
    tests.env("GRAVEN_CHECK_TIMES", &times);
    let done = run(&mut tests);
    print_times(&fs::read_to_string(&times).unwrap_or_default());
    done
}

/// Prints what the fuzzer's checks took, and the sum: they may take five minutes in all.
fn print_times(lines: &str) {
    let seconds = |line: &str| line.split(' ').next()?.parse::<f64>().ok();
    let sum: f64 = lines.lines().filter_map(seconds).sum();
    eprint!("the fuzzer's checks:\n{lines}");
    eprintln!("{sum:.1} s in all");
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

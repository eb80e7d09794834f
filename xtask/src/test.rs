//! `cargo xtask test`: set-up and every check in one command, cheapest first.

use std::env;
use std::fs;
use std::process::{Command, Stdio};

use crate::graphs::target;
use crate::memory;
use crate::run::{cargo, run};
use crate::{slowest, tidy};

/// What property tests draw from, and the seed unless the environment names one: the same commit
/// gives the same verdict on every machine. `PROPTEST_RNG_SEED=random cargo xtask test` draws anew.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20011");

/// The seed of the statements with large values, unless `GRAVEN_MEMORY_SEED` names one; `day` is
/// one that changes every day.
const MEMORY_SEED: &str = "20781";

/// Formatting, tidy rules, lints, tests (documentation examples included), then 2,000 light
/// statements with large values, which take about two minutes, with the program of the tests.
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
    let times = target().join("check-times.txt");
    let _ = fs::remove_file(&times);
    let with_seed = |mut tests: Command| {
        if env::var_os(SEED.0).is_none() {
            tests.env(SEED.0, SEED.1);
        }
        tests.env("GRAVEN_CHECK_TIMES", &times);
        tests
    };
    let tests = slowest::run(&mut with_seed(slowest::timed_tests()));
    print_times(&fs::read_to_string(&times).unwrap_or_default());
    let mut examples = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    examples.arg("--doc");
    let examples = run(&mut with_seed(examples));
    let seed = env::var("GRAVEN_MEMORY_SEED").unwrap_or_else(|_| MEMORY_SEED.to_owned());
    let program = target().join("debug/graven").display().to_string();
    let args = ["--light", "--program", &program, "--seed", &seed];
    let memory = memory::memory(&args.map(str::to_owned));
    tests.and(examples).and(memory)
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

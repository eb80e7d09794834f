//! Runs tests and prints the ten that took longest.
//!
//! # How it works
//! The standard test harness prints the time of each test where `RUSTC_BOOTSTRAP` is set for the
//! test program itself; a runner sets it there and nowhere else, so that nothing is built anew.
//! Documentation examples have no times and run by themselves.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::run::{cargo, shown};

/// How many tests are printed.
const PRINTED: usize = 10;

/// The tests of the workspace but those in documentation, each with its time.
pub(crate) fn timed_tests() -> Command {
    let mut tests = cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]);
    tests.args(["--lib", "--bins", "--tests", "--examples"]);
    let runner = r#"target."cfg(all())".runner=["env", "RUSTC_BOOTSTRAP=1"]"#;
    tests.args(["--config", runner]);
    tests.args(["--", "-Z", "unstable-options", "--report-time"]);
    tests
}

/// Runs the command, shows what it prints, and then the tests that took longest.
///
/// # Errors
/// The command cannot be started or ends unsuccessfully.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    eprintln!("+ {shown}");
    let failed = |error: std::io::Error| format!("`{shown}` cannot be run: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut times = Vec::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).split(b'\n') {
            let line = line.map_err(failed)?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            times.extend(time_of(&line));
        }
    }
    let status = child.wait().map_err(failed)?;
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    println!("{} tests, {all:.0} s together; the slowest:", times.len());
    for (seconds, name) in times.iter().take(PRINTED) {
        println!("{seconds:8.1} s  {name}");
    }
    match status.success() {
        true => Ok(()),
        false => Err(format!("`{shown}` failed ({status})")),
    }
}

/// The seconds and the name of a test that the line reports.
fn time_of(line: &str) -> Option<(f64, String)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = rest.rsplit_once('<')?;
    let seconds = time.strip_suffix("s>")?.parse().ok()?;
    Some((seconds, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::time_of;

    #[test]
    fn times_are_read_from_what_the_harness_prints() {
        let found = time_of("test order::by_time ... ok <12.500s>");
        assert_eq!(found, Some((12.5, "order::by_time".to_owned())));
        let failed = time_of("test a - should panic ... FAILED <0.001s>");
        assert_eq!(failed, Some((0.001, "a - should panic".to_owned())));
        for line in [
            "test result: ok. 3 passed",
            "test a ... ok",
            "",
            "running 2 tests",
        ] {
            assert_eq!(time_of(line), None, "{line}");
        }
    }
}

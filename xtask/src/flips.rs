//! `cargo xtask flips`: every byte of a small database flipped, one after the other, and ten
//! thousand writes that were lost, swapped, misdirected or left zeros; each is found or harmless.

use crate::run::{cargo, run};

/// Cases of lost and misplaced writes.
const STALE_CASES: &str = "10000";

/// The tests that take a part of them otherwise, and what makes them take more.
const TESTS: [(&str, (&str, &str)); 2] = [
    (
        "damage::every_flipped_byte_is_found_or_harmless",
        ("GRAVEN_FLIP_ALL", "1"),
    ),
    (
        "stale::no_lost_or_misplaced_write_gives_a_wrong_answer",
        ("GRAVEN_STALE_CASES", STALE_CASES),
    ),
];

/// Runs them over all.
///
/// # Errors
/// A case that gives a wrong answer, or a flip that the check does not find.
pub(crate) fn sweep() -> Result<(), String> {
    for (test, (name, value)) in TESTS {
        let args = [
            "test",
            "-p",
            "graven-storage",
            "--test",
            "it",
            test,
            "--",
            "--nocapture",
        ];
        run(cargo(&args).env(name, value))?;
    }
    Ok(())
}

//! `cargo xtask flips`: every byte of a small database flipped, one after the other; each is found or harmless.

use crate::run::{cargo, run};

/// The test that takes a part of them otherwise.
const TEST: &str = "damage::every_flipped_byte_is_found_or_harmless";

/// Runs it over all.
///
/// # Errors
/// A flip that gives a wrong answer or that the check does not find.
pub(crate) fn sweep() -> Result<(), String> {
    let args = [
        "test",
        "-p",
        "graven-storage",
        "--test",
        "it",
        TEST,
        "--",
        "--nocapture",
    ];
    run(cargo(&args).env("GRAVEN_FLIP_ALL", "1"))
}

//! `cargo xtask format`: small databases of this build's file format, kept in the repository for
//! every later build to read.

use crate::run::{cargo, run};

/// Runs the test that reads them, which writes them first; it refuses where they are there.
///
/// # Errors
/// They are there; they cannot be written.
pub(crate) fn keep() -> Result<(), String> {
    let test = "formats::files_of_every_format_are_read_and_written_to";
    let mut tests = cargo(&[
        "test", "-p", "graven", "--test", "it", "--", "--exact", test,
    ]);
    run(tests.env("GRAVEN_WRITE_FORMAT", "1"))
}

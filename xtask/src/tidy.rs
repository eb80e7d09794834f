//! `cargo xtask tidy`: the repository's own rules, each in its own file, on every tracked file.
//!
//! A rule gets the list of files and returns what it found, one line per finding, as
//! `path:line: text`. The rules run as a test too, so `cargo test` alone catches what they catch.

mod circles;
mod invariants;
mod layers;
mod links;
mod registered;
mod source;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run;

/// A text file of the repository.
pub(crate) struct SourceFile {
    /// Path relative to the root, with `/`.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

impl SourceFile {
    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|e| e == extension)
    }
}

/// Runs every rule and prints the findings.
///
/// # Errors
/// There are findings, or the files cannot be listed.
pub(crate) fn check_and_print() -> Result<(), String> {
    let findings = check()?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("{n} findings")),
    }
}

/// Prints every numbered invariant and where it is stated.
///
/// # Errors
/// The files cannot be listed.
pub(crate) fn print_invariants() -> Result<(), String> {
    print!("{}", invariants::list(&text_files(&run::root())?));
    Ok(())
}

fn check() -> Result<Vec<String>, String> {
    let root = run::root();
    let files = text_files(&root)?;
    let mut findings = Vec::new();
    source::check(&files, &mut findings);
    links::check(&files, &mut findings);
    layers::check(&files, &mut findings)?;
    circles::check(&files, &mut findings);
    registered::check(&files, &mut findings);
    invariants::check(&files, &mut findings);
    words::check(&files, &mut findings);
    Ok(findings)
}

/// Tracked files and new ones that git does not ignore.
fn text_files(root: &Path) -> Result<Vec<SourceFile>, String> {
    let listed = run::output(Command::new("git").current_dir(root).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut files = Vec::new();
    for path in listed.lines() {
        let on_disk: PathBuf = root.join(path);
        if !on_disk.is_file() {
            continue; // deleted in the working tree
        }
        if let Ok(text) = std::fs::read_to_string(&on_disk) {
            files.push(SourceFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        let findings = super::check().expect("files can be listed");
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }
}

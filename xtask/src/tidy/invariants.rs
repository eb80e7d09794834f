//! Numbers of invariants (`PC-17`): stated once, in the header of a file, and cited only where they
//! are stated.
//!
//! # How it works
//! A header line `//! * PC-17 ...` states the number; text follows until the next item. Letters
//! that begin a stated number are a *family*. Every other occurrence of a family's letters with a
//! number, in code, comments and documents, is a citation. A module may state a number and, in more
//! detail, the modules in it that keep it; two crates, or modules side by side, may not.

use std::collections::{BTreeMap, BTreeSet};

use super::SourceFile;

/// Where a number is stated.
struct Statement<'f> {
    path: &'f str,
    line: usize,
    text: String,
}

/// Statements by family and number.
type Statements<'f> = BTreeMap<(&'f str, u32), Vec<Statement<'f>>>;

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) {
    let stated = statements(files);
    if stated.is_empty() {
        findings.push("crates: no header states an invariant".to_owned());
    }
    for ((family, number), places) in &stated {
        let crates: BTreeSet<&str> = places.iter().map(|place| crate_of(place.path)).collect();
        if let (2.., Some(last)) = (crates.len(), places.last()) {
            findings.push(format!(
                "{}:{}: {family}-{number} is stated in another crate too: {}",
                last.path, last.line, places[0].path
            ));
            continue;
        }
        let holds_all = |place: &Statement<'_>| {
            let mut paths = places.iter().map(|other| other.path);
            paths.all(|path| path == place.path || contains(place.path, path))
        };
        if let Some(last) = places.last().filter(|_| !places.iter().any(holds_all)) {
            findings.push(format!(
                "{}:{}: {family}-{number} is stated in a module beside this one too: {}",
                last.path, last.line, places[0].path
            ));
        }
    }
    let families: BTreeSet<&str> = stated.keys().map(|(family, _)| *family).collect();
    for file in files {
        for (at, line) in file.text.lines().enumerate() {
            for (family, number) in numbers(line) {
                if families.contains(family) && !stated.contains_key(&(family, number)) {
                    findings.push(format!(
                        "{}:{}: {family}-{number} is stated in no header",
                        file.path,
                        at + 1
                    ));
                }
            }
        }
    }
}

/// All statements, a line each, in the order of their numbers.
pub(super) fn list(files: &[SourceFile]) -> String {
    let mut out = String::new();
    for ((family, number), places) in statements(files) {
        for place in places {
            out += &format!("{family}-{number}  {}\n  ({})\n", place.text, place.path);
        }
    }
    out
}

fn statements(files: &[SourceFile]) -> Statements<'_> {
    let mut stated = Statements::new();
    for file in files.iter().filter(|file| file.has_extension("rs")) {
        let mut open: Option<(&str, u32)> = None;
        for (at, line) in file.text.lines().enumerate() {
            let Some(text) = line.strip_prefix("//!") else {
                break;
            };
            let text = text.trim();
            let item = text.strip_prefix("* ").or_else(|| text.strip_prefix("- "));
            if let Some(item) = item {
                open = None;
                let first = numbers(item).next();
                let first = first.filter(|(family, _)| item.starts_with(family));
                let Some((family, number)) = first else {
                    continue;
                };
                let label = format!("{family}-{number}");
                let rest = item[label.len()..].trim_start_matches([':', ' ', ',']);
                open = Some((family, number));
                stated.entry((family, number)).or_default().push(Statement {
                    path: &file.path,
                    line: at + 1,
                    text: rest.to_owned(),
                });
            } else if text.is_empty() || text.starts_with('#') {
                open = None;
            } else if let Some(place) = open
                .and_then(|key| stated.get_mut(&key))
                .and_then(|places| places.last_mut())
            {
                place.text += " ";
                place.text += text;
            }
        }
    }
    stated
}

/// Whether the module of a file contains that of another one.
fn contains(path: &str, other: &str) -> bool {
    let folder = path
        .strip_suffix("lib.rs")
        .or_else(|| path.strip_suffix(".rs"));
    let rest = folder.and_then(|folder| other.strip_prefix(folder));
    rest.is_some_and(|rest| path.ends_with("/lib.rs") || rest.starts_with('/'))
}

fn crate_of(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or(path)
}

/// Two capital letters, a hyphen and a number, apart from other words.
fn numbers(line: &str) -> impl Iterator<Item = (&str, u32)> {
    let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter_map(|word| {
        let (family, number) = word.split_once('-')?;
        let is_family = family.len() == 2 && family.bytes().all(|b| b.is_ascii_uppercase());
        let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        (is_family && is_number).then_some(())?;
        Some((family, number.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn modules_side_by_side_state_no_number_both() {
        let stating = |path| file(path, "//! X.\n//! * ZZ-1 first\n");
        for (paths, clash) in [
            (["crates/a/src/lib.rs", "crates/a/src/x.rs"], false),
            (["crates/a/src/x.rs", "crates/a/src/x/y.rs"], false),
            (["crates/a/src/x.rs", "crates/a/src/xy.rs"], true),
            (["crates/a/src/x/y.rs", "crates/a/src/x/z.rs"], true),
        ] {
            let mut findings = Vec::new();
            check(&paths.map(stating), &mut findings);
            assert_eq!(!findings.is_empty(), clash, "{findings:?}");
        }
    }

    #[test]
    fn numbers_are_stated_once_and_cited_only_if_stated() {
        let files = [
            file(
                "crates/a/src/x.rs",
                "//! X.\n//! * ZZ-1: first,\n//!   goes on.\n//! * ZZ-2 second\n",
            ),
            file(
                "crates/b/src/y.rs",
                "//! Y.\n//! - ZZ-2, again\n\n// ZZ-1 and ZZ-3; not UTF-8, not AB-7.\n",
            ),
        ];
        let mut findings = Vec::new();
        check(&files, &mut findings);
        assert_eq!(
            findings,
            [
                "crates/b/src/y.rs:2: ZZ-2 is stated in another crate too: crates/a/src/x.rs",
                "crates/b/src/y.rs:4: ZZ-3 is stated in no header",
            ]
        );
        assert!(
            list(&files)
                .starts_with("ZZ-1  first, goes on.\n  (crates/a/src/x.rs)\nZZ-2  second\n")
        );
    }
}

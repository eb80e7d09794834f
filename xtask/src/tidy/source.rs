//! Rules on single files: header, ASCII, unfinished marks, length, paths of one machine, messages
//! that quote values.

use super::SourceFile;

/// Longest file in lines, inline tests not counted.
const LINES_MAX: usize = 800;

/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Marks of unfinished work. Written in two parts so that this file does not contain them.
const MARKS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("db", "g!("),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
];

/// Folders that exist on one machine only.
const MACHINE_PATHS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Code with messages that quote values of statements and files, which may be long.
const QUOTING: &[&str] = &[
    "crates/graven-exec/src/",
    "crates/graven-files/src/",
    "crates/graven-temporal/src/",
    "crates/graven/src/procedures",
];

/// Beginnings of messages that are not cut.
const UNCUT: &[&str] = &[
    "message: format!(",
    "message = format!(",
    "why: format!(",
    "why = format!(",
    "Err(format!(",
    "refused(format!(",
    "failed(format!(",
    "argument(format!(",
    "wrong(format!(",
    "let told = format!(",
];

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) {
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            if MACHINE_PATHS.iter().any(|p| has_path(line, p)) {
                findings.push(format!("{}:{number}: path of one machine", file.path));
            }
        }
        let rust = file.has_extension("rs");
        if !(rust || file.has_extension("toml") || file.path == ".ci/run") {
            continue;
        }
        for (number, line) in (1..).zip(file.text.lines()) {
            if !line.is_ascii() {
                findings.push(format!("{}:{number}: not ASCII", file.path));
            }
            if let Some(mark) = MARKS.iter().find(|m| has_word(line, m)) {
                findings.push(format!("{}:{number}: {mark}", file.path));
            }
        }
        if rust {
            header(file, findings);
            length(file, findings);
            messages(file, findings);
        }
    }
}

/// The mark, not as part of a longer word.
fn has_word(line: &str, mark: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(mark).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + mark.len()..]);
        let ends_open = mark.ends_with(|c: char| !c.is_alphanumeric());
        !part(before.chars().next_back()) && (ends_open || !part(after.chars().next()))
    })
}

/// An absolute path, not the tail of a longer one such as `shared/data/`.
fn has_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/}*".contains(c))
    })
}

fn header(file: &SourceFile, findings: &mut Vec<String>) {
    let test = file.path.ends_with("/tests.rs") || file.path.contains("/tests/");
    if !test && !file.text.starts_with("//!") {
        findings.push(format!("{}:1: no `//!` header", file.path));
    }
}

/// Messages that quote values are written with `told!`, which cuts them.
fn messages(file: &SourceFile, findings: &mut Vec<String>) {
    if !QUOTING.iter().any(|part| file.path.starts_with(part)) {
        return;
    }
    let code = file.text.split("#[cfg(test)]\nmod tests {").next();
    let code = code.unwrap_or_default();
    for (number, line) in (1..).zip(code.lines()) {
        if UNCUT.iter().any(|begin| line.contains(begin)) {
            let path = &file.path;
            findings.push(format!(
                "{path}:{number}: a message is written with told!(...)"
            ));
        }
    }
}

fn length(file: &SourceFile, findings: &mut Vec<String>) {
    let lines = file
        .text
        .find("#[cfg(test)]\nmod tests {")
        .map_or(file.text.as_str(), |end| &file.text[..end])
        .lines()
        .count();
    let allowed = LONG_FILES.iter().any(|(path, _)| *path == file.path);
    if lines > LINES_MAX && !allowed {
        findings.push(format!(
            "{}: {lines} lines, more than {LINES_MAX}: two ideas in one room?",
            file.path
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let file = SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&[file], &mut found);
        found
    }

    #[test]
    fn each_rule_fires_and_stays_quiet() {
        assert!(findings("a.rs", "//! Fine.\n").is_empty());
        assert_eq!(findings("a.rs", "fn f() {}\n").len(), 1);
        assert_eq!(findings("a.rs", "//! Caf\u{e9}\n").len(), 1);
        assert_eq!(
            findings("a.rs", concat!("//! x\n// TO", "DO later\n")).len(),
            1
        );
        assert!(findings("a.rs", "//! `\\uXXXX` is an escape\n").is_empty());
        assert_eq!(findings("a.md", concat!("see /ro", "ot/x\n")).len(), 1);
        assert!(findings("a.md", concat!("see http://x/ro", "ot/x\n")).is_empty());
        let exec = "crates/graven-exec/src/a.rs";
        let message = "//! x\nlet message = format!(\"{value}\");\n";
        assert_eq!(findings(exec, message).len(), 1);
        assert!(findings(exec, &message.replace("format!", "told!")).is_empty());
        assert!(findings("a.rs", message).is_empty());
        let long = "//! x\n".repeat(LINES_MAX + 1);
        assert_eq!(findings("a.rs", &long).len(), 1);
    }
}

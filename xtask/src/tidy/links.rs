//! Dead links: every relative link of a Markdown file leads to a file, and its fragment to a
//! heading, or to a function where the file is code.

use std::path::{Component, Path, PathBuf};

use super::SourceFile;
use crate::run;

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) {
    let root = run::root();
    for file in files.iter().filter(|f| f.has_extension("md")) {
        for (number, target) in targets(&file.text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
            let linked = if path.is_empty() {
                PathBuf::from(&file.path)
            } else {
                normal(&folder.join(path))
            };
            if !root.join(&linked).exists() {
                findings.push(format!("{}:{number}: dead link to {path}", file.path));
                continue;
            }
            let headed = files.iter().find(|f| Path::new(&f.path) == linked);
            if let (false, Some(headed)) = (fragment.is_empty(), headed)
                && headed.has_extension("md")
                && !headings(&headed.text).any(|h| h == fragment)
            {
                findings.push(format!("{}:{number}: no heading #{fragment}", file.path));
            }
            if let (false, Some(code)) = (fragment.is_empty(), headed)
                && code.has_extension("rs")
                && !code.text.contains(&format!("fn {fragment}("))
            {
                let path = &code.path;
                findings.push(format!(
                    "{}:{number}: no function {fragment} in {path}",
                    file.path
                ));
            }
        }
    }
}

/// Targets of inline links outside code, with their line.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let outside_code: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let mut rest = outside_code.as_str();
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            let Some(end) = rest.find(')') else { break };
            let target = rest[..end].split_whitespace().next().unwrap_or("");
            found.push((number, target.to_owned()));
            rest = &rest[end..];
        }
    }
    found
}

/// Fragments of the headings, as the common renderers make them.
fn headings(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().filter(|l| l.starts_with('#')).map(|line| {
        line.trim_start_matches('#')
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    })
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_text() {
        let text = "[a](b.md) and `[c](d.md)`\n```\n[e](f.md)\n```\n[g](h.md#i \"t\")\n";
        let found: Vec<String> = targets(text).into_iter().map(|t| t.1).collect();
        assert_eq!(found, ["b.md", "h.md#i"]);
    }

    #[test]
    fn headings_become_fragments() {
        let found: Vec<String> = headings("# What is `it`?\ntext\n## Two words\n").collect();
        assert_eq!(found, ["what-is-it", "two-words"]);
    }
}

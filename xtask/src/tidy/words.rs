//! Rules on prose: the actor is named, comments fit the page, sentences of the documents can be
//! read at once.
//!
//! # How it works
//! Prose is what stands in comments of Rust files and in Markdown outside fences, tables and code
//! spans. Words that hide the actor are findings in both. Comment lines are at most [`WIDTH_MAX`]
//! columns wide. Sentences of the documents have at most [`SENTENCE_MAX`] words. Names in the last
//! table of the glossary are retired: they are findings in code, too.

use std::collections::BTreeMap;

use super::SourceFile;

/// The page that may name what was, in sentences of any length.
const CHANGES: &str = "CHANGELOG.md";

/// Columns of a comment line; rustfmt breaks code there, but no comments.
const WIDTH_MAX: usize = 100;

/// Words of a sentence in `docs/` and in the pages at the top of the repository.
const SENTENCE_MAX: usize = 40;

/// Words that hide which thread, statement, page or client acts.
const HIDDEN_ACTORS: &[&str] = &[
    "who",
    "whom",
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
];

/// The page whose last table has the retired names, and what stands for each.
const GLOSSARY: &str = "docs/glossary.md";

/// What begins that table.
const RETIRED: &str = "## Retired names";

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) {
    let glossary = files.iter().find(|file| file.path == GLOSSARY);
    let retired = glossary.map_or_else(BTreeMap::new, |page| retired_names(&page.text));
    for file in files {
        let is_text = file.has_extension("rs") || file.has_extension("md");
        if is_text && file.path != GLOSSARY && file.path != CHANGES {
            names(file, &retired, findings);
        }
        if file.has_extension("rs") {
            comments(file, findings);
        } else if file.has_extension("md") {
            document(file, findings);
        }
    }
}

/// The retired names of the glossary: rows like "| `old` | `new` |".
fn retired_names(glossary: &str) -> BTreeMap<&str, &str> {
    let table = glossary.split_once(RETIRED).map_or("", |(_, table)| table);
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
    let rows = rows.filter_map(|row| row.strip_suffix("` |")?.split_once("` | `"));
    rows.collect()
}

fn names(file: &SourceFile, retired: &BTreeMap<&str, &str>, findings: &mut Vec<String>) {
    for (number, line) in (1..).zip(file.text.lines()) {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        for (word, now) in words.filter_map(|word| Some((word, retired.get(word)?))) {
            findings.push(format!(
                "{}:{number}: `{word}` is retired: write `{now}`",
                file.path
            ));
        }
    }
}

/// The text of a comment line, without its mark.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let marks = ["//!", "///", "//"];
    marks.iter().find_map(|mark| line.strip_prefix(mark))
}

fn comments(file: &SourceFile, findings: &mut Vec<String>) {
    let mut fenced = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        let Some(text) = comment(line) else {
            fenced = false;
            continue;
        };
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let drawn = fenced || text.trim_start().starts_with('|');
        let breakable = text.trim().contains(' ') && !is_link(text);
        if !drawn && breakable && line.len() > WIDTH_MAX {
            findings.push(format!(
                "{}:{number}: a comment of {} columns, more than {WIDTH_MAX}",
                file.path,
                line.len()
            ));
        }
        if !fenced {
            actors(file, number, text, findings);
        }
    }
}

/// The definition of a link, `[name]: target`.
fn is_link(text: &str) -> bool {
    text.trim_start().starts_with('[') && text.contains("]: ")
}

fn document(file: &SourceFile, findings: &mut Vec<String>) {
    let mut fenced = false;
    let (mut paragraph, mut start) = (String::new(), 0);
    for (number, line) in (1..).zip(file.text.lines()) {
        let text = line.trim();
        if text.starts_with("```") {
            fenced = !fenced;
        }
        let item = ["* ", "- ", "#", "|", "> ", "<"]
            .iter()
            .any(|mark| text.starts_with(mark))
            || text.split_once(". ").is_some_and(|(digits, _)| {
                !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
            });
        if fenced || text.is_empty() || item || text.starts_with("```") {
            sentences(file, start, &paragraph, findings);
            paragraph.clear();
        }
        if fenced || text.starts_with("```") {
            continue;
        }
        actors(file, number, text, findings);
        if text.starts_with('|') || text.starts_with('#') {
            continue;
        }
        if paragraph.is_empty() {
            start = number;
        }
        paragraph.push_str(text);
        paragraph.push(' ');
    }
    sentences(file, start, &paragraph, findings);
}

/// The text with every code span as one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 0 { part } else { "x" });
    parts.collect()
}

fn actors(file: &SourceFile, number: usize, text: &str, findings: &mut Vec<String>) {
    let text = without_code(text).to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    for word in words.filter(|word| HIDDEN_ACTORS.contains(word)) {
        findings.push(format!(
            "{}:{number}: `{word}`: name the thread, statement, page, client or user",
            file.path
        ));
    }
}

fn sentences(file: &SourceFile, number: usize, paragraph: &str, findings: &mut Vec<String>) {
    if file.path == CHANGES {
        return;
    }
    let text = without_code(paragraph);
    let mut words = 0;
    for word in text.split_whitespace() {
        words += usize::from(word.contains(char::is_alphanumeric));
        let end = word.trim_end_matches(['"', ')', '*', '_']);
        if end.ends_with(['.', '!', '?', ':', ';']) {
            words = 0;
        }
        if words > SENTENCE_MAX {
            findings.push(format!(
                "{}:{number}: a sentence of more than {SENTENCE_MAX} words",
                file.path
            ));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        let mut found = Vec::new();
        let file = SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&[file], &mut found);
        found.len()
    }

    #[test]
    fn each_rule_fires_and_stays_quiet() {
        let hidden = concat!("wh", "o");
        assert_eq!(
            findings("a.rs", &format!("// the thread {hidden} waits\n")),
            1
        );
        assert_eq!(findings("a.rs", &format!("let {hidden} = 1;\n")), 0);
        assert_eq!(findings("a.md", &format!("`{hidden}` is a command.\n")), 0);
        assert_eq!(findings("a.md", &format!("```\n{hidden}\n```\n")), 0);
        assert_eq!(findings("a.md", &format!("Those {hidden} wait.\n")), 1);
        let wide = "word ".repeat(20);
        assert_eq!(findings("a.rs", &format!("// {wide}\n")), 1);
        let page = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let table = format!("{RETIRED}\n\n| `Old` | `New` |\n");
        let mut found = Vec::new();
        let both = [page("a.rs", "struct Old;\nOlder"), page(GLOSSARY, &table)];
        check(&both, &mut found);
        assert_eq!(found, ["a.rs:1: `Old` is retired: write `New`"]);
        assert_eq!(
            findings("a.rs", &format!("//! ```text\n//! {wide}\n//! ```\n")),
            0
        );
        assert_eq!(findings("a.rs", &format!("// {}\n", "w".repeat(120))), 0);
        let long = "word ".repeat(SENTENCE_MAX + 1);
        assert_eq!(findings("a.md", &format!("{long}.\n")), 1);
        assert_eq!(findings("a.md", &format!("| {long} |\n")), 0);
        assert_eq!(
            findings("a.md", &format!("{}. {0}.\n", "word ".repeat(30))),
            0
        );
    }
}

//! The tables of a data set with the operations of its streams added to them, in the same layout.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::stream::{Operation, text};

/// Writes tables to `target`.
pub(super) fn write(data: &Path, operations: &[Operation], target: &Path) -> Result<(), String> {
    let mut added: BTreeMap<&str, String> = BTreeMap::new();
    for operation in operations {
        rows(operation, &mut |table, row| {
            let text = added.entry(table).or_default();
            let _ = writeln!(text, "{row}");
        });
    }
    for part in ["static", "dynamic"] {
        let folder = target.join(part);
        let fault = |e: std::io::Error| format!("{}: {e}", folder.display());
        fs::create_dir_all(&folder).map_err(fault)?;
        for entry in fs::read_dir(data.join(part)).map_err(fault)? {
            let path = entry.map_err(fault)?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let Some((table, _)) = name.split_once(".csv") else {
                continue;
            };
            let mut rows = text(&path)?;
            if let Some(more) = added.remove(table) {
                if !rows.ends_with('\n') {
                    rows.push('\n');
                }
                rows.push_str(&more);
            }
            fs::write(folder.join(format!("{table}.csv")), rows).map_err(fault)?;
        }
    }
    match added.keys().next() {
        None => Ok(()),
        Some(table) => Err(format!("{}: there is no table {table}", data.display())),
    }
}

/// The rows that an operation adds, with their tables.
fn rows(operation: &Operation, add: &mut dyn FnMut(&'static str, String)) {
    let f = |field: usize| operation.text(field);
    match operation.kind {
        1 => {
            let id = f(0);
            let person = [id, f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8)];
            add("person", person.join("|"));
            operation
                .list(9)
                .for_each(|x| add("person_speaks_language", format!("{id}|{x}")));
            operation
                .list(10)
                .for_each(|x| add("person_email_emailaddress", format!("{id}|{x}")));
            operation
                .list(11)
                .for_each(|x| add("person_hasInterest_tag", format!("{id}|{x}")));
            for (at, year) in operation.pairs(12) {
                add("person_studyAt_organisation", format!("{id}|{at}|{year}"));
            }
            for (at, year) in operation.pairs(13) {
                add("person_workAt_organisation", format!("{id}|{at}|{year}"));
            }
        }
        2 => add("person_likes_post", [f(0), f(1), f(2)].join("|")),
        3 => add("person_likes_comment", [f(0), f(1), f(2)].join("|")),
        4 => {
            add("forum", [f(0), f(1), f(2), f(3)].join("|"));
            operation
                .list(4)
                .for_each(|tag| add("forum_hasTag_tag", format!("{}|{tag}", f(0))));
        }
        5 => add("forum_hasMember_person", [f(0), f(1), f(2)].join("|")),
        6 => {
            let post = [
                f(0),
                f(1),
                f(2),
                f(3),
                f(4),
                f(5),
                f(6),
                f(7),
                f(8),
                f(9),
                f(10),
            ];
            add("post", post.join("|"));
            operation
                .list(11)
                .for_each(|tag| add("post_hasTag_tag", format!("{}|{tag}", f(0))));
        }
        7 => {
            let parent = |field| if f(field) == "-1" { "" } else { f(field) };
            let comment = [
                f(0),
                f(1),
                f(2),
                f(3),
                f(4),
                f(5),
                f(6),
                f(7),
                parent(8),
                parent(9),
            ];
            add("comment", comment.join("|"));
            operation
                .list(10)
                .for_each(|tag| add("comment_hasTag_tag", format!("{}|{tag}", f(0))));
        }
        _ => {
            let (a, b) = (operation.number(0), operation.number(1));
            add(
                "person_knows_person",
                format!("{}|{}|{}", a.min(b), a.max(b), f(2)),
            );
        }
    }
}

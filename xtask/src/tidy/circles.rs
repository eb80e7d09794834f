//! Circles: no files of a crate name each other in a loop.
//!
//! A file names another where a path of its `use` lines or of its code ends at a definition there;
//! a name that is handed on is followed to its definition. Files that name each other in a loop are
//! a strongly connected component of that graph. A file in another's folder is a part of it and may
//! name what the whole holds; parts must not name each other in a loop. Tests may name anything.
//! Files of Python name each other by their imports ([`python`]).

mod modules;
mod python;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};

use super::SourceFile;
use modules::{Crate, Uses};

/// Circles that are still there: a file of each, and how many files it may have. The list only
/// shrinks.
const KNOWN: &[(&str, usize)] = &[];

/// Arrows that a finding lists.
const LISTED_MAX: usize = 12;

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) {
    check_known(files, KNOWN, findings);
}

fn check_known(files: &[SourceFile], known: &[(&str, usize)], findings: &mut Vec<String>) {
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|f| (f.path.as_str(), f)).collect();
    let mut met = BTreeSet::new();
    let roots = by_path.keys().filter(|path| is_root(path));
    let crates = roots.map(|root| Crate::read(root, &by_path).uses());
    for uses in crates.chain([python::uses(&by_path)]) {
        for circle in circles(&uses) {
            let allowed = known.iter().find(|(file, _)| circle.contains(file));
            match allowed {
                Some(&(file, most)) if circle.len() <= most => {
                    met.insert(file);
                    if circle.len() < most {
                        findings.push(format!(
                            "{file}: its circle has {} files, the list allows {most}: lower it",
                            circle.len()
                        ));
                    }
                }
                _ => findings.push(told(&circle, &uses)),
            }
        }
    }
    for (file, _) in known {
        if !met.contains(file) {
            findings.push(format!(
                "{file}: is in no circle that the list allows: strike it"
            ));
        }
    }
}

fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs")
}

/// The strongly connected components of more than one file.
fn circles<'a>(uses: &Uses<'a>) -> Vec<BTreeSet<&'a str>> {
    let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for &(from, to) in uses.keys() {
        next.entry(from).or_default().push(to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = next
        .keys()
        .map(|&start| {
            let mut seen = BTreeSet::new();
            let mut open = vec![start];
            while let Some(file) = open.pop() {
                for &to in next.get(file).into_iter().flatten() {
                    if seen.insert(to) {
                        open.push(to);
                    }
                }
            }
            (start, seen)
        })
        .collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (file, from_here) in &reached {
        if !from_here.contains(file) || found.iter().any(|c| c.contains(file)) {
            continue;
        }
        let circle = from_here
            .iter()
            .copied()
            .filter(|other| reached.get(other).is_some_and(|back| back.contains(file)))
            .collect();
        found.push(circle);
    }
    found
}

fn told(circle: &BTreeSet<&str>, uses: &Uses) -> String {
    let files: Vec<&str> = circle.iter().copied().collect();
    let mut text = format!(
        "{}: in a circle of {} files: {}",
        files[0],
        files.len(),
        files.join(", ")
    );
    let inside: Vec<_> = uses
        .iter()
        .filter(|((from, to), _)| circle.contains(from) && circle.contains(to))
        .collect();
    for ((from, to), names) in inside.iter().take(LISTED_MAX) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        text.push_str(&format!("\n    {from} -> {to}: {}", names.join(", ")));
    }
    if inside.len() > LISTED_MAX {
        text.push_str(&format!(
            "\n    and {} more arrows",
            inside.len() - LISTED_MAX
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(known: &[(&str, usize)], a: &str, b: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("x/src/lib.rs", "mod a; mod b; mod c; pub use a::A;"),
            file("x/src/a.rs", a),
            file("x/src/b.rs", b),
            file("x/src/c.rs", "use crate::{a::A, b::B};"),
        ];
        let mut found = Vec::new();
        check_known(&files, known, &mut found);
        found
    }

    const A: &str = "use crate::b::B; pub struct A;";

    #[test]
    fn files_that_name_each_other_are_found_with_the_names() {
        let found = findings(&[], A, "pub struct B; fn f(_: crate::A) {}");
        assert_eq!(
            found,
            [
                "x/src/a.rs: in a circle of 2 files: x/src/a.rs, x/src/b.rs\n    x/src/a.rs -> \
                    x/src/b.rs: B\n    \
                 x/src/b.rs -> x/src/a.rs: A"
            ]
        );
        assert!(findings(&[], A, "pub struct B;").is_empty());
        assert!(findings(&[], A, "pub struct B; #[cfg(test)] mod t { use crate::A; }").is_empty());
    }

    #[test]
    fn the_list_of_known_circles_only_shrinks() {
        let circle = "use crate::A; pub struct B;";
        assert!(findings(&[("x/src/b.rs", 2)], A, circle).is_empty());
        assert_eq!(findings(&[("x/src/b.rs", 3)], A, circle).len(), 1);
        assert_eq!(findings(&[("x/src/b.rs", 1)], A, circle).len(), 2);
        assert_eq!(findings(&[("x/src/b.rs", 2)], A, "pub struct B;").len(), 1);
    }
}

//! The modules of a crate: which file each stands in, what it defines and imports, and which file
//! defines the name that a path ends at.
//!
//! Paths are read from `use` and from code. A name that a module imports, publicly or not, is
//! followed to the file that defines it. What the text does not name is not seen: methods, and
//! names in macros of other crates.

use std::collections::{BTreeMap, BTreeSet};

use super::super::SourceFile;
use super::tokens::{self, Token};

/// A path of names from a crate's root.
type Path = Vec<String>;

/// One module, in a file of its own or inside one.
#[derive(Default)]
struct Module {
    file: usize,
    defined: BTreeSet<String>,
    /// Name here -> path as written.
    imported: BTreeMap<String, Path>,
    globs: Vec<Path>,
    /// Paths that the code names, as written.
    named: Vec<Path>,
    /// Single names that the code names; they matter where a glob imports.
    words: BTreeSet<String>,
    /// Imports that only hand a name on.
    handed_on: Vec<(String, Path)>,
}

/// A crate as modules.
pub(super) struct Crate<'a> {
    files: Vec<&'a str>,
    modules: BTreeMap<Path, Module>,
    /// Macro -> file that defines it.
    macros: BTreeMap<String, usize>,
}

/// Names that one file takes from another.
pub(super) type Uses<'a> = BTreeMap<(&'a str, &'a str), BTreeSet<String>>;

impl<'a> Crate<'a> {
    /// Reads the crate whose root module stands in `root`.
    pub(super) fn read(root: &str, files: &BTreeMap<&'a str, &'a SourceFile>) -> Self {
        let mut this = Self {
            files: Vec::new(),
            modules: BTreeMap::new(),
            macros: BTreeMap::new(),
        };
        if let Some(file) = files.get(root) {
            this.read_file(Vec::new(), file, files);
        }
        this
    }

    fn read_file(
        &mut self,
        path: Path,
        file: &'a SourceFile,
        files: &BTreeMap<&'a str, &'a SourceFile>,
    ) {
        let number = self.files.len();
        self.files.push(&file.path);
        let tokens = tokens::of_product(&file.text);
        let children = self.read_module(path, number, &tokens);
        let folder = file.path.trim_end_matches(".rs");
        let folder = ["lib", "main", "mod"]
            .iter()
            .find_map(|name| folder.strip_suffix(&format!("/{name}")))
            .unwrap_or(folder);
        for child in children {
            let inside = &child[child.len() - 1];
            let paths = [
                format!("{folder}/{inside}.rs"),
                format!("{folder}/{inside}/mod.rs"),
            ];
            if let Some(file) = paths.iter().find_map(|p| files.get(p.as_str())) {
                self.read_file(child, file, files);
            }
        }
    }

    /// Reads one module's tokens; gives the paths of the child modules that stand in other files.
    fn read_module(&mut self, path: Path, file: usize, tokens: &[Token]) -> Vec<Path> {
        let mut module = Module {
            file,
            ..Module::default()
        };
        let mut children = Vec::new();
        let (mut at, mut depth) = (0, 0_usize);
        while at < tokens.len() {
            let token = &tokens[at];
            match token {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            let Some(name) = token.name() else {
                at += 1;
                continue;
            };
            let next = tokens.get(at + 1);
            let next_name = next.and_then(Token::name);
            match (name, next_name) {
                ("use", _) if next.is_some_and(|t| !t.is('<')) => {
                    let length = tokens[at..].iter().position(|t| t.is(';')).unwrap_or(0) + 1;
                    let handed = depth == 0 && at > 0 && is_visible(tokens, at);
                    let mut leaves = Vec::new();
                    use_tree(&tokens[at + 1..at + length], &[], &mut leaves);
                    for (alias, written) in leaves {
                        match alias {
                            None => module.globs.push(written),
                            Some(alias) if handed => module.handed_on.push((alias, written)),
                            Some(alias) => {
                                module.named.push(written.clone());
                                module.imported.insert(alias, written);
                            }
                        }
                    }
                    at += length;
                    continue;
                }
                ("mod", Some(child)) => {
                    let mut inside = path.clone();
                    inside.push(child.to_owned());
                    module.defined.insert(child.to_owned());
                    if tokens.get(at + 2).is_some_and(|t| t.is('{')) {
                        let length = tokens::closed(&tokens[at + 2..]);
                        let body = &tokens[at + 3..at + 1 + length];
                        children.extend(self.read_module(inside, file, body));
                        at += 2 + length;
                    } else {
                        children.push(inside);
                        at += 3;
                    }
                    continue;
                }
                ("macro_rules", _) => {
                    if let Some(name) = tokens.get(at + 2).and_then(Token::name) {
                        self.macros.insert(name.to_owned(), file);
                    }
                }
                (
                    "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union",
                    Some(n),
                ) if depth == 0 => {
                    let defined = match (n, tokens.get(at + 2).and_then(Token::name)) {
                        ("fn" | "mut" | "unsafe", Some(real)) => real,
                        _ => n,
                    };
                    module.defined.insert(defined.to_owned());
                }
                _ => {}
            }
            let mut written = vec![name.to_owned()];
            let mut end = at + 1;
            while tokens.get(end) == Some(&Token::PathSeparator)
                && let Some(next) = tokens.get(end + 1).and_then(Token::name)
            {
                written.push(next.to_owned());
                end += 2;
            }
            if written.len() > 1 {
                module.words.insert(written[0].clone());
                module.named.push(written);
            } else {
                module.words.insert(written.remove(0));
            }
            at = end;
        }
        for (alias, written) in std::mem::take(&mut module.handed_on) {
            if module.words.contains(&alias) {
                module.named.push(written.clone());
            }
            module.imported.insert(alias, written);
        }
        self.modules.insert(path, module);
        children
    }

    /// Which names each file takes from which other file.
    pub(super) fn uses(&self) -> Uses<'a> {
        let mut uses = Uses::new();
        for (path, module) in &self.modules {
            let mut add = |written: &[String]| {
                if let Some((file, name)) = self.find(path, written, 0)
                    && file != module.file
                    && !is_inside(self.files[module.file], self.files[file])
                {
                    uses.entry((self.files[module.file], self.files[file]))
                        .or_default()
                        .insert(name);
                }
            };
            for written in &module.named {
                add(written);
            }
            for glob in &module.globs {
                for word in &module.words {
                    let mut written = glob.clone();
                    written.push(word.clone());
                    add(&written);
                }
            }
        }
        uses
    }

    /// The file that defines what `written` names in the module at `from`, and the name; none where
    /// it is of another crate, or a module as a whole.
    fn find(&self, from: &[String], written: &[String], hops: usize) -> Option<(usize, String)> {
        if hops > 16 {
            return None;
        }
        let mut module: Path = from.to_vec();
        for (at, name) in written.iter().enumerate() {
            let first = at == 0;
            match name.as_str() {
                "crate" => {
                    module.clear();
                    continue;
                }
                "self" => continue,
                "super" => {
                    module.pop();
                    continue;
                }
                _ => {}
            }
            let mut child = module.clone();
            child.push(name.clone());
            if self.modules.contains_key(&child) {
                module = child;
                continue;
            }
            let here = self.modules.get(&module)?;
            if here.defined.contains(name) {
                return Some((here.file, name.clone()));
            }
            if let Some(path) = here.imported.get(name) {
                let mut path = path.clone();
                if path == written {
                    return None; // a crate's own name
                }
                path.extend_from_slice(&written[at + 1..]);
                return self.find(&module, &path, hops + 1);
            }
            for glob in &here.globs {
                let mut path = glob.clone();
                path.extend_from_slice(&written[at..]);
                if let Some(found) = self.find(&module, &path, hops + 1) {
                    return Some(found);
                }
            }
            if !first || written.len() == 1 {
                return self.macros.get(name).map(|&file| (file, name.clone()));
            }
            return None;
        }
        None
    }
}

/// Whether a file is a part of another: it stands in the other's folder. A part may name what its
/// whole holds, as the whole names its parts.
fn is_inside(part: &str, whole: &str) -> bool {
    let folder = whole
        .strip_suffix("lib.rs")
        .or_else(|| whole.strip_suffix("main.rs"))
        .or_else(|| whole.strip_suffix("mod.rs"))
        .map(str::to_owned);
    part.starts_with(&folder.unwrap_or_else(|| whole.replace(".rs", "/")))
}

/// Whether `pub`, or `pub(...)`, stands before the token.
fn is_visible(tokens: &[Token], at: usize) -> bool {
    match &tokens[at - 1] {
        Token::Name(name) => name == "pub",
        Token::Mark(')') => tokens[..at]
            .iter()
            .rposition(|t| t.is('('))
            .is_some_and(|open| open > 0 && tokens[open - 1].name() == Some("pub")),
        _ => false,
    }
}

/// The leaves of a `use` tree: the name it gives, none for a glob, and the path as written.
fn use_tree(tokens: &[Token], before: &[String], leaves: &mut Vec<(Option<String>, Path)>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            Token::Name(name) if name == "as" => {
                if let Some(alias) = tokens.get(at + 1).and_then(Token::name) {
                    leaves.push((Some(alias.to_owned()), path));
                }
                return;
            }
            Token::Name(name) => path.push(name.clone()),
            Token::Mark('*') => {
                leaves.push((None, path));
                return;
            }
            Token::Mark('{') => {
                let inside = &tokens[at + 1..at + tokens::closed(&tokens[at..]) - 1];
                let mut start = 0;
                let mut depth = 0_usize;
                for (end, token) in inside.iter().enumerate() {
                    match token {
                        Token::Mark('{') => depth += 1,
                        Token::Mark('}') => depth -= 1,
                        Token::Mark(',') if depth == 0 => {
                            use_tree(&inside[start..end], &path, leaves);
                            start = end + 1;
                        }
                        _ => {}
                    }
                }
                use_tree(&inside[start..], &path, leaves);
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if path.len() > before.len() {
        if path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        leaves.push((path.last().cloned(), path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        let by_path = files.iter().map(|f| (f.path.as_str(), f)).collect();
        Crate::read("src/lib.rs", &by_path)
            .uses()
            .iter()
            .map(|((from, to), names)| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                format!("{from} -> {to}: {}", names.join(" "))
            })
            .collect()
    }

    #[test]
    fn paths_end_at_the_file_that_defines_the_name() {
        let found = uses(&[
            (
                "src/lib.rs",
                "mod a; mod b; mod face; pub use b::Thing; #[cfg(test)] mod t;",
            ),
            (
                "src/a.rs",
                "use crate::{Thing as Other, face::{self, Shown}}; fn f() { face::g(); }",
            ),
            ("src/b.rs", "pub struct Thing; impl Thing { fn Shown() {} }"),
            (
                "src/face.rs",
                "mod inner; pub(crate) use inner::*; pub fn g() {}",
            ),
            (
                "src/face/inner.rs",
                "pub enum Shown { A } fn h(_: super::super::b::Thing) {}",
            ),
            ("src/t.rs", "use crate::a::f;"),
        ]);
        assert_eq!(
            found,
            [
                "src/a.rs -> src/b.rs: Thing",
                "src/a.rs -> src/face.rs: g",
                "src/a.rs -> src/face/inner.rs: Shown",
                "src/face/inner.rs -> src/b.rs: Thing",
            ]
        );
    }

    #[test]
    fn a_name_handed_on_is_a_use_where_the_file_names_it() {
        let files = |text| [("src/lib.rs", text), ("src/a.rs", "pub struct A;")];
        assert!(uses(&files("mod a; pub use a::A;")).is_empty());
        assert_eq!(
            uses(&files("mod a; pub use a::A; fn f(_: A) {}")),
            ["src/lib.rs -> src/a.rs: A"]
        );
    }

    #[test]
    fn a_module_inside_a_file_belongs_to_the_file() {
        let found = uses(&[
            (
                "src/lib.rs",
                "mod a { use super::b::B; pub const C: u8 = 1; } mod b;",
            ),
            ("src/b.rs", "pub struct B;"),
        ]);
        assert_eq!(found, ["src/lib.rs -> src/b.rs: B"]);
    }

    #[test]
    fn a_part_may_name_its_whole() {
        let found = uses(&[
            ("src/lib.rs", "mod a; mod ab; pub struct Root;"),
            ("src/a.rs", "mod part; pub struct A; fn f() { part::g() }"),
            (
                "src/a/part.rs",
                "use super::A; pub fn g() -> crate::Root {}",
            ),
            ("src/ab.rs", "use crate::a::A;"),
        ]);
        assert_eq!(
            found,
            ["src/a.rs -> src/a/part.rs: g", "src/ab.rs -> src/a.rs: A"]
        );
    }
}

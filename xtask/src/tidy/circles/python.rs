//! What files of Python take from each other, by their relative imports.
//!
//! # How it works
//! `from .values import Node` names the file beside it, `from .. import texts` one of the package
//! above; a name that is no file there is of the package's `__init__.py`. An import within a
//! function counts as one at the top. Tests may name anything.

use std::collections::BTreeMap;

use super::SourceFile;
use super::modules::Uses;

/// The arrows between all files of Python.
pub(super) fn uses<'a>(files: &BTreeMap<&'a str, &'a SourceFile>) -> Uses<'a> {
    let mut uses = Uses::new();
    let sources = files.iter().filter(|(path, file)| {
        let is_test = path.split('/').any(|part| part == "tests");
        file.has_extension("py") && !is_test
    });
    for (&from, file) in sources {
        for line in file.text.lines() {
            let Some((module, names)) = relative_import(line) else {
                continue;
            };
            for name in names
                .split(',')
                .map(|name| name.trim_matches([' ', '(', ')']))
            {
                let taken = taken(from, module, name);
                let known = taken.iter().find_map(|to| files.get_key_value(to.as_str()));
                if let Some((&to, _)) = known
                    && to != from
                {
                    uses.entry((from, to)).or_default().insert(name.to_owned());
                }
            }
        }
    }
    uses
}

/// The module with its dots, and the names, of `from .module import name, other`.
fn relative_import(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start().strip_prefix("from ")?;
    let (module, names) = rest.split_once(" import ")?;
    module.starts_with('.').then_some((module, names))
}

/// The files that `name` may be taken from, the likeliest first.
fn taken(from: &str, module: &str, name: &str) -> Vec<String> {
    let path = module.trim_start_matches('.');
    let mut folder: Vec<&str> = from.split('/').collect();
    folder.truncate(folder.len().saturating_sub(module.len() - path.len()));
    folder.extend(path.split('.').filter(|part| !part.is_empty()));
    let module = folder.join("/");
    let files = [
        format!("{module}/{name}.py"),
        format!("{module}.py"),
        format!("{module}/__init__.py"),
    ];
    files.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_imports_lead_to_files() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let files = [
            file("p/__init__.py", "from .a import A\n"),
            file(
                "p/a.py",
                "class A:\n    def f(self):\n        from .q import b\n",
            ),
            file("p/q/__init__.py", "from .b import B, C\n"),
            file(
                "p/q/b.py",
                "import math\nfrom ..a import A\nfrom .. import version\n",
            ),
            file("p/tests/t.py", "from ..a import A\n"),
        ];
        let by_path = files
            .iter()
            .map(|file| (file.path.as_str(), file))
            .collect();
        let found = uses(&by_path);
        let arrows: Vec<_> = found.keys().copied().collect();
        let wanted = [
            ("p/__init__.py", "p/a.py"),
            ("p/a.py", "p/q/b.py"),
            ("p/q/__init__.py", "p/q/b.py"),
            ("p/q/b.py", "p/__init__.py"),
            ("p/q/b.py", "p/a.py"),
        ];
        assert_eq!(arrows, wanted);
        assert_eq!(found[&wanted[2]].len(), 2);
    }
}

//! `graven lab founding`: what the founding documents ask for, what shows each item, and how far it
//! is.

use std::io::Write;

use clap::Args;
use graven_lab::founding::{self, ITEMS, State};

use crate::failure::Failure;

/// List what the founding documents ask for, the command that shows each item, and how far it is.
#[derive(Args, Debug)]
pub(crate) struct Founding {
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print docs/reference/founding-documents.md
    #[arg(long)]
    markdown: bool,
}

impl Founding {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if self.markdown {
            write!(out, "{}", founding::markdown())?;
            return Ok(());
        }
        if self.json {
            let text = serde_json::to_string_pretty(&ITEMS[..]).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
            return Ok(());
        }
        let mut last = None;
        for (item, number) in ITEMS.iter().zip(1..) {
            if last.replace(item.document) != Some(item.document) {
                writeln!(out, "{}", item.document.title())?;
            }
            writeln!(out, "{number:>3}  {}", item.what)?;
            writeln!(out, "     {}", item.command)?;
            if let State::InPart(missing) = item.state {
                writeln!(out, "     in part: {missing}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::path::Path;

    /// Whether a test of this name stands in a file of the crate.
    fn has_test(folder: &Path, name: &str) -> bool {
        std::fs::read_dir(folder).expect("a folder").any(|entry| {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                return has_test(&path, name);
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            text.contains(&format!("fn {name}("))
        })
    }

    /// Goal: every command of the table is one that this program takes, every test one that is
    /// there.
    #[test]
    fn every_item_is_shown_by_something_that_exists() {
        for (item, number) in ITEMS.iter().zip(1..) {
            let words: Vec<&str> = item.command.split(' ').collect();
            if let ["cargo", "test", "-p", name, test] = words[..] {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                let shown = ["crates", "tools"]
                    .map(|group| root.join(group).join(name))
                    .iter()
                    .any(|folder| folder.is_dir() && has_test(folder, test));
                assert!(shown, "{number}: {}", item.command);
                continue;
            }
            if let Err(error) = crate::Program::try_parse_from(&words) {
                panic!("{number}: {}: {error}", item.command);
            }
        }
    }
}

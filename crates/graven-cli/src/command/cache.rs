//! `graven cache`: what the process that has a database open keeps in memory, as a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use graven::{Params, Value, format_bytes};

use crate::failure::Failure;
use crate::open::Open;

/// Save what the process that has a database open holds in memory, or load it there.
#[derive(Args, Debug)]
#[command(
    after_help = "A saved set names stores and ranges of ids, not places in the file: it holds \
        after checkpoints and in backups. A database opened
with `--warm keep` saves at the end and loads after the next opening by itself.

Examples:
  graven cache save social.graven hot.warm
  graven cache load backup.graven hot.warm"
)]
pub(crate) struct Cache {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Write down which parts of which stores are in memory
    Save(Place),
    /// Read into memory what a set names, in the order of the file, until memory is nearly full
    Load(Place),
}

#[derive(Args, Debug)]
struct Place {
    #[command(flatten)]
    open: Open,
    /// The set
    file: PathBuf,
}

impl Cache {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        match self.what {
            What::Save(place) => {
                let row = place.call(
                    "CALL graven.cache.save($file) YIELD stores, ranges, pages \
                    RETURN pages, stores, ranges",
                )?;
                writeln!(
                    out,
                    "{}: {} pages of {} stores, {} ranges of ids",
                    place.file.display(),
                    number(&row, 0),
                    number(&row, 1),
                    number(&row, 2)
                )?;
            }
            What::Load(place) => {
                let row = place.call(
                    "CALL graven.cache.load($file) YIELD wanted, pages, bytes, \
                    full RETURN pages, wanted, bytes, full",
                )?;
                let full = row.get(3) == Some(&Value::Boolean(true));
                writeln!(
                    out,
                    "{} of {} pages are in memory, {}{}",
                    number(&row, 0),
                    number(&row, 1),
                    format_bytes(number(&row, 2)),
                    if full { "; memory is full" } else { "" }
                )?;
            }
        }
        Ok(())
    }
}

impl Place {
    /// Asks the process that has the database open.
    fn call(&self, statement: &str) -> Result<Vec<Value>, Failure> {
        let db = self.open.database()?;
        if db.attached_to().is_none() {
            return Err(Failure::failed(format!(
                "no process has {} open, so there is no memory to look at: open it in a shell or a \
                    server first",
                self.open.db.display()
            )));
        }
        let file = std::path::absolute(&self.file).map_err(Failure::failed)?;
        let params = Params::new().with("file", text(&file)?);
        let mut result = db.connect().query(statement, &params)?;
        let row = result.next_row()?;
        Ok(row.map_or_else(Vec::new, |row| row.values().to_vec()))
    }
}

fn text(path: &Path) -> Result<&str, Failure> {
    let named = || Failure::failed(format!("{}: the name is no text", path.display()));
    path.to_str().ok_or_else(named)
}

fn number(row: &[Value], at: usize) -> u64 {
    let value = row.get(at).and_then(Value::as_integer);
    value.map_or(0, i64::unsigned_abs)
}

//! A database that holds a graph in one of several ways, in a folder of its own.

use std::time::Duration;

use graven::{Config, Connection, Database, Durability, Params, TransactionOptions, Value};
use tempfile::TempDir;

use crate::graph::Graph;
use crate::random::Random;
use crate::rows;

/// How the library holds a graph and answers questions about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// A checkpoint follows the graph's creation, so that queries read segments.
    pub(crate) sealed: bool,
    /// Plans are for two threads wherever they can be.
    pub(crate) divided: bool,
    /// Operators that can spill do so from their first kilobytes on.
    pub(crate) spilling: bool,
    /// Operators hand out one row at a time.
    pub(crate) row_by_row: bool,
    /// Plans are made as for many rows.
    pub(crate) joining: bool,
}

impl Setting {
    /// The simplest one.
    pub(crate) fn plain() -> Setting {
        Setting {
            sealed: false,
            divided: false,
            spilling: false,
            row_by_row: false,
            joining: false,
        }
    }

    pub(crate) fn random(random: &mut Random) -> Setting {
        Setting {
            sealed: random.chance(50),
            divided: random.chance(40),
            spilling: random.chance(30),
            row_by_row: random.chance(40),
            joining: random.chance(40),
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [
            (self.sealed, ", after a checkpoint"),
            (self.divided, ", on two threads"),
            (self.spilling, ", spilling"),
            (self.row_by_row, ", row by row"),
            (self.joining, ", planned as for many rows"),
        ];
        words
            .iter()
            .filter(|(is_so, _)| *is_so)
            .try_for_each(|(_, words)| f.write_str(words))
    }
}

/// From so many bytes on an operator spills, where it shall.
const SPILL_AT: u64 = 2048;

/// The library with a graph.
pub(crate) struct Library {
    connection: Connection,
    setting: Setting,
    // Removed after the database is closed.
    folder: TempDir,
}

impl Library {
    pub(crate) fn new(graph: &Graph, setting: Setting) -> Result<Library, String> {
        let folder = folder().map_err(|e| format!("temporary folder: {e}"))?;
        let library = Library {
            connection: open(&folder, setting)?,
            setting,
            folder,
        };
        let statements = graph.indexes.iter().map(|s| (*s).to_owned());
        for statement in statements.chain(graph.creation()) {
            let done = library.ask(&statement);
            done.map_err(|e| format!("{statement}: {e}"))?;
        }
        if setting.sealed {
            let done = library.connection.database().checkpoint();
            done.map_err(|e| e.to_string())?;
        }
        Ok(library)
    }

    /// The library with nothing in it.
    pub(crate) fn empty() -> Result<Library, String> {
        Library::new(&Graph::default(), Setting::plain())
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// All rows of a statement, or its error with the code first.
    pub(crate) fn ask(&self, statement: &str) -> Result<Vec<Vec<Value>>, String> {
        self.ask_with(statement, &Params::new())
    }

    /// The same with parameters.
    pub(crate) fn ask_with(
        &self,
        statement: &str,
        params: &Params,
    ) -> Result<Vec<Vec<Value>>, String> {
        rows::all(self.connection.query(statement, params))
    }

    /// Closes the database and opens it again.
    pub(crate) fn reopen(self) -> Result<Library, String> {
        let Library {
            connection,
            setting,
            folder,
        } = self;
        let closed = connection.database().close();
        closed.map_err(|e| e.to_string())?;
        drop(connection);
        Ok(Library {
            connection: open(&folder, setting)?,
            setting,
            folder,
        })
    }

    /// What a check of the whole database finds wrong.
    pub(crate) fn problems(&self) -> Result<Vec<String>, String> {
        let checked = self.connection.database().check(&mut |_| {});
        Ok(checked.map_err(|e| e.to_string())?.problems)
    }
}

fn open(folder: &TempDir, setting: Setting) -> Result<Connection, String> {
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    config.attach = false;
    config.threads = 1;
    if setting.divided {
        config.threads = 2;
        config.tuning.force_parallel = true;
        config.tuning.morsel_nodes = 1;
        config.tuning.parallel_after = Duration::ZERO;
    }
    config.tuning.join_always = setting.joining;
    if setting.row_by_row {
        config.tuning.batch_rows = 1;
    }
    if setting.spilling {
        config.tuning.spill_at = Some(SPILL_AT);
    }
    let db = Database::open(folder.path().join("fuzz.graven"), config);
    let db = db.map_err(|e| e.to_string())?;
    let mut options = TransactionOptions::default();
    options.durability = Durability::Off;
    Ok(db.connect().with_options(options))
}

/// In memory where the machine has a place for that.
fn folder() -> std::io::Result<TempDir> {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory).or_else(|_| TempDir::new()),
        false => TempDir::new(),
    }
}

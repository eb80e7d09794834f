//! Run files: what was asked, on what, and what came out, in one JSON file from which it can be
//! done again.
//!
//! # How it works
//! `graven lab COMMAND --out FOLDER` writes `COMMAND.json` with the arguments of the command line,
//! and the figures beside it. `graven lab rerun COMMAND.json` reads the arguments back and does the
//! same once more. Times differ from run to run; hit counts, with their seed, do not.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::figure::Figure;
use crate::machine::Machine;

/// What stands in a run file beside the results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFile {
    /// Version of the program.
    pub graven: String,
    /// The day it was written, UTC.
    pub date: String,
    /// The arguments after the program's name.
    pub arguments: Vec<String>,
    /// The folder it was started in, which relative paths refer to.
    pub folder: String,
    /// The machine.
    pub machine: Machine,
    /// What came out.
    pub results: serde_json::Value,
}

impl RunFile {
    /// A run of this process with `arguments`, about now.
    ///
    /// # Errors
    /// Results that are no JSON.
    pub fn new(arguments: Vec<String>, results: &impl Serialize) -> Result<Self, LabError> {
        let results = serde_json::to_value(results)
            .map_err(|e| LabError::Setting(format!("the results cannot be written: {e}")))?;
        let folder = std::env::current_dir().unwrap_or_default();
        Ok(Self {
            graven: env!("CARGO_PKG_VERSION").to_owned(),
            date: crate::demo::today(),
            arguments,
            machine: Machine::describe(&folder),
            folder: folder.display().to_string(),
            results,
        })
    }

    /// Writes `NAME.json` and the figures into a folder, which is made if need be; returns what was
    /// written.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn save(
        &self,
        folder: &Path,
        name: &str,
        figures: &[Figure],
    ) -> Result<Vec<PathBuf>, LabError> {
        std::fs::create_dir_all(folder).map_err(LabError::io(folder, "making the folder"))?;
        let path = folder.join(format!("{name}.json"));
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| LabError::Setting(format!("the results cannot be written: {e}")))?;
        std::fs::write(&path, text + "\n").map_err(LabError::io(&path, "writing"))?;
        let mut written = vec![path];
        for figure in figures {
            written.extend(figure.save(folder)?);
        }
        Ok(written)
    }

    /// Reads a run file.
    ///
    /// # Errors
    /// Files that cannot be read or are no run files.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(LabError::io(path, "reading"))?;
        serde_json::from_str(&text)
            .map_err(|e| LabError::Setting(format!("{}: no run file: {e}", path.display())))
    }
}

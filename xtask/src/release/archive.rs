//! A folder of files that becomes one compressed archive.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::graphs::target;
use crate::run::run;

/// A folder below what is built, begun anew.
pub(super) struct Archive {
    name: String,
}

impl Archive {
    pub(super) fn new(name: &str) -> Result<Archive, String> {
        let archive = Archive {
            name: name.to_owned(),
        };
        let folder = archive.path("");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(archive)
    }

    fn parent() -> PathBuf {
        target().join("package/archives")
    }

    /// Where a file of the archive is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        Self::parent().join(&self.name).join(name)
    }

    pub(super) fn copy(&self, from: &Path, name: &str) -> Result<(), String> {
        copy(from, &self.path(name))
    }

    pub(super) fn link(&self, to: &str, name: &str) -> Result<(), String> {
        let path = self.path(name);
        std::os::unix::fs::symlink(to, &path).map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Packs it into a folder; owners and order of the files are those of every machine.
    pub(super) fn pack(&self, out: &Path) -> Result<(), String> {
        run(Command::new("tar")
            .args([
                "--sort=name",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
                "-czf",
            ])
            .arg(out.join(format!("{}.tar.gz", self.name)))
            .arg("-C")
            .arg(Self::parent())
            .arg(&self.name))
    }
}

fn parent(path: &Path) -> Result<(), String> {
    match path.parent() {
        Some(parent) => {
            fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))
        }
        None => Ok(()),
    }
}

/// Copies a file, in a folder that is made if it is missing.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    parent(to)?;
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

/// Writes a file, in a folder that is made if it is missing.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    parent(path)?;
    fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

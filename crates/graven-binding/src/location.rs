//! Where a database is: at a path, or in a folder for temporary files if it has no name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven::{Config, Error};
use tempfile::TempDir;

/// Keeps the folder of a database without a name; it is removed with the last one.
#[derive(Clone, Debug, Default)]
pub struct Folder(Option<Arc<TempDir>>);

impl Folder {
    /// Whether the database ends with the program, so that no commit need wait for the device.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.0.is_some()
    }
}

/// Where a database is.
#[derive(Debug)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// To be held by all that is made of the database (BI-1).
    pub folder: Folder,
}

impl Location {
    /// The place of a database of this name: an empty one and `:memory:` stand for a new database
    /// in the folder for temporary files.
    ///
    /// # Errors
    /// `Request.Invalid` where a database without a name is only to be read, or is not to be
    /// made; where there can be no folder.
    pub fn of(name: &Path, config: &Config) -> Result<Location, Error> {
        if !name.as_os_str().is_empty() && name.as_os_str() != ":memory:" {
            return Ok(Location {
                path: name.to_owned(),
                folder: Folder::default(),
            });
        }
        if config.read_only || !config.create {
            return Err(Error::usage(
                "a database without a name is new: it is made, and can be written",
            ));
        }
        let folder = tempfile::Builder::new().prefix("graven-").tempdir();
        let folder = folder.map_err(|error| {
            Error::usage(format!(
                "no folder for a database without a name in {}: {error}",
                std::env::temp_dir().display()
            ))
        })?;
        Ok(Location {
            path: folder.path().join("memory.graven"),
            folder: Folder(Some(Arc::new(folder))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: BI-1, the folder is there until its last holder is gone; a name is a path.
    #[test]
    fn a_folder_goes_with_its_last_holder() {
        let mut config = Config::default();
        config.create = true;
        let location = Location::of(Path::new(":memory:"), &config).expect("a folder");
        let parent = location.path.parent().expect("a folder").to_owned();
        let held = location.folder.clone();
        drop(location);
        assert!(parent.is_dir() && held.is_temporary());
        drop(held);
        assert!(!parent.exists());
        let named = Location::of(Path::new("a.graven"), &config).expect("a name");
        assert_eq!(named.path, Path::new("a.graven"));
        assert!(!named.folder.is_temporary());
        config.read_only = true;
        let refused = Location::of(Path::new(""), &config).map_err(|error| error.to_string());
        assert!(refused.is_err_and(|said| said.contains("without a name")));
    }
}

//! The released program and the shared graphs imported with it: what the long checks start from.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{cargo, root, run};

/// Builds the program as it is released and says where it lies.
///
/// # Errors
/// It does not build.
pub(crate) fn released_program() -> Result<PathBuf, String> {
    run(&mut cargo(&[
        "build",
        "--release",
        "--locked",
        "--package",
        "graven-cli",
    ]))?;
    Ok(target().join("release/graven"))
}

/// The folder of built things.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The folder `shared` beside the repository, or `GRAVEN_SHARED`.
pub(crate) fn shared() -> PathBuf {
    std::env::var_os("GRAVEN_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

/// The database of `graph`, a folder below `shared/data`; imported into `folder` where it is not
/// there yet.
///
/// # Errors
/// The data is missing or cannot be imported.
pub(crate) fn imported(program: &Path, folder: &Path, graph: &str) -> Result<PathBuf, String> {
    let data = shared().join("data").join(graph);
    if !data.is_dir() {
        return Err(format!("{} is missing; set GRAVEN_SHARED", data.display()));
    }
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let db = folder.join(format!("{}.graven", graph.replace('/', "-")));
    if !db.exists() {
        run(Command::new(program)
            .arg("import")
            .arg(&db)
            .arg("--ldbc")
            .arg(&data))?;
    }
    Ok(db)
}

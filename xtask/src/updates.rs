//! `cargo xtask updates [GRAPH]`: LDBC update streams applied by four writers beside readers,
//! compared with a bulk load.

use crate::graphs::{shared, target};
use crate::run::{cargo, run};

/// The graph where none is named.
const GRAPH: &str = "ldbc-snb-sf0.1";

/// Applies and compares.
///
/// # Errors
/// The data is missing, a statement fails, or what is left differs from a bulk load.
pub(crate) fn updates(args: &[String]) -> Result<(), String> {
    let graph = match args {
        [] => GRAPH,
        [graph] => graph,
        _ => return Err("one graph at a time, as in ldbc-snb-tiny".into()),
    };
    let data = shared().join("data").join(graph);
    if !data.is_dir() {
        return Err(format!("{} is missing; set GRAVEN_SHARED", data.display()));
    }
    let work = target().join("updates").join(graph);
    if work.exists() {
        std::fs::remove_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    }
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let mut command = cargo(&[
        "run",
        "--release",
        "--package",
        "graven-lab",
        "--example",
        "ldbc_updates",
        "--",
    ]);
    run(command.arg(&data).arg(&work))
}

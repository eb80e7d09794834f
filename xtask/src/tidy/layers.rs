//! Layers: a crate depends only on crates above it in the table of ARCHITECTURE.md, and every crate
//! has a row there.

use super::SourceFile;
use crate::run;

const DOCUMENT: &str = "ARCHITECTURE.md";

pub(super) fn check(files: &[SourceFile], findings: &mut Vec<String>) -> Result<(), String> {
    let Some(document) = files.iter().find(|f| f.path == DOCUMENT) else {
        findings.push(format!("{DOCUMENT}: missing"));
        return Ok(());
    };
    let order = table(&document.text);
    let metadata = run::output(&mut run::cargo(&[
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    for (name, dependencies) in packages(&metadata) {
        let Some(own) = order.iter().position(|n| *n == name) else {
            findings.push(format!("{DOCUMENT}: no row for crate {name}"));
            continue;
        };
        for dependency in dependencies {
            match order.iter().position(|n| *n == dependency) {
                Some(place) if place >= own => findings.push(format!(
                    "crate {name} depends on {dependency}, which is not above it in {DOCUMENT}"
                )),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Crate names of the layer table, in order: the rows whose first cell is a name in backticks.
fn table(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| {
            line.strip_prefix("| `")?
                .split_once('`')
                .map(|(name, _)| name)
        })
        .collect()
}

/// Names of the workspace's packages with the names of what they are built from; what only tests
/// use does not count.
fn packages(metadata: &serde_json::Value) -> Vec<(String, Vec<String>)> {
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap_or_default().to_owned();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let dependencies = list(&package["dependencies"])
                .iter()
                .filter(|d| d["kind"] != "dev")
                .map(name)
                .collect();
            (name(package), dependencies)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_in_order() {
        let text = "| crate | x |\n| --- | --- |\n| `a` | first |\n| `b` | second |\n";
        assert_eq!(table(text), ["a", "b"]);
    }
}

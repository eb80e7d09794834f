//! The policies as a list: paper, parameters, cost, and whether a cache can run them.
//!
//! # How it works
//! Everything comes from the registry of `graven-policy`. [`markdown`] is the table of
//! `docs/reference/policies.md`, which a test compares with that file.

use graven_policy::registry::{self, Entry, Parameter};
use serde::Serialize;

/// One policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: Vec<ListedParameter>,
    /// Which page leaves.
    pub leaves: &'static str,
    /// What a hit costs.
    pub hit: &'static str,
    /// What it keeps for a frame, and for a ghost.
    pub state: &'static str,
    /// Its authors, and the year of publication.
    pub paper: &'static str,
    /// Whether it can run in a live cache.
    pub live: bool,
    /// Short names of it with some of its parameters set.
    pub short: Vec<&'static str>,
}

/// One parameter of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedParameter {
    /// Its key.
    pub name: &'static str,
    /// Its value when the specification does not give it.
    pub default: &'static str,
    /// What is accepted.
    pub accepts: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// All policies, those of this program behind those of `graven-policy`.
#[must_use]
pub fn list() -> Vec<Listed> {
    registry::entries().into_iter().map(listed).collect()
}

/// The keys that every policy takes.
#[must_use]
pub fn everywhere() -> Vec<ListedParameter> {
    registry::EVERYWHERE.iter().map(parameter).collect()
}

fn listed(entry: &Entry) -> Listed {
    let of_entry = |spec: &str| spec.split(':').next() == Some(entry.name);
    let aliases = registry::aliases().iter();
    Listed {
        name: entry.name,
        parameters: entry.parameters.iter().map(parameter).collect(),
        leaves: entry.leaves,
        hit: entry.hit,
        state: entry.state,
        paper: entry.paper,
        live: entry.live,
        short: aliases
            .filter(|alias| of_entry(alias.spec))
            .map(|alias| alias.name)
            .collect(),
    }
}

fn parameter(of: &Parameter) -> ListedParameter {
    ListedParameter {
        name: of.name,
        default: of.default,
        accepts: of.accepts,
        help: of.help,
    }
}

impl ListedParameter {
    /// Name, what is accepted, and the default, as the reference writes them.
    #[must_use]
    pub fn text(&self) -> String {
        let accepts = self.accepts.replace("..=", " to ").replace('|', " or ");
        format!("`{}` {accepts} ({})", self.name, self.default)
    }
}

/// The reference's table, one line a policy of `graven-policy`.
#[must_use]
pub fn markdown() -> String {
    let mut text = "| name | parameters (default) | what leaves | on a hit | state a frame, a \
        ghost | runs live | after |\n\
                    | --- | --- | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for policy in registry::list().iter().map(listed) {
        let parameters: Vec<String> = policy
            .parameters
            .iter()
            .map(ListedParameter::text)
            .collect();
        let cells = [
            format!("`{}`", policy.name),
            parameters.join(", "),
            policy.leaves.to_owned(),
            policy.hit.to_owned(),
            policy.state.to_owned(),
            if policy.live { "yes" } else { "no" }.to_owned(),
            policy.paper.to_owned(),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the reference lists every policy of the registry with its paper, parameters and costs,
    /// and every short name.
    #[test]
    fn the_reference_has_the_table() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/policies.md"
        );
        let reference = std::fs::read_to_string(path).expect("the reference");
        assert!(
            reference.contains(&markdown()),
            "{path} lacks the table that `graven lab policies --markdown` prints"
        );
        // Short names in a row are written as `first` to `last`.
        let row = |name: &str| {
            ["neo4j-3", "neo4j-5", "neo4j-6"].contains(&name) || name.starts_with("count-to-")
        };
        for alias in registry::aliases().iter().filter(|alias| !row(alias.name)) {
            assert!(
                reference.contains(&format!("`{}`", alias.name)),
                "{}",
                alias.name
            );
        }
    }
}

//! The names that clients gave to the newest commits: a client whose owner died can ask what became
//! of its own.
//!
//! # How it works
//! The newest [`NAMES_MAX`], in the order of the commits; a checkpoint writes them into the
//! catalogue, opening takes them from there and from the log. A client asks at once after it lost
//! its owner, so its commit is among the newest: older ones were answered long ago, or their
//! clients are gone.
//!
//! # Costs
//! 64 KiB of memory, and as much in the catalogue where all commits have names.

use crate::catalog::{Catalog, CommitToken};
use std::collections::VecDeque;
use std::sync::Arc;

/// Names kept.
const NAMES_MAX: usize = 4096;

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct CommitTokens {
    names: VecDeque<CommitToken>,
}

impl CommitTokens {
    pub(crate) fn of(catalog: &Catalog) -> CommitTokens {
        CommitTokens {
            names: catalog.clients.iter().copied().collect(),
        }
    }

    /// The newest commit has this name, if any.
    pub(crate) fn add(&mut self, name: Option<CommitToken>) {
        let Some(name) = name else { return };
        if self.names.len() >= NAMES_MAX {
            self.names.pop_front();
        }
        self.names.push_back(name);
    }

    pub(crate) fn contain(&self, name: &CommitToken) -> bool {
        self.names.iter().rev().any(|known| known == name)
    }

    /// Oldest first.
    pub(crate) fn list(&self) -> Arc<[CommitToken]> {
        self.names.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: of too many names the newest stay, in order, through a catalogue.
    #[test]
    fn the_newest_names_stay() {
        let name = |number: usize| (number as u128).to_le_bytes();
        let mut clients = CommitTokens::default();
        clients.add(None);
        (0..NAMES_MAX + 10).for_each(|number| clients.add(Some(name(number))));
        let catalog = Catalog {
            clients: clients.list(),
            ..Catalog::default()
        };
        let catalog = Catalog::decode(&catalog.encode()).unwrap();
        let again = CommitTokens::of(&catalog);
        assert_eq!(again.names, clients.names);
        assert!(!again.contain(&name(9)));
        assert!(again.contain(&name(10)) && again.contain(&name(NAMES_MAX + 9)));
    }
}

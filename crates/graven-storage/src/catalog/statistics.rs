//! Counts that the planner reads: nodes per label set, relationships per type and per pattern,
//! values per property.

use super::value_statistics::ValueStatistics;
use crate::ids::{Direction, StoreId, TypeId};
use std::collections::BTreeMap;

/// Counts of nodes and relationships of one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Nodes in all.
    pub nodes: u64,
    /// Relationships in all.
    pub relationships: u64,
    /// Nodes per label set; the position is that of [`super::Catalog::label_sets`].
    pub label_set_nodes: Vec<u64>,
    /// Per relationship type; the position is the [`TypeId`].
    pub types: Vec<TypeStatistics>,
    /// Relationships per (label set of the start, type, label set of the end).
    pub patterns: BTreeMap<(u32, TypeId, u32), u64>,
    /// Per column of properties what its values are like.
    pub columns: BTreeMap<StoreId, ValueStatistics>,
}

/// Counts of one relationship type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeStatistics {
    /// Relationships.
    pub relationships: u64,
    /// Nodes with at least one relationship that starts there.
    pub start_nodes: u64,
    /// Nodes with at least one relationship that ends there.
    pub end_nodes: u64,
    /// Most relationships that start at one node; since the newest checkpoint, an estimate.
    pub out_degree_max: u64,
    /// Most relationships that end at one node; likewise.
    pub in_degree_max: u64,
    /// Sum over the nodes of the squares of how many start there: divided by the relationships, how
    /// many start where one starts, on average. An estimate since the newest checkpoint; 0 where it
    /// is not known, as in files of earlier builds.
    pub out_squares: u64,
    /// The same of those that end there.
    pub in_squares: u64,
}

impl Statistics {
    /// Whether a sum of squares is known of any type.
    pub(crate) fn has_squares(&self) -> bool {
        let mut types = self.types.iter();
        types.any(|it| it.out_squares | it.in_squares > 0)
    }
}

impl TypeStatistics {
    /// Nodes with a list in `direction`.
    #[must_use]
    pub fn list_count(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Out => self.start_nodes,
            Direction::In => self.end_nodes,
        }
    }

    /// Sum of the squares of the lengths of lists in `direction`; 0 where it is not known.
    #[must_use]
    pub fn squares(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Out => self.out_squares,
            Direction::In => self.in_squares,
        }
    }

    /// Longest list in `direction`.
    #[must_use]
    pub fn degree_max(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Out => self.out_degree_max,
            Direction::In => self.in_degree_max,
        }
    }
}

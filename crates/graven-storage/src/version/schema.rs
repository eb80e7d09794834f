//! Indexes, constraints and users of a version.

use std::sync::Arc;

use crate::catalog::{Catalog, IndexDescription};
use crate::schema::ConstraintDescription;
use crate::users::UserDescription;

/// Indexes and constraints without what the file says of them, and users.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Schema {
    pub(crate) indexes: Vec<IndexDescription>,
    pub(crate) constraints: Vec<ConstraintDescription>,
    pub(crate) next_index: u32,
    pub(crate) users: Vec<UserDescription>,
}

impl Schema {
    pub(crate) fn of(catalog: &Catalog) -> Schema {
        Schema {
            indexes: catalog.indexes.clone(),
            constraints: catalog.constraints.clone(),
            next_index: catalog.next_index,
            users: catalog.users.clone(),
        }
    }

    /// Whether both have the same indexes, constraints and users, whatever the file says of the
    /// indexes.
    pub(super) fn is_as(&self, other: &Schema) -> bool {
        let indexes = |schema: &Schema| -> Vec<(u32, Arc<str>)> {
            let named = schema.indexes.iter();
            named.map(|it| (it.number, it.name.clone())).collect()
        };
        self.next_index == other.next_index
            && self.constraints == other.constraints
            && self.users == other.users
            && indexes(self) == indexes(other)
    }
}

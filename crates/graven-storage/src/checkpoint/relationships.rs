//! Type, start and end of the relationships created after the load, as columns by id.
//!
//! # How it works
//! The bulk load numbers relationships as they stand in the forward lists, so those are found by
//! their number. Later ones have numbers in the order of their creation, of all types together:
//! three columns tell where they are.

use super::changes::{EntryChange, RelationshipChange};
use super::columns;
use super::merge::CheckpointMerge;
use crate::Result;
use crate::catalog::{RelationshipPart, StoreKind};
use crate::ids::TypeId;
use graven_pagecache::PageKind;
use graven_types::PropertyValue;

/// Merges the relationships of all types into the three columns.
pub(super) fn merge(merge: &mut CheckpointMerge<'_>) -> Result<()> {
    let changes = merge.changes;
    let extents = merge.root.catalog.extents.iter();
    // Ids from here on were not given by the bulk load.
    let first = extents.map(|extent| extent.first + extent.count).max();
    for part in [
        RelationshipPart::Type,
        RelationshipPart::Start,
        RelationshipPart::End,
    ] {
        let first = first.unwrap_or(0);
        let values = changes
            .relationships()
            .filter(move |item| {
                let id = item.as_ref().map(|(_, change)| change.id.0);
                id.is_err() || id.is_ok_and(|id| id >= first)
            })
            .map(move |item| {
                item.map(|(rel_type, change)| (change.id.0, value(part, rel_type, &change)))
            });
        let kind = StoreKind::Relationships(part);
        columns::merge(merge, kind, PageKind::RelationshipColumn, Box::new(values))?;
    }
    Ok(())
}

fn value(part: RelationshipPart, rel_type: TypeId, change: &RelationshipChange) -> PropertyValue {
    if change.change == EntryChange::Removed {
        return PropertyValue::Null;
    }
    PropertyValue::Integer(match part {
        RelationshipPart::Type => i64::from(rel_type.0),
        RelationshipPart::Start => change.start.0 as i64,
        RelationshipPart::End => change.end.0 as i64,
    })
}

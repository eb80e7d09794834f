//! Type, start and end of the relationships created after the load, as columns by id.
//!
//! # How it works
//! The bulk load numbers relationships as they stand in the forward lists, so those are found by
//! their number. Later ones have numbers in the order of their creation, of all types together:
//! three columns tell where they are.

use super::changes::{Changes, EntryChange, RelationshipChange};
use super::columns;
use super::merge::{MergedStore, StoreMerge};
use crate::Result;
use crate::catalog::{RelationshipPart, StoreKind};
use crate::ids::TypeId;
use graven_pagecache::PageKind;
use graven_types::PropertyValue;

/// The columns, in the order in which they are merged.
pub(super) const PARTS: [RelationshipPart; 3] = [
    RelationshipPart::Type,
    RelationshipPart::Start,
    RelationshipPart::End,
];

/// Merges the relationships of all types into one of the three columns.
pub(super) fn merge(
    merge: &mut StoreMerge<'_>,
    changes: &dyn Changes,
    part: RelationshipPart,
) -> Result<Option<MergedStore>> {
    let extents = merge.root.catalog.extents.iter();
    // Ids from here on were not given by the bulk load.
    let first = extents.map(|extent| extent.first + extent.count).max();
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
    columns::merge(merge, kind, PageKind::RelationshipColumn, Box::new(values))
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

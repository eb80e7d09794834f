//! Type, start and end of the relationships created after the load, as columns by id.
//!
//! # How it works
//! The bulk load numbers relationships as they stand in the forward lists, so those are found by
//! their number. Later ones have numbers in the order of their creation, of all types together:
//! three columns tell where they are. One pass over the changes merges all three.

use super::changes::{Changes, EntryChange, RelationshipChange};
use super::columns::ColumnMerge;
use super::merge::{MergedStore, StoreMerge};
use crate::Result;
use crate::catalog::{RelationshipPart, StoreKind};
use crate::column::cutter::Cutter;
use crate::ids::TypeId;
use graven_pagecache::PageKind;
use graven_types::PropertyValue;

/// The columns, in the order in which they get their numbers.
const PARTS: [RelationshipPart; 3] = [
    RelationshipPart::Type,
    RelationshipPart::Start,
    RelationshipPart::End,
];

/// Merges the relationships of all types into the three columns; those that changed.
pub(super) fn merge(merge: &mut StoreMerge<'_>, changes: &dyn Changes) -> Result<Vec<MergedStore>> {
    let extents = merge.root.catalog.extents.iter();
    // Ids from here on were not given by the bulk load.
    let first = extents.map(|extent| extent.first + extent.count).max();
    let first = first.unwrap_or(0);
    let mut later = changes
        .relationships()
        .filter(|item| {
            item.as_ref()
                .map_or(true, |(_, change)| change.id.0 >= first)
        })
        .peekable();
    if later.peek().is_none() {
        return Ok(Vec::new());
    }
    let mut merges = PARTS.map(|_| merge.another());
    let mut columns = Vec::new();
    for (part, own) in PARTS.into_iter().zip(&mut merges) {
        let kind = StoreKind::Relationships(part);
        let cutter = Cutter::without_sketch();
        let column = ColumnMerge::new(own, kind, PageKind::RelationshipColumn, cutter)?;
        columns.push((part, column));
    }
    for item in later {
        let (rel_type, change) = item?;
        for (part, column) in &mut columns {
            column.change(change.id.0, value(*part, rel_type, &change))?;
        }
    }
    let mut merged = Vec::new();
    for (_, column) in columns {
        merged.extend(column.finish()?);
    }
    for mut own in merges {
        own.end_run();
        merge.join(own);
    }
    Ok(merged)
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

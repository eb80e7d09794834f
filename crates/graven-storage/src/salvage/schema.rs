//! Users, sequences, macros, notes, indexes and constraints of the original, made again on the copy
//! by ordinary transactions: what they demand is verified there.

use super::{Lost, SalvageReport};
use crate::checkpoint::CheckpointOptions;
use crate::schema::{ConstraintSpec, IndexSpec};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::superblock::FORMAT;
use crate::transaction::Transaction;
use crate::transaction::options::TransactionOptions;
use crate::{Error, Result};
use graven_io::File;
use graven_pagecache::SpillFile;
use std::sync::Arc;

/// Makes what `original` has on the finished copy `out`; what does not hold there is reported.
pub(super) fn copy(
    original: &Snapshot,
    out: Arc<dyn File>,
    spill: Arc<SpillFile>,
    report: &mut SalvageReport,
) -> Result<()> {
    let catalog = original.catalog();
    let (indexes, constraints) = (catalog.indexes(), catalog.constraints());
    let (users, sequences, macros) = (catalog.users(), catalog.sequences(), catalog.macros());
    let ruled = !(indexes.is_empty() && constraints.is_empty());
    let notes = catalog.notes();
    let named = sequences.is_empty() && macros.is_empty() && notes.is_empty();
    if !ruled && users.is_empty() && named {
        return Ok(());
    }
    let mut store = Store::open_base(out, original.cache().clone(), None, None, FORMAT)?;
    store.spill = Some(spill);
    let store = Arc::new(store);
    if !users.is_empty() {
        make(&store, |transaction| {
            let mut all = users.iter();
            all.try_for_each(|user| transaction.put_user(user.clone()))
        })?;
    }
    if !sequences.is_empty() {
        make(&store, |transaction| {
            let mut all = sequences.iter();
            all.try_for_each(|sequence| transaction.put_sequence(sequence.clone()))
        })?;
    }
    if !macros.is_empty() {
        make(&store, |transaction| {
            let mut all = macros.iter();
            all.try_for_each(|known| transaction.put_macro(known.clone()))
        })?;
    }
    if !notes.is_empty() {
        make(&store, |transaction| {
            let mut all = notes.iter();
            all.try_for_each(|note| transaction.put_note(note.clone()))
        })?;
    }
    for index in indexes {
        if constraints.iter().any(|it| it.index == Some(index.number)) {
            continue;
        }
        let spec = IndexSpec {
            name: Some(index.name.to_string()),
            entity: index.entity,
            keys: index.keys.clone(),
            unique: index.unique,
            kind: index.kind,
        };
        let place = format!("index {}", index.name);
        match make(&store, |transaction| {
            transaction.create_index(&spec, &|| false)
        }) {
            Ok(()) => report.indexes += 1,
            Err(error) => note(report, place, error)?,
        }
    }
    for constraint in constraints {
        let spec = ConstraintSpec {
            name: Some(constraint.name.to_string()),
            kind: constraint.kind.clone(),
            entity: constraint.entity,
            keys: constraint.keys.clone(),
        };
        let place = format!("constraint {}", constraint.name);
        match make(&store, |transaction| {
            transaction.create_constraint(&spec, &|| false)
        }) {
            Ok(()) => report.constraints += 1,
            Err(error) => note(report, place, error)?,
        }
    }
    Ok(())
}

fn make<T>(store: &Arc<Store>, create: impl FnOnce(&Transaction) -> Result<T>) -> Result<()> {
    let transaction = store.begin(TransactionOptions::default())?;
    create(&transaction)?;
    transaction.commit()?;
    // Without a log only the file keeps it.
    store.checkpoint(CheckpointOptions {
        paced: false,
        compact: false,
        until: crate::Until::DONE,
    })?;
    Ok(())
}

/// What was salvaged may not fulfil what the whole did; anything else ends the salvage.
fn note(report: &mut SalvageReport, place: String, error: Error) -> Result<()> {
    let fails = matches!(
        error,
        Error::Duplicate { .. }
            | Error::MissingProperty { .. }
            | Error::WrongType { .. }
            | Error::WrongEnds { .. }
            | Error::SchemaExists { .. }
    );
    if !fails {
        return Err(error);
    }
    report.lost.push(Lost {
        place,
        why: format!("does not hold on what was salvaged: {error}"),
        ids: 0,
    });
    Ok(())
}

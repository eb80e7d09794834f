//! The stores of a file, in the order of their numbers, found by what they hold.
//!
//! # Invariants
//! * ST-41 No two hold the same, and their numbers ascend; [`Stores::checked`] refuses others.
//!
//! # Costs
//! A look-up hashes. Removing reads all.

use super::{StoreDescription, StoreKind};
use crate::ids::StoreId;
use foldhash::HashMap;
use std::ops::Deref;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stores {
    list: Vec<StoreDescription>,
    /// Where each kind is in the list.
    places: HashMap<StoreKind, u32>,
}

fn places(list: &[StoreDescription]) -> HashMap<StoreKind, u32> {
    list.iter()
        .zip(0..)
        .map(|(it, place)| (it.kind, place))
        .collect()
}

impl Stores {
    /// `None` for stores whose numbers do not ascend or leave no number for another one, and for
    /// two that hold the same.
    pub(super) fn checked(list: Vec<StoreDescription>) -> Option<Stores> {
        let ascend = list.windows(2).all(|pair| pair[0].id < pair[1].id);
        let more = list.last().is_none_or(|last| last.id.0 < u32::MAX);
        let stores = Stores::new(list);
        (ascend && more && stores.places.len() == stores.list.len()).then_some(stores)
    }

    /// Stores that keep the invariant.
    pub(crate) fn new(list: Vec<StoreDescription>) -> Stores {
        let places = places(&list);
        Stores { list, places }
    }

    pub(crate) fn into_list(self) -> Vec<StoreDescription> {
        self.list
    }

    pub(super) fn of_kind(&self, kind: StoreKind) -> Option<&StoreDescription> {
        Some(&self.list[*self.places.get(&kind)? as usize])
    }

    /// The store of `kind`, a new and empty one where there is none.
    pub(crate) fn of_kind_or_new(&mut self, kind: StoreKind) -> &mut StoreDescription {
        let list = &mut self.list;
        let place = *self.places.entry(kind).or_insert_with(|| {
            let id = StoreId(list.last().map_or(0, |last| last.id.0 + 1));
            list.push(StoreDescription {
                id,
                kind,
                segments: 0,
                pages: 0,
                bytes: 0,
                entries: 0,
            });
            list.len() as u32 - 1
        });
        &mut self.list[place as usize]
    }

    pub(crate) fn remove(&mut self, kind: StoreKind) {
        if self.places.contains_key(&kind) {
            self.list.retain(|store| store.kind != kind);
            self.places = places(&self.list);
        }
    }
}

impl Deref for Stores {
    type Target = [StoreDescription];

    fn deref(&self) -> &[StoreDescription] {
        &self.list
    }
}

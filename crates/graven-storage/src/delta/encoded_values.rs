//! Values of one property by id, as the bytes that the log has of them.
//!
//! # How it works
//! The log and temporary pages say a value in the same bytes. So what recovery carries from one to
//! the other is looked at once, for whether it can be read, and never becomes a value: its bytes
//! are copied behind those before. Ids mostly ascend; where some came late, all are put in order at
//! the end, and of several values of one id the last one stays.
//!
//! # Costs
//! [`SLOT_BYTES`] and its bytes for a value; no allocation of its own.

use crate::bytes::{Decoded, Reader};
use crate::value::encode::{read_value, skip_value};
use graven_types::PropertyValue;

/// Where the value of an id is.
#[derive(Clone, Copy, Debug)]
struct Slot {
    id: u64,
    start: u32,
    length: u32,
}

/// What an entry takes beside its bytes: a slot, and half of one for growing and for putting in
/// order.
pub(super) const SLOT_BYTES: u64 = (size_of::<Slot>() + size_of::<Slot>() / 2) as u64;

/// See the file header.
#[derive(Debug, Default)]
pub(crate) struct EncodedValues {
    slots: Vec<Slot>,
    bytes: Vec<u8>,
    /// What all values that were taken would take in memory, beside their entries.
    heap_bytes: u64,
    /// An id came that is not behind the one before.
    mixed: bool,
}

impl EncodedValues {
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Bytes of all values.
    pub(super) fn value_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes that all values would take in memory, beside their entries. A value that another one
    /// of its id replaced counts, too.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.heap_bytes
    }

    /// Takes the next value of `reader`.
    ///
    /// # Panics
    /// Beyond 4 GiB of values: a batch ends long before.
    #[inline]
    pub(super) fn take(&mut self, id: u64, reader: &mut Reader<'_>) -> Decoded<()> {
        let mut heap_bytes = 0;
        let value = reader.since(|reader| {
            heap_bytes = skip_value(reader)?;
            Ok(())
        })?;
        self.heap_bytes += heap_bytes;
        let start =
            u32::try_from(self.bytes.len()).expect("a batch is applied before it is so large");
        self.bytes.extend_from_slice(value);
        self.mixed |= self.slots.last().is_some_and(|last| last.id >= id);
        self.slots.push(Slot {
            id,
            start,
            length: value.len() as u32,
        });
        Ok(())
    }

    /// Puts the ids in order, each with its last value.
    pub(super) fn settle(&mut self) {
        if std::mem::take(&mut self.mixed) {
            // Those of one id stay in the order in which they came.
            self.slots.sort_by_key(|slot| slot.id);
            self.slots.dedup_by(|newer, older| {
                let same = newer.id == older.id;
                if same {
                    *older = *newer;
                }
                same
            });
        }
    }

    /// All ids, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        assert!(!self.mixed, "settled before it is read");
        self.slots.iter().map(|slot| slot.id)
    }

    /// All values as bytes, ids ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        assert!(!self.mixed, "settled before it is read");
        self.slots.iter().map(|slot| {
            let start = slot.start as usize;
            (slot.id, &self.bytes[start..start + slot.length as usize])
        })
    }

    /// All values, ids ascending.
    ///
    /// # Panics
    /// Never: what cannot be read was not taken.
    pub(super) fn values(&self) -> impl Iterator<Item = (u64, PropertyValue)> {
        self.iter().map(|(id, bytes)| {
            let value = read_value(&mut Reader::new(bytes));
            (id, value.expect("only what can be read is taken"))
        })
    }
}

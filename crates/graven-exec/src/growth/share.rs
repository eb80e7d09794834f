//! Heap bytes that values take; what several hold is divided among them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::column::Column;
use crate::value::{Value, key_bytes};

/// Heap bytes of values; what several hold is divided among them.
#[derive(Default)]
pub(crate) struct Share {
    /// Bytes of lists and maps that several hold, which are looked through once.
    shared: HashMap<*const u8, usize>,
}

impl Share {
    /// The share of a value.
    pub(crate) fn of(&mut self, value: &Value) -> usize {
        let own = value.own_bytes();
        match value {
            Value::String(text) => own / Arc::strong_count(text),
            Value::Bytes(bytes) => own / Arc::strong_count(bytes),
            Value::List(items) => {
                let holders = Arc::strong_count(items);
                self.divided(items.as_ptr().cast(), holders, |share| {
                    own + items.iter().map(|item| share.of(item)).sum::<usize>()
                })
            }
            Value::Map(map) => {
                let holders = Arc::strong_count(map);
                self.divided(Arc::as_ptr(map).cast(), holders, |share| {
                    let entries = map.entries().iter();
                    let held = entries.map(|(key, value)| {
                        key_bytes(key) / Arc::strong_count(key) + share.of(value)
                    });
                    own + held.sum::<usize>()
                })
            }
            Value::Path(path) => own / Arc::strong_count(path),
            Value::Stored(stored) => own / Arc::strong_count(stored),
            _ => 0,
        }
    }

    fn divided(
        &mut self,
        at: *const u8,
        holders: usize,
        bytes: impl FnOnce(&mut Self) -> usize,
    ) -> usize {
        if holders == 1 {
            return bytes(self);
        }
        if let Some(known) = self.shared.get(&at) {
            return known / holders;
        }
        let bytes = bytes(self);
        self.shared.insert(at, bytes);
        bytes / holders
    }

    /// The share of a column; one that others hold as well is charged by them.
    pub(crate) fn of_column(&mut self, column: &Arc<Column>) -> usize {
        if Arc::strong_count(column) > 1 {
            return 0;
        }
        match &**column {
            Column::Values(values) => {
                let own: usize = values.iter().map(|value| self.of(value)).sum();
                values.capacity() * size_of::<Value>() + own
            }
            Column::Constant(value, _) => self.of(value),
            numbers => numbers.heap_bytes(),
        }
    }
}

/// Bytes that a function may make of this argument without a charge of its own: a text twice, on
/// its way and as a value; the places of a list.
pub(crate) fn bytes_of_argument(value: &Value) -> usize {
    match value {
        Value::String(text) => 2 * text.len(),
        Value::Bytes(bytes) => 2 * bytes.len(),
        Value::List(items) => 2 * size_of_val(&**items),
        Value::Map(map) => 2 * size_of_val(map.entries()),
        // At most a list of its numbers.
        other => other
            .as_vector()
            .map_or(0, |it| it.dimension() * size_of::<Value>()),
    }
}

/// Heap bytes of a value that was just made; 0 if the value has other holders, which have charged
/// it.
pub(crate) fn bytes_of_new(value: &Value) -> usize {
    let holders = match value {
        Value::String(text) => Arc::strong_count(text),
        Value::Bytes(bytes) => Arc::strong_count(bytes),
        Value::List(items) => Arc::strong_count(items),
        Value::Map(map) => Arc::strong_count(map),
        Value::Path(path) => Arc::strong_count(path),
        Value::Stored(stored) => Arc::strong_count(stored),
        _ => return 0,
    };
    match holders {
        1 => Share::default().of(value),
        _ => 0,
    }
}

/// Heap bytes that the parameters of a statement take here: the caller has values of its own, and
/// texts are shared with them.
pub(crate) fn bytes_of_params(params: &BTreeMap<Arc<str>, Value>) -> u64 {
    let mut share = Share::default();
    params.values().map(|value| share.of(value) as u64).sum()
}

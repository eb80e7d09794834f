//! Ids as the tables write them to node ordinals.
//!
//! # How it works
//! One hash table per id space and kind of id. An id written as a plain decimal number is kept as
//! that number, see [`numbers`]; other ids are kept as bytes.

pub(crate) mod numbers;

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::plan::IdKind;
use crate::value::{parse_i64, put_integer, put_text};
use numbers::{Numbers, Slot};

/// Bytes that a text takes in a map beside itself, slack included.
const TEXT_BYTES: u64 = 48;

/// An id of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id<'a> {
    Number(i64),
    Text(&'a [u8]),
}

impl<'a> Id<'a> {
    /// Reads an id of a space of `kind`.
    pub(crate) fn parse(field: &'a [u8], kind: IdKind) -> Result<Self, String> {
        if field.is_empty() {
            return Err("the id is empty: give every row its ids".into());
        }
        let number = || parse_i64(field);
        match kind {
            IdKind::Integer => number()
                .map(Id::Number)
                .ok_or_else(|| "is no id: ids of this table are whole numbers".to_owned()),
            IdKind::Infer => {
                let plain = number().filter(|_| is_canonical(field));
                Ok(plain.map_or(Id::Text(field), Id::Number)).and_then(checked)
            }
            IdKind::Text => checked(Id::Text(field)),
        }
    }

    /// Appends the id as a property value.
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        match self {
            Id::Number(number) => put_integer(out, number),
            Id::Text(text) => put_text(out, text),
        }
    }
}

fn checked(id: Id<'_>) -> Result<Id<'_>, String> {
    match id {
        Id::Text(text) if std::str::from_utf8(text).is_err() => {
            Err("the id is not UTF-8: convert the file to UTF-8".into())
        }
        id => Ok(id),
    }
}

/// Whether a number is written as it would be printed, so that text and number are one id.
pub(crate) fn is_canonical(field: &[u8]) -> bool {
    matches!(field, b"0" | [b'-', b'1'..=b'9', ..] | [b'1'..=b'9', ..])
}

#[derive(Debug, Default)]
struct SpaceIds {
    numbers: Numbers,
    texts: HashMap<Box<[u8]>, u32, FixedState>,
}

/// All ids met, by space.
#[derive(Debug)]
pub(crate) struct Ids {
    spaces: Vec<SpaceIds>,
    /// Of the ids that are text.
    text_bytes: u64,
}

impl Ids {
    pub(crate) fn new(spaces: usize) -> Self {
        Self {
            spaces: (0..spaces).map(|_| SpaceIds::default()).collect(),
            text_bytes: 0,
        }
    }

    /// Remembers an id; false if the space has it already.
    pub(crate) fn insert(&mut self, space: usize, id: Id<'_>, ordinal: u32) -> bool {
        let ids = &mut self.spaces[space];
        match id {
            Id::Number(number) => return ids.numbers.insert(number, ordinal),
            Id::Text(text) => {
                self.text_bytes += TEXT_BYTES + text.len() as u64;
                if ids.texts.contains_key(text) {
                    return false;
                }
                ids.texts.insert(text.into(), ordinal);
            }
        }
        true
    }

    /// The node with this id.
    pub(crate) fn get(&self, space: usize, id: Id<'_>) -> Option<u32> {
        match id {
            Id::Number(number) => self.spaces[space].numbers.get(number),
            Id::Text(text) => self.spaces[space].texts.get(text).copied(),
        }
    }

    /// Asks for the memory where the search of a number begins.
    pub(crate) fn first(&self, space: usize, number: i64) -> Slot {
        self.spaces[space].numbers.first(number)
    }

    /// The node with this id, of which [`Ids::first`] was asked.
    pub(crate) fn found(&self, space: usize, first: Slot, number: i64) -> Option<u32> {
        self.spaces[space].numbers.found(first, number)
    }

    /// Estimate of the memory taken with one id more, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers = self.spaces.iter().map(|s| s.numbers.bytes_with_one_more());
        self.text_bytes + numbers.sum::<u64>()
    }

    /// Number of spaces.
    pub(crate) fn spaces(&self) -> usize {
        self.spaces.len()
    }

    /// Gives every id away, space by space in no particular order.
    pub(crate) fn drain<E>(
        self,
        mut take: impl FnMut(usize, Id<'_>, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        for (space, ids) in self.spaces.into_iter().enumerate() {
            for (id, ordinal) in ids.numbers.iter() {
                take(space, Id::Number(id), ordinal)?;
            }
            for (id, ordinal) in ids.texts {
                take(space, Id::Text(&id), ordinal)?;
            }
        }
        Ok(())
    }

    /// Whether every id of the space is a number.
    pub(crate) fn is_numeric(&self, space: usize) -> bool {
        self.spaces[space].texts.is_empty()
    }

    /// Whether some id occurs in both spaces.
    pub(crate) fn overlap(&self, a: usize, b: usize) -> bool {
        let (mut a, mut b) = (&self.spaces[a], &self.spaces[b]);
        if a.numbers.len() + a.texts.len() > b.numbers.len() + b.texts.len() {
            std::mem::swap(&mut a, &mut b);
        }
        let mut numbers = a.numbers.iter();
        numbers.any(|(id, _)| b.numbers.get(id).is_some())
            || a.texts.keys().any(|id| b.texts.contains_key(id))
    }
}

//! The text of a file, read within the memory limit.
//!
//! # Invariants
//! * CT-1 A piece is charged before it is read, so no file, however long, takes more than what the
//!   limit grants.
//!
//! # Costs
//! The bytes of the text, twice while the buffer grows.

use std::io::{self, Read};
use std::ops::Deref;

use graven_pagecache::{BudgetError, Reservation};

/// Bytes that are charged and read at a time.
const PIECE: u64 = 64 << 10;

/// A text with the memory it takes.
#[derive(Debug)]
pub(crate) struct ChargedText {
    text: String,
    _memory: Reservation,
}

/// Why a text was not read.
#[derive(Debug)]
pub(crate) enum NoText {
    /// The memory limit.
    Memory(BudgetError),
    /// The system's error, or a text that is not UTF-8.
    System(io::Error),
}

impl ChargedText {
    /// Reads `from` to its end.
    pub(crate) fn read(
        mut from: impl Read,
        mut memory: Reservation,
    ) -> Result<ChargedText, NoText> {
        let mut bytes = Vec::new();
        loop {
            // A vector that grows holds the old and the new bytes for a moment.
            memory.grow(2 * PIECE).map_err(NoText::Memory)?;
            let piece = from.by_ref().take(PIECE).read_to_end(&mut bytes);
            if piece.map_err(NoText::System)? == 0 {
                break;
            }
        }
        let text = String::from_utf8(bytes).map_err(|_| {
            let what = "the text is not UTF-8";
            NoText::System(io::Error::new(io::ErrorKind::InvalidData, what))
        })?;
        Ok(ChargedText {
            text,
            _memory: memory,
        })
    }
}

impl Deref for ChargedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_pagecache::Budget;

    /// Goal: CT-1, a text without an end stops at the limit, and one that fits is whole.
    #[test]
    fn a_text_is_charged_while_it_is_read() {
        let budget = Budget::new(1 << 20);
        let memory = || budget.empty_reservation("text");
        let endless = ChargedText::read(io::repeat(b'x'), memory());
        assert!(matches!(endless, Err(NoText::Memory(_))));
        let long = "text ".repeat(40_000);
        let read = ChargedText::read(long.as_bytes(), memory()).expect("it fits");
        assert_eq!(&*read, &*long);
        let broken = ChargedText::read(&b"\xff"[..], memory());
        assert!(matches!(broken, Err(NoText::System(_))));
    }
}

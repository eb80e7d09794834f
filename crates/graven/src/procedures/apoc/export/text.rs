//! The text of a column, which grows within the memory limit.
//!
//! # Invariants
//! * PR-5 All room that the text has is charged before it is taken.
//!
//! # Cost
//! Room doubles. While it does, and while the finished text is copied to where values share it, the
//! old and the new room are charged together.

use graven_exec::{ExecError, Value};
use graven_pagecache::Reservation;

use super::super::super::inner::no_room;

/// Bytes of the first room.
const FIRST: usize = 4096;

/// See the file header.
pub(super) struct Text {
    text: String,
    /// Holds the room of the text.
    memory: Reservation,
}

impl Text {
    /// An empty one, whose room is held by `memory`.
    pub(super) fn new(memory: Reservation) -> Self {
        Text {
            text: String::new(),
            memory,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends a part.
    pub(super) fn push(&mut self, part: &str) -> Result<(), ExecError> {
        let (room, wanted) = (self.memory.bytes(), self.text.len() + part.len());
        if wanted as u64 > room {
            let wanted = wanted.max(2 * self.text.len()).max(FIRST);
            self.memory.grow(wanted as u64).map_err(no_room)?;
            self.text.reserve_exact(wanted - self.text.len());
            self.memory.shrink(room);
        }
        self.text.push_str(part);
        Ok(())
    }

    /// The text as a value, with what holds its memory.
    pub(super) fn finish(mut self) -> Result<(Value, Reservation), ExecError> {
        let room = self.memory.bytes();
        self.memory.grow(self.text.len() as u64).map_err(no_room)?;
        let value = Value::text(&self.text);
        drop(self.text);
        self.memory.shrink(room);
        Ok((value, self.memory))
    }
}

#[cfg(test)]
mod tests {
    //! Goal: PR-5, a text takes no more than the limit, and gives back what it needs no more.

    use graven_pagecache::Budget;

    use super::*;

    #[test]
    fn a_text_is_charged_as_it_grows() {
        let budget = Budget::new(1 << 20);
        let mut text = Text::new(budget.empty_reservation("export"));
        let mut parts = 0;
        while text.len() < 200_000 {
            text.push("a part of it").expect("it fits");
            parts += 1;
            assert!(text.text.capacity() as u64 <= budget.used());
        }
        let (value, memory) = text.finish().expect("it fits");
        assert_eq!(value, Value::text(&"a part of it".repeat(parts)));
        assert_eq!(memory.bytes(), 12 * parts as u64);
        drop(memory);
        assert_eq!(budget.used(), 0);
        let mut text = Text::new(budget.empty_reservation("export"));
        let refused = (0..).find_map(|_| text.push("a part without an end").err());
        let refused = refused.expect("the limit").to_string();
        assert!(refused.contains("export asked for"), "{refused}");
    }
}

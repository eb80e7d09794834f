//! Creating, advancing and dropping sequences, macros and notes.
//!
//! # Concurrency
//! A transaction notes which sequences it changes: its commit meets no other but one that changed
//! the same sequence. A macro, or a note, is a change of the schema.

use super::Transaction;
use crate::Result;
use crate::macros::MacroDescription;
use crate::notes::{Note, NoteKind};
use crate::sequences::{self, SequenceDescription};
use std::sync::Arc;

impl Transaction {
    /// The sequence of this name, as this transaction sees it.
    #[must_use]
    pub fn sequence(&self, name: &str) -> Option<SequenceDescription> {
        let schema = self.write_set.schema();
        sequences::named(&schema.sequences, name).cloned()
    }

    /// Adds a sequence, or changes the one of this name.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn put_sequence(&self, sequence: SequenceDescription) -> Result<()> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let found = schema
                .sequences
                .binary_search_by(|known| known.name.cmp(&sequence.name));
            state.sequences_changed.insert(sequence.name.clone());
            match found {
                Ok(at) => schema.sequences[at] = sequence,
                Err(at) => schema.sequences.insert(at, sequence),
            }
            self.write_set.set_schema(schema);
            Ok(())
        })
    }

    /// Removes the sequence of this name; whether there was one.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn drop_sequence(&self, name: &str) -> Result<bool> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let before = schema.sequences.len();
            schema.sequences.retain(|known| &*known.name != name);
            let found = schema.sequences.len() < before;
            if found {
                self.write_set.set_schema(schema);
                state.sequences_changed.insert(name.into());
            }
            Ok(found)
        })
    }

    /// Whether there is a macro of this name, as this transaction sees it.
    #[must_use]
    pub fn has_macro(&self, name: &str) -> bool {
        let schema = self.write_set.schema();
        schema.macros.iter().any(|known| &*known.name == name)
    }

    /// Adds a macro, or changes the one of this name.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn put_macro(&self, given: MacroDescription) -> Result<()> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let found = schema
                .macros
                .binary_search_by(|known| known.name.cmp(&given.name));
            match found {
                Ok(at) => schema.macros[at] = given,
                Err(at) => schema.macros.insert(at, given),
            }
            self.write_set.set_schema(schema);
            state.schema_changed = true;
            Ok(())
        })
    }

    /// Removes the macro of this name; whether there was one.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn drop_macro(&self, name: &str) -> Result<bool> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let before = schema.macros.len();
            schema.macros.retain(|known| &*known.name != name);
            let found = schema.macros.len() < before;
            if found {
                self.write_set.set_schema(schema);
                state.schema_changed = true;
            }
            Ok(found)
        })
    }

    /// The text of the note of this kind and name, as this transaction sees it.
    #[must_use]
    pub fn note(&self, kind: NoteKind, name: &str) -> Option<Arc<str>> {
        let schema = self.write_set.schema();
        let mut notes = schema.notes.iter();
        let found = notes.find(|note| note.place() == (kind, name))?;
        Some(found.text.clone())
    }

    /// All notes, as this transaction sees them.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.write_set.schema().notes.clone()
    }

    /// Adds a note, or changes the one of this kind and name.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn put_note(&self, given: Note) -> Result<()> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let found = schema
                .notes
                .binary_search_by(|known| known.place().cmp(&given.place()));
            match found {
                Ok(at) => schema.notes[at] = given,
                Err(at) => schema.notes.insert(at, given),
            }
            self.write_set.set_schema(schema);
            state.schema_changed = true;
            Ok(())
        })
    }

    /// Removes the note of this kind and name; whether there was one.
    ///
    /// # Errors
    /// As [`Transaction::label`].
    pub fn drop_note(&self, kind: NoteKind, name: &str) -> Result<bool> {
        self.write(|state| {
            let mut schema = (*self.write_set.schema()).clone();
            let before = schema.notes.len();
            schema.notes.retain(|known| known.place() != (kind, name));
            let found = schema.notes.len() < before;
            if found {
                self.write_set.set_schema(schema);
                state.schema_changed = true;
            }
            Ok(found)
        })
    }
}

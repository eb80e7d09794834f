//! `COMMENT ON TABLE`, `CREATE TYPE` and `DROP TYPE`: texts that the schema keeps.
//!
//! # How it works
//! A comment goes with its table when that is renamed or dropped. The name of a type is replaced by
//! what it stands for when a column is declared, so that no constraint needs the name later.

use std::sync::Arc;

use graven_cypher::plan::tables::expanded;
use graven_storage::{Error, Note, NoteKind, PropertyType, SchemaEntity};
use graven_types::told;

use super::{Tables, exists, missing};
use crate::error::Result;

impl Tables<'_> {
    /// A comment in place of the one before; none takes it away.
    pub(super) fn comment(&self, table: &str, text: Option<&Arc<str>>) -> Result<()> {
        let (entity, _) = self.table(table)?;
        let Some(name) = self.name_of(entity) else {
            return Err(missing("table", table));
        };
        match text {
            None => {
                self.transaction.drop_note(NoteKind::Comment, &name)?;
            }
            Some(text) => self.transaction.put_note(Note {
                kind: NoteKind::Comment,
                name,
                text: text.clone(),
            })?,
        }
        Ok(())
    }

    /// The comment on a table goes to the name that it gets.
    pub(super) fn move_comment(&self, entity: SchemaEntity, to: &str) -> Result<()> {
        let old = self.name_of(entity).unwrap_or_default();
        let Some(text) = self.transaction.note(NoteKind::Comment, &old) else {
            return Ok(());
        };
        self.transaction.drop_note(NoteKind::Comment, &old)?;
        Ok(self.transaction.put_note(Note {
            kind: NoteKind::Comment,
            name: to.into(),
            text,
        })?)
    }

    /// A name for a type.
    pub(super) fn create_type(&self, name: &Arc<str>, of: &Arc<str>, lenient: bool) -> Result<()> {
        if self.type_named(name).is_some() {
            return match lenient {
                true => Ok(()),
                false => Err(exists("type", name)),
            };
        }
        if PropertyType::parse(name).is_ok() {
            let what = told!("{name} is a type of the language: choose another name");
            return Err(Error::InvalidSchema { what }.into());
        }
        let text = self.meant(of);
        PropertyType::parse(&text).map_err(|what| Error::InvalidSchema { what })?;
        Ok(self.transaction.put_note(Note {
            kind: NoteKind::Type,
            name: name.clone(),
            text,
        })?)
    }

    /// The name is no type any more; columns of it stay what they are.
    pub(super) fn drop_type(&self, name: &str, lenient: bool) -> Result<()> {
        let found = self.type_named(name);
        match found {
            Some(known) => self.transaction.drop_note(NoteKind::Type, &known.name)?,
            None if lenient => return Ok(()),
            None => return Err(missing("type", name)),
        };
        Ok(())
    }

    /// The type that a text says.
    pub(super) fn meant(&self, of: &Arc<str>) -> Arc<str> {
        let meant = expanded(of, |name| Some(self.type_named(name)?.text));
        meant.unwrap_or_else(|| of.clone())
    }

    fn type_named(&self, name: &str) -> Option<Note> {
        let is = |note: &Note| note.kind == NoteKind::Type && note.name.eq_ignore_ascii_case(name);
        self.transaction.notes().into_iter().find(is)
    }
}

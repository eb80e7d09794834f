//! Notes of the schema: comments on tables, and names that statements have given to types.
//!
//! # How it works
//! The list is part of the schema, as that of macros is. The store does not look into the texts.
//!
//! # On disk
//! Behind the macros of the catalogue, and of the schema in the log, only where there are notes:
//! the version (varint, 1), count; each: kind (varint: 1 comment, 2 type), name, text; sorted by
//! kind and name.

use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use std::sync::Arc;

const VERSION: u64 = 1;

/// What a note is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoteKind {
    /// The table of the name: a comment on it.
    Comment,
    /// The name itself: the type that it stands for.
    Type,
}

impl NoteKind {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        let number = match self {
            NoteKind::Comment => 1,
            NoteKind::Type => 2,
        };
        put_varint(out, number);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Decoded<NoteKind> {
        match reader.varint()? {
            1 => Ok(NoteKind::Comment),
            2 => Ok(NoteKind::Type),
            other => Err(Malformed(format!("a note of the kind {other}"))),
        }
    }
}

/// A note as the catalogue lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// Of a table, or of a type.
    pub name: Arc<str>,
    /// The comment, or the type.
    pub text: Arc<str>,
}

impl Note {
    /// Its place in the list.
    pub(crate) fn place(&self) -> (NoteKind, &str) {
        (self.kind, &self.name)
    }
}

pub(crate) fn put(out: &mut Vec<u8>, notes: &[Note]) {
    put_varint(out, VERSION);
    put_varint(out, notes.len() as u64);
    for note in notes {
        note.kind.put(out);
        put_text(out, &note.name);
        put_text(out, &note.text);
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Decoded<Vec<Note>> {
    let version = reader.varint()?;
    if version != VERSION {
        let what = format!("notes of version {version}, version {VERSION} expected");
        return Err(Malformed(what));
    }
    let mut notes: Vec<Note> = Vec::new();
    for _ in 0..reader.length()? {
        let note = Note {
            kind: NoteKind::read(reader)?,
            name: Arc::from(reader.text()?),
            text: Arc::from(reader.text()?),
        };
        if notes
            .last()
            .is_some_and(|last| last.place() >= note.place())
        {
            return Err(Malformed::new("notes are not in the order of their names"));
        }
        notes.push(note);
    }
    Ok(notes)
}

#[cfg(test)]
mod tests {
    //! Goal: notes come back from bytes, and damaged bytes are refused.

    use super::*;
    use crate::GraphBuilder;
    use crate::catalog::Catalog;

    #[test]
    fn notes_come_back_from_bytes() {
        let note = |kind, name: &str, text: &str| Note {
            kind,
            name: name.into(),
            text: text.into(),
        };
        let notes = vec![
            note(NoteKind::Comment, "Knows", ""),
            note(NoteKind::Comment, "Person", "all of them"),
            note(NoteKind::Type, "Ages", "INT64[]"),
        ];
        let mut builder = GraphBuilder::new();
        builder.node(&["A"], &[]);
        let store = builder.open(1 << 20).expect("opened");
        let mut catalog: Catalog = store.snapshot().catalog().clone();
        catalog.notes.clone_from(&notes);
        let back = Catalog::decode(&catalog.encode()).expect("readable");
        assert_eq!(back, catalog);
        let mut out = Vec::new();
        put(&mut out, &notes);
        assert_eq!(read(&mut Reader::new(&out)), Ok(notes));
        for at in 0..out.len() {
            let mut changed = out.clone();
            changed[at] ^= 0xff;
            let _ = read(&mut Reader::new(&changed));
            assert!(read(&mut Reader::new(&out[..at])).is_err(), "cut at {at}");
        }
    }
}

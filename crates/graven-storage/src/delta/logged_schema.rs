//! The schema in the log: what a commit changed of it, or all of it.
//!
//! # How it works
//! A commit that changes the schema logs what it took away, by name, and what is new, so that one
//! more macro or one number of a sequence costs its own bytes. Where such a difference does not
//! lead to the same schema, the whole is logged, as builds before this one did for every change.
//!
//! # Invariants
//! * TX-42: a difference applied to the schema of the commit before gives the schema of the commit.
//!
//! # On disk
//! Whole: as in the catalogue ([`crate::catalog::encode`]), and users, sequences, macros and notes
//! as there. A difference:
//!
//! | | |
//! | --- | --- |
//! | varint count, varints | numbers of the indexes that are gone |
//! | four lists: varint count, texts | names of the constraints, users, sequences and macros that are gone or changed |
//! | varint count; each: kind as in [`crate::notes`], text | names of the notes that are gone or changed |
//! | to the end | what is new or changed, as a whole schema |

use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use crate::catalog::Catalog;
use crate::notes::{Note, NoteKind};
use crate::store::allocator::NameLists;
use crate::version::schema::Schema;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// The schema behind a commit, in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LoggedSchema {
    /// All of it.
    Whole(Vec<u8>),
    /// What differs from the schema before.
    Difference(Vec<u8>),
}

impl LoggedSchema {
    /// The shorter way to say that `after` follows `before`.
    pub(crate) fn of(before: &Schema, after: &Schema) -> LoggedSchema {
        let difference = Difference::between(before, after);
        match difference.applied_to(before).is_as(after) {
            true => LoggedSchema::Difference(difference.encode()),
            false => LoggedSchema::Whole(whole_bytes(after)),
        }
    }

    /// The schema that follows `before`; `names` must know those that it uses.
    pub(crate) fn read(&self, before: &Schema, names: &NameLists) -> Decoded<Schema> {
        match self {
            LoggedSchema::Whole(bytes) => read_whole(&mut Reader::new(bytes), names),
            LoggedSchema::Difference(bytes) => {
                let mut reader = Reader::new(bytes);
                let difference = Difference::decode(&mut reader, names)?;
                Ok(difference.applied_to(before))
            }
        }
    }
}

/// A schema in the bytes of the catalogue.
fn whole_bytes(schema: &Schema) -> Vec<u8> {
    let catalog = Catalog {
        indexes: schema.indexes.clone(),
        constraints: schema.constraints.clone(),
        next_index: schema.next_index,
        users: schema.users.clone(),
        sequences: schema.sequences.clone(),
        macros: schema.macros.clone(),
        notes: schema.notes.clone(),
        ..Catalog::default()
    };
    let mut out = Vec::new();
    catalog.put_schema(&mut out);
    catalog.put_texts(&mut out);
    out
}

/// Undoes [`whole_bytes`].
fn read_whole(reader: &mut Reader<'_>, names: &NameLists) -> Decoded<Schema> {
    let mut catalog = Catalog {
        labels: names.labels.clone(),
        types: names.types.clone(),
        keys: names.keys.clone(),
        ..Catalog::default()
    };
    catalog.read_schema(reader)?;
    catalog.read_texts(reader)?;
    match reader.remaining() {
        0 => Ok(Schema::of(&catalog)),
        rest => Err(Malformed(format!("{rest} bytes behind a schema"))),
    }
}

/// Sorts of entries that have names, in their order in the bytes.
const NAMED: usize = 4;

/// What one schema has that another one has not.
#[derive(Debug, Default)]
struct Difference {
    lost_indexes: Vec<u32>,
    /// Names of constraints, users, sequences and macros that are gone or changed.
    lost: [Vec<Arc<str>>; NAMED],
    lost_notes: Vec<(NoteKind, Arc<str>)>,
    /// What is new or changed, alone.
    new: Schema,
}

/// Names of the entries of `before` that are gone or changed, and the entries of `after` that are
/// new or changed.
fn changed<T: Clone + PartialEq, N: Eq + Hash>(
    before: &[T],
    after: &[T],
    name: impl Fn(&T) -> N,
) -> (Vec<N>, Vec<T>) {
    let by_name = |all: &[T]| -> HashMap<N, usize> {
        let named = all.iter().enumerate();
        named.map(|(at, it)| (name(it), at)).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let same = |it: &T, of: &HashMap<N, usize>, all: &[T]| {
        of.get(&name(it)).is_some_and(|at| all[*at] == *it)
    };
    let lost = before.iter().filter(|it| !same(it, &new, after));
    let found = after.iter().filter(|it| !same(it, &old, before));
    (lost.map(&name).collect(), found.cloned().collect())
}

fn name_of_note(note: &Note) -> (NoteKind, Arc<str>) {
    (note.kind, note.name.clone())
}

/// Takes away the entries of these names and adds the new ones.
fn apply<T: Clone, N: Eq + Hash>(all: &mut Vec<T>, lost: &[N], new: &[T], name: impl Fn(&T) -> N) {
    if !lost.is_empty() {
        let lost: HashSet<&N> = lost.iter().collect();
        all.retain(|it| !lost.contains(&name(it)));
    }
    all.extend_from_slice(new);
}

impl Difference {
    fn between(before: &Schema, after: &Schema) -> Difference {
        let numbers = |schema: &Schema| -> HashSet<u32> {
            schema.indexes.iter().map(|index| index.number).collect()
        };
        let (old, new) = (numbers(before), numbers(after));
        let lost = before.indexes.iter().map(|index| index.number);
        let lost_indexes = lost.filter(|number| !new.contains(number)).collect();
        let added = after.indexes.iter();
        let indexes = added.filter(|index| !old.contains(&index.number));
        let indexes = indexes.cloned().collect();
        let (constraints, new_constraints) =
            changed(&before.constraints, &after.constraints, |it| {
                it.name.clone()
            });
        let (users, new_users) = changed(&before.users, &after.users, |it| it.name.clone());
        let (sequences, new_sequences) =
            changed(&before.sequences, &after.sequences, |it| it.name.clone());
        let (macros, new_macros) = changed(&before.macros, &after.macros, |it| it.name.clone());
        let (notes, new_notes) = changed(&before.notes, &after.notes, name_of_note);
        Difference {
            lost_indexes,
            lost: [constraints, users, sequences, macros],
            lost_notes: notes,
            new: Schema {
                indexes,
                constraints: new_constraints,
                next_index: after.next_index,
                users: new_users,
                sequences: new_sequences,
                macros: new_macros,
                notes: new_notes,
            },
        }
    }

    fn applied_to(&self, before: &Schema) -> Schema {
        let mut after = before.clone();
        let [constraints, users, sequences, macros] = &self.lost;
        let is_lost = |number: &u32| self.lost_indexes.contains(number);
        after.indexes.retain(|index| !is_lost(&index.number));
        after.indexes.extend_from_slice(&self.new.indexes);
        after.next_index = self.new.next_index;
        let new = &self.new;
        apply(
            &mut after.constraints,
            constraints,
            &new.constraints,
            |it| it.name.clone(),
        );
        apply(&mut after.users, users, &new.users, |it| it.name.clone());
        apply(&mut after.sequences, sequences, &new.sequences, |it| {
            it.name.clone()
        });
        apply(&mut after.macros, macros, &new.macros, |it| it.name.clone());
        apply(&mut after.notes, &self.lost_notes, &new.notes, name_of_note);
        // These are kept in the order of their names.
        after.users.sort_by(|a, b| a.name.cmp(&b.name));
        after.sequences.sort_by(|a, b| a.name.cmp(&b.name));
        after.macros.sort_by(|a, b| a.name.cmp(&b.name));
        after.notes.sort_by(|a, b| a.place().cmp(&b.place()));
        after
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.lost_indexes.len() as u64);
        let numbers = self.lost_indexes.iter();
        numbers.for_each(|number| put_varint(&mut out, u64::from(*number)));
        for names in &self.lost {
            put_varint(&mut out, names.len() as u64);
            names.iter().for_each(|name| put_text(&mut out, name));
        }
        put_varint(&mut out, self.lost_notes.len() as u64);
        for (kind, name) in &self.lost_notes {
            kind.put(&mut out);
            put_text(&mut out, name);
        }
        out.extend_from_slice(&whole_bytes(&self.new));
        out
    }

    fn decode(reader: &mut Reader<'_>, names: &NameLists) -> Decoded<Difference> {
        let mut difference = Difference::default();
        for _ in 0..reader.length()? {
            let number = reader.varint()?;
            let number = u32::try_from(number);
            let number = number.map_err(|_| Malformed::new("an index number beyond 32 bits"))?;
            difference.lost_indexes.push(number);
        }
        for lost in &mut difference.lost {
            for _ in 0..reader.length()? {
                lost.push(Arc::from(reader.text()?));
            }
        }
        for _ in 0..reader.length()? {
            let kind = NoteKind::read(reader)?;
            difference
                .lost_notes
                .push((kind, Arc::from(reader.text()?)));
        }
        difference.new = read_whole(reader, names)?;
        Ok(difference)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: for any two schemas, what is logged leads from one to the other; what changed little
    //! is short; damaged bytes are refused.

    use super::*;
    use crate::macros::MacroDescription;
    use crate::schema::{ConstraintDescription, ConstraintKind, SchemaEntity};
    use crate::sequences::SequenceDescription;
    use crate::{KeyId, LabelId};
    use graven_types::rng::SplitMix64;

    fn names() -> NameLists {
        let mut names = NameLists::default();
        names.labels.intern("A");
        names.keys.intern("k");
        names
    }

    /// A few of each sort, chosen by the seed.
    fn schema(random: &mut SplitMix64) -> Schema {
        let mut schema = Schema::default();
        let mut some = |of: &str, add: &mut dyn FnMut(Arc<str>, u64)| {
            for at in 0..4 {
                if random.once_in(2) {
                    add(format!("{of}{at}").into(), random.below(2));
                }
            }
        };
        some("m", &mut |name, variant| {
            schema.macros.push(MacroDescription {
                name,
                parameters: Vec::new(),
                body: format!("{variant}").into(),
            });
        });
        some("s", &mut |name, variant| {
            schema.sequences.push(SequenceDescription {
                name,
                start: 1,
                increment: 1,
                min: 1,
                max: 9,
                cycle: false,
                last: (variant > 0).then_some(1),
            });
        });
        for (of, kind) in [("n", NoteKind::Comment), ("t", NoteKind::Type)] {
            some(of, &mut |name, variant| {
                let text = format!("{variant}").into();
                schema.notes.push(Note { kind, name, text });
            });
        }
        some("c", &mut |name, variant| {
            schema.constraints.push(ConstraintDescription {
                name,
                kind: match variant {
                    0 => ConstraintKind::Exists,
                    _ => ConstraintKind::Unique,
                },
                entity: SchemaEntity::Node(LabelId(0)),
                keys: vec![KeyId(0)],
                index: None,
            });
        });
        schema
    }

    #[test]
    fn what_is_logged_leads_from_one_schema_to_the_other() {
        let (mut random, names) = (SplitMix64::new(20), names());
        let mut differences = 0;
        for _ in 0..2000 {
            let (before, after) = (schema(&mut random), schema(&mut random));
            let logged = LoggedSchema::of(&before, &after);
            differences += u32::from(matches!(logged, LoggedSchema::Difference(_)));
            assert_eq!(logged.read(&before, &names), Ok(after), "{before:?}");
        }
        assert!(differences > 500, "{differences} of 2000");
    }

    #[test]
    fn one_more_macro_and_comment_cost_their_own_bytes() {
        let mut before = Schema::default();
        for at in 100..200 {
            before.macros.push(MacroDescription {
                name: format!("m{at}").into(),
                parameters: Vec::new(),
                body: "1 + ".repeat(1000).into(),
            });
        }
        let mut after = before.clone();
        after.macros.insert(
            50,
            MacroDescription {
                name: "m149b".into(),
                parameters: Vec::new(),
                body: "1".into(),
            },
        );
        after.notes.push(Note {
            kind: NoteKind::Comment,
            name: "A".into(),
            text: "all".into(),
        });
        let LoggedSchema::Difference(bytes) = LoggedSchema::of(&before, &after) else {
            panic!("nothing but a macro and a comment differs");
        };
        assert!(bytes.len() < 64, "{} bytes", bytes.len());
        let names = names();
        let read = |bytes: &[u8]| LoggedSchema::Difference(bytes.to_vec()).read(&before, &names);
        assert_eq!(read(&bytes), Ok(after.clone()));
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            let _ = read(&changed);
            assert_ne!(read(&bytes[..at]), Ok(after.clone()), "cut at {at}");
        }
    }
}

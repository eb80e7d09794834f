//! Sequences: named counters that statements advance, kept with indexes and constraints.
//!
//! # How it works
//! The list is part of the schema: a transaction changes it, the log holds it whole, and the
//! catalogue keeps it, and with it backups and checkpoints. A number that a transaction has taken
//! is free again if it is not committed.
//!
//! # Concurrency
//! Two transactions that change the same sequence conflict; others go on beside them, as a commit
//! puts only its own sequences into the schema of the commit before.
//!
//! # On disk
//! Behind the users of the catalogue, and of the schema in the log, only where there are sequences:
//! the version (varint, 1), count; each: name, flags (varint: 1 begins again at its end, 2 there is
//! a last number), then as eight bytes each: start, increment, least and largest number, last
//! number if there is one.

use crate::bytes::{Decoded, Malformed, Reader, put_text, put_varint};
use std::sync::Arc;

const VERSION: u64 = 1;
const CYCLES: u64 = 1;
const BEGUN: u64 = 2;

/// A sequence as the catalogue lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceDescription {
    /// Its name.
    pub name: Arc<str>,
    /// Its first number.
    pub start: i64,
    /// What each number is larger than the one before; negative where they descend; not 0.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The largest number.
    pub max: i64,
    /// Whether it begins again at its end.
    pub cycle: bool,
    /// The number that was taken last.
    pub last: Option<i64>,
}

impl SequenceDescription {
    /// The number behind the last one; none if the sequence has ended.
    #[must_use]
    pub fn following(&self) -> Option<i64> {
        let Some(last) = self.last else {
            return Some(self.start);
        };
        let next = last.checked_add(self.increment);
        let within = next.filter(|next| (self.min..=self.max).contains(next));
        let first = if self.increment > 0 {
            self.min
        } else {
            self.max
        };
        within.or_else(|| self.cycle.then_some(first))
    }

    fn fault(&self) -> Option<&'static str> {
        let bounds = self.min..=self.max;
        if self.increment == 0 {
            return Some("the increment of a sequence is 0");
        }
        let all = [Some(self.start), self.last];
        let inside = all.into_iter().flatten().all(|it| bounds.contains(&it));
        (!inside).then_some("a number of a sequence is outside of its bounds")
    }
}

/// The sequence of this name.
pub(crate) fn named<'a>(
    sequences: &'a [SequenceDescription],
    name: &str,
) -> Option<&'a SequenceDescription> {
    sequences.iter().find(|known| &*known.name == name)
}

pub(crate) fn put(out: &mut Vec<u8>, sequences: &[SequenceDescription]) {
    put_varint(out, VERSION);
    put_varint(out, sequences.len() as u64);
    for sequence in sequences {
        put_text(out, &sequence.name);
        let cycles = if sequence.cycle { CYCLES } else { 0 };
        let begun = if sequence.last.is_some() { BEGUN } else { 0 };
        put_varint(out, cycles | begun);
        let fixed = [
            sequence.start,
            sequence.increment,
            sequence.min,
            sequence.max,
        ];
        for number in fixed.into_iter().chain(sequence.last) {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Decoded<Vec<SequenceDescription>> {
    let version = reader.varint()?;
    if version != VERSION {
        let what = format!("sequences of version {version}, version {VERSION} expected");
        return Err(Malformed(what));
    }
    let mut sequences: Vec<SequenceDescription> = Vec::new();
    for _ in 0..reader.length()? {
        let name: Arc<str> = Arc::from(reader.text()?);
        let flags = reader.varint()?;
        if flags & !(CYCLES | BEGUN) != 0 {
            return Err(Malformed(format!("unknown flags {flags:#x} of a sequence")));
        }
        if sequences.last().is_some_and(|last| last.name >= name) {
            let what = "sequences are not in the order of their names";
            return Err(Malformed::new(what));
        }
        let mut number = || Ok(i64::from_le_bytes(reader.array()?));
        let sequence = SequenceDescription {
            name,
            start: number()?,
            increment: number()?,
            min: number()?,
            max: number()?,
            cycle: flags & CYCLES != 0,
            last: match flags & BEGUN {
                0 => None,
                _ => Some(number()?),
            },
        };
        if let Some(what) = sequence.fault() {
            return Err(Malformed::new(what));
        }
        sequences.push(sequence);
    }
    Ok(sequences)
}

#[cfg(test)]
mod tests {
    //! Goal: sequences come back from bytes, damaged bytes are refused, and a sequence counts
    //! within its bounds.

    use super::*;
    use crate::GraphBuilder;
    use crate::catalog::Catalog;
    use crate::users::{Role, UserDescription};

    fn sequence(name: &str, increment: i64, last: Option<i64>) -> SequenceDescription {
        SequenceDescription {
            name: name.into(),
            start: 2,
            increment,
            min: -3,
            max: 5,
            cycle: last == Some(5),
            last,
        }
    }

    #[test]
    fn sequences_come_back_from_bytes() {
        let sequences = vec![
            sequence("a", 2, None),
            sequence("b", -1, Some(-3)),
            sequence("c", 1, Some(5)),
        ];
        let user = UserDescription {
            name: "ada".into(),
            role: Role::Admin,
            password: "x".into(),
            suspended: false,
            change_required: false,
            home: None,
        };
        let mut builder = GraphBuilder::new();
        builder.node(&["A"], &[]);
        let store = builder.open(1 << 20).expect("opened");
        for users in [vec![], vec![user]] {
            let mut catalog: Catalog = store.snapshot().catalog().clone();
            catalog.users = users;
            catalog.sequences.clone_from(&sequences);
            let back = Catalog::decode(&catalog.encode()).expect("readable");
            assert_eq!(back, catalog);
        }
        let mut out = Vec::new();
        put(&mut out, &sequences);
        assert_eq!(read(&mut Reader::new(&out)), Ok(sequences));
        for at in 0..out.len() {
            let mut changed = out.clone();
            changed[at] ^= 0xff;
            let _ = read(&mut Reader::new(&changed));
            assert!(read(&mut Reader::new(&out[..at])).is_err(), "cut at {at}");
        }
        for wrong in [
            sequence("a", 0, None),
            sequence("a", 1, Some(6)),
            sequence("a", 1, Some(-4)),
        ] {
            let mut out = Vec::new();
            put(&mut out, &[wrong]);
            assert!(read(&mut Reader::new(&out)).is_err());
        }
    }

    #[test]
    fn a_sequence_counts_within_its_bounds() {
        let following = |increment, last| sequence("a", increment, last).following();
        assert_eq!(following(2, None), Some(2));
        assert_eq!(following(2, Some(2)), Some(4));
        assert_eq!(following(2, Some(4)), None);
        assert_eq!(following(-1, Some(-2)), Some(-3));
        assert_eq!(following(-1, Some(-3)), None);
        assert_eq!(following(1, Some(5)), Some(-3));
        let widest = SequenceDescription {
            min: i64::MIN,
            max: i64::MAX,
            ..sequence("a", i64::MAX, Some(2))
        };
        assert_eq!(widest.following(), None);
    }
}

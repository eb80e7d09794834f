//! Keys and values of changes as bytes, for maps that lie in temporary pages.
//!
//! # How it works
//! A key is told as the difference to the key before it in its block; the first one of a block
//! stands alone. Nothing here outlives the process, so there is no version.

use crate::bytes::{Decoded, Malformed, Reader, put_varint};
use crate::delta::change::IndexKey;
use crate::delta::change::{Change, EdgeKey, RelationshipChange};
use crate::ids::{NodeId, TypeId};
use crate::value::encode::{put_value, read_value};
use graven_types::PropertyValue;

/// Something that temporary pages can hold.
pub(crate) trait Stored: Sized {
    /// Appends the bytes; `before` is the key in front of it, if it is a key and not the first of
    /// its block.
    fn put(&self, before: Option<&Self>, out: &mut Vec<u8>);

    /// Undoes [`Stored::put`].
    fn read(before: Option<&Self>, reader: &mut Reader<'_>) -> Decoded<Self>;

    /// Bytes outside of the type itself.
    fn heap_bytes(&self) -> u64 {
        0
    }
}

fn sum(before: Option<&u64>, difference: u64) -> Decoded<u64> {
    let sum = before.copied().unwrap_or(0).checked_add(difference);
    sum.ok_or_else(|| Malformed::new("an id beyond 64 bits"))
}

impl Stored for u64 {
    fn put(&self, before: Option<&u64>, out: &mut Vec<u8>) {
        put_varint(out, self - before.copied().unwrap_or(0));
    }

    fn read(before: Option<&u64>, reader: &mut Reader<'_>) -> Decoded<u64> {
        sum(before, reader.varint()?)
    }
}

impl Stored for EdgeKey {
    fn put(&self, before: Option<&EdgeKey>, out: &mut Vec<u8>) {
        self.0.put(before.map(|key| &key.0), out);
        // Within one list neighbours ascend.
        let list = before.filter(|key| key.0 == self.0);
        self.1.put(list.map(|key| &key.1), out);
        put_varint(out, self.2);
    }

    fn read(before: Option<&EdgeKey>, reader: &mut Reader<'_>) -> Decoded<EdgeKey> {
        let node = sum(before.map(|key| &key.0), reader.varint()?)?;
        let list = before.filter(|key| key.0 == node);
        let neighbour = sum(list.map(|key| &key.1), reader.varint()?)?;
        Ok((node, neighbour, reader.varint()?))
    }
}

impl Stored for IndexKey {
    fn put(&self, before: Option<&IndexKey>, out: &mut Vec<u8>) {
        let before: &[u8] = before.map_or(&[], |key| &key.0);
        let same = before.iter().zip(self.0.iter());
        let shared = same.take_while(|(a, b)| a == b).count();
        put_varint(out, shared as u64);
        put_varint(out, (self.0.len() - shared) as u64);
        out.extend_from_slice(&self.0[shared..]);
        put_varint(out, self.1);
    }

    fn read(before: Option<&IndexKey>, reader: &mut Reader<'_>) -> Decoded<IndexKey> {
        let before: &[u8] = before.map_or(&[], |key| &key.0);
        let shared = usize::try_from(reader.varint()?).ok();
        let Some(shared) = shared.and_then(|shared| before.get(..shared)) else {
            return Err(Malformed::new("a key that shares more than there is"));
        };
        let rest = reader.length()?;
        let key = [shared, reader.take(rest)?].concat();
        Ok((key.into(), reader.varint()?))
    }

    fn heap_bytes(&self) -> u64 {
        self.0.len() as u64 + 16
    }
}

impl Stored for Change {
    fn put(&self, _before: Option<&Change>, out: &mut Vec<u8>) {
        out.push(u8::from(*self == Change::Added));
    }

    fn read(_before: Option<&Change>, reader: &mut Reader<'_>) -> Decoded<Change> {
        match reader.u8()? {
            0 => Ok(Change::Removed),
            1 => Ok(Change::Added),
            other => Err(Malformed(format!("unknown change {other}"))),
        }
    }
}

impl Stored for RelationshipChange {
    fn put(&self, _before: Option<&RelationshipChange>, out: &mut Vec<u8>) {
        self.change.put(None, out);
        put_varint(out, u64::from(self.rel_type.0));
        put_varint(out, self.start.0);
        put_varint(out, self.end.0);
    }

    fn read(
        _before: Option<&RelationshipChange>,
        reader: &mut Reader<'_>,
    ) -> Decoded<RelationshipChange> {
        let change = Change::read(None, reader)?;
        let rel_type = u32::try_from(reader.varint()?)
            .map_err(|_| Malformed::new("a relationship type beyond 32 bits"))?;
        Ok(RelationshipChange {
            rel_type: TypeId(rel_type),
            start: NodeId(reader.varint()?),
            end: NodeId(reader.varint()?),
            change,
        })
    }
}

impl Stored for PropertyValue {
    fn put(&self, _before: Option<&PropertyValue>, out: &mut Vec<u8>) {
        put_value(out, self);
    }

    fn read(_before: Option<&PropertyValue>, reader: &mut Reader<'_>) -> Decoded<PropertyValue> {
        read_value(reader)
    }
}

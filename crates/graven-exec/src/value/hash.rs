//! Hashing that agrees with equivalence, so that values can be keys of groups, joins and
//! `DISTINCT`.
//!
//! A whole float hashes as the integer it equals, all NaNs alike, both zeros alike (EX-2).

use std::hash::{Hash, Hasher};

use super::Value;

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Value::Null => state.write_u8(0),
            Value::Boolean(b) => {
                state.write_u8(1);
                state.write_u8(u8::from(*b));
            }
            Value::Integer(i) => hash_integer(*i, state),
            Value::Float(f) => hash_float(*f, state),
            Value::String(s) => {
                state.write_u8(3);
                s.hash(state);
            }
            Value::Bytes(b) => {
                state.write_u8(4);
                b.hash(state);
            }
            Value::List(items) => {
                state.write_u8(5);
                state.write_usize(items.len());
                for item in items.iter() {
                    item.hash(state);
                }
            }
            Value::Map(map) => {
                state.write_u8(6);
                state.write_usize(map.entries().len());
                for (key, value) in map.entries() {
                    key.hash(state);
                    value.hash(state);
                }
            }
            Value::Node(id) => {
                state.write_u8(7);
                state.write_u64(id.0);
            }
            Value::Relationship(id) => {
                state.write_u8(8);
                state.write_u64(id.0);
            }
            Value::Path(path) => {
                state.write_u8(9);
                path.hash(state);
            }
            Value::Stored(stored) => {
                state.write_u8(10);
                super::convert::hash_stored(stored, state);
            }
        }
    }
}

/// Hashes an integer as the value of it.
#[inline]
pub(crate) fn hash_integer<H: Hasher>(value: i64, state: &mut H) {
    state.write_u8(2);
    state.write_i64(value);
}

fn hash_float<H: Hasher>(value: f64, state: &mut H) {
    if value.is_nan() {
        state.write_u8(11);
        return;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only used if the value comes back unchanged"
    )]
    let whole = value as i64;
    #[expect(
        clippy::cast_precision_loss,
        reason = "compared to see whether anything was lost"
    )]
    let back = whole as f64;
    // 2^63 saturates to i64::MAX, whose float is 2^63 again: harmless, as no integer is equivalent
    // to it.
    if back == value {
        hash_integer(whole, state);
    } else {
        state.write_u8(12);
        state.write_u64(value.to_bits());
    }
}

//! The order in which Java's `HashSet` and `HashMap` give their elements.
//!
//! # How it works
//! A table has a power of two of places, at least 16, and grows by two where it is three quarters
//! full. An element stands at the place that the lower bits of its hash name, the upper half of the
//! hash mixed in; elements of one place stand in the order in which they came. Hashes are those of
//! Neo4j's values. The hash of null differs from process to process there; null comes last here,
//! as do lists, maps, dates and the like, in the order in which they came.
//!
//! # Source
//! Documentation of `java.util.HashMap`, `java.lang.String.hashCode`, `java.lang.Double.hashCode`.

use super::set::Set;
use crate::error::Result;
use crate::growth::{Items, charge};
use crate::value::Value;

const PLACES_MIN: usize = 16;
/// Bytes of an element while the elements are sorted: its reference, its place and its number.
const SORTED_BYTES: usize = 24;

/// The hash of a text: Neo4j's of a value starts at 1, Java's at 0.
fn of_text(text: &str, start: u32) -> u32 {
    text.chars().fold(start, |hash: u32, c| {
        hash.wrapping_mul(31).wrapping_add(u32::from(c))
    })
}

/// The hash of 64 bits.
fn of_bits(bits: u64) -> u32 {
    (bits ^ bits >> 32) as u32
}

/// The hash of a value; `None` for values that are not in Java's order here.
fn hash(value: &Value) -> Option<u32> {
    Some(match value {
        Value::Boolean(true) => 1231,
        Value::Boolean(false) => 1237,
        Value::Integer(number) => of_bits(number.cast_unsigned()),
        // A whole float is equal to an integer, and has its hash.
        Value::Float(number) if *number as i64 as f64 == *number => {
            of_bits((*number as i64).cast_unsigned())
        }
        Value::Float(number) => of_bits(number.to_bits()),
        Value::String(text) => of_text(text, 1),
        _ => return None,
    })
}

/// The places of a table for so many elements.
fn places(elements: usize, least: usize) -> usize {
    let mut places = PLACES_MIN.max(least);
    while elements > places / 4 * 3 {
        places *= 2;
    }
    places
}

/// Where an element stands in a table of so many places.
fn place(hash: Option<u32>, places: usize) -> usize {
    hash.map_or(usize::MAX, |hash| {
        (hash ^ hash >> 16) as usize & (places - 1)
    })
}

/// Each of the elements once. A table was made for the first `ahead` ones.
pub(super) fn distinct<'a>(items: impl Iterator<Item = &'a Value>, ahead: usize) -> Result<Value> {
    let mut seen = Set::default();
    let mut found: Vec<&Value> = Vec::new();
    for item in items {
        if seen.insert(item)? {
            found.push(item);
        }
    }
    ordered(found, ahead)
}

/// Elements that differ, in the order of a table that was made for `ahead` of them.
fn ordered(mut found: Vec<&Value>, ahead: usize) -> Result<Value> {
    let least = (ahead as f64 / 0.75) as usize + 1;
    let places = places(found.len(), least.next_power_of_two());
    charge(found.len().saturating_mul(SORTED_BYTES))?;
    found.sort_by_cached_key(|item| place(hash(item), places));
    let mut items = Items::with_room(found.len())?;
    for item in found {
        items.push(item.clone())?;
    }
    items.value()
}

/// Entries of a map in the order of a table.
pub(super) fn by_key<T>(entries: &mut [(std::sync::Arc<str>, T)]) {
    let places = places(entries.len(), PLACES_MIN);
    entries.sort_by_cached_key(|(key, _)| place(Some(of_text(key, 0)), places));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: numbers and texts come as Java's sets give them.
    #[test]
    fn elements_stand_where_java_puts_them() {
        let numbers = [17, 1, 33, 2].map(Value::Integer);
        let ordered = distinct(numbers.iter(), numbers.len()).unwrap();
        assert_eq!(ordered.to_string(), "[17, 1, 33, 2]");
        let texts = ["b", "a", "c", "Aa", "BB"].map(Value::text);
        let ordered = distinct(texts.iter(), 2).unwrap();
        assert_eq!(ordered.to_string(), "['a', 'b', 'Aa', 'BB', 'c']");
    }
}

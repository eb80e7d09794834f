//! Bytes that the values of a message take in memory, found out before they are made.
//!
//! # How it works
//! Each value begins with a marker, and what a list or a map holds follows it: the markers are
//! passed one after the other, without a look at what is within what. Where a message is no
//! message, what was passed until there counts.

use std::sync::Arc;

use graven::Value;

use super::Reader;

/// A value, and what the list that grows around it has too much room for.
const VALUE: usize = size_of::<Value>() * 3 / 2;

/// The heads of an allocation and of what is counted.
const HEAD: usize = 32;

/// An entry of a map (its tree may be half empty), and the smallest tree.
const ENTRY: usize = 2 * size_of::<(Arc<str>, Value)>();
const TREE: usize = 12 * size_of::<(Arc<str>, Value)>();

/// About how many bytes the values of a message take.
pub(crate) fn weight(message: &[u8]) -> usize {
    let mut reader = Reader::new(message);
    let mut bytes = 0;
    // A marker of the message, and what it asks.
    if reader.take(2).is_err() {
        return 0;
    }
    while let Some(more) = next(&mut reader) {
        bytes += more;
    }
    bytes
}

/// The bytes of the next value without those within it; none at the end.
fn next(reader: &mut Reader<'_>) -> Option<usize> {
    let marker = reader.byte().ok()?;
    let mut skip = |bytes: usize| reader.take(bytes).ok().map(|_| VALUE);
    match marker {
        0..=0x7f | 0xf0..=0xff | 0xc0 | 0xc2 | 0xc3 => Some(VALUE),
        0xc1 | 0xcb => skip(8),
        0xc8 => skip(1),
        0xc9 => skip(2),
        0xca => skip(4),
        0x80..=0x8f => text(reader, usize::from(marker & 15)),
        0xcc..=0xce | 0xd0..=0xd2 => {
            let size = reader.size(u32::from(marker & 3)).ok()?;
            text(reader, size)
        }
        0x90..=0x9f => Some(VALUE + HEAD),
        0xd4..=0xd6 => {
            reader.size(u32::from(marker & 3)).ok()?;
            Some(VALUE + HEAD)
        }
        0xa0..=0xaf => Some(map(reader, usize::from(marker & 15))),
        0xd8..=0xda => {
            let entries = reader.size(u32::from(marker & 3)).ok()?;
            Some(map(reader, entries))
        }
        // A structure and its fields become one value.
        0xb0..=0xbf => skip(1).map(|value| value + HEAD),
        _ => None,
    }
}

fn text(reader: &mut Reader<'_>, size: usize) -> Option<usize> {
    reader.take(size).ok()?;
    Some(VALUE + HEAD + size)
}

/// An entry takes two bytes of the message at least.
fn map(reader: &Reader<'_>, entries: usize) -> usize {
    match entries.min(reader.rest.len() / 2) {
        0 => VALUE,
        entries => VALUE + TREE.max(entries * ENTRY),
    }
}

#[cfg(test)]
mod tests {
    //! Goal: what a message comes to is not much more or less than what its values take; messages
    //! that lie about sizes come to no more than they could hold.

    use super::*;

    #[test]
    fn values_weigh_what_they_take() {
        let run = |value: &[u8]| [&[0xb1, 0x10][..], value].concat();
        assert_eq!(weight(&[0xb0, 0x0f]), 0);
        let empty_lists = run(&[&[0xd5, 0x03, 0xe8][..], &[0x90; 1000]].concat());
        assert!(weight(&empty_lists) >= 1000 * size_of::<Value>());
        let maps = [0xa1, 0x81, b'a', 0x01].repeat(1000);
        assert!(weight(&run(&maps)) >= 1000 * TREE);
        let long = [&[0xd2, 0, 1, 0, 0][..], &[b'x'; 1 << 16]].concat();
        assert!((1 << 16..1 << 17).contains(&weight(&run(&long))));
        for lie in [
            &[0xda, 0xff, 0xff, 0xff, 0xff][..],
            &[0xd6, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xd2, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xce, 0x7f, 0xff],
            &[0xdf],
            &[],
        ] {
            assert!(weight(&run(lie)) < 1024, "{lie:?}");
        }
        assert_eq!(weight(&[]), 0);
        assert_eq!(weight(&[0xb1]), 0);
    }
}

//! A run of byte strings, each stored as what differs from the one before.
//!
//! # How it works
//! Every 16th string is a restart, stored whole; a look-up decodes from the restart before it. A
//! string too long for a segment is replaced by the head of a chain of overflow pages. Which
//! strings are a given one is seen in one pass ([`find`]): of a string that shares more with the
//! one before than that does with the given one, nothing but the length is read.
//!
//! # On disk
//! u32 offset of each restart (from the start of the area), then per string: varint bytes shared
//! with the one before (0 at restarts), varint `2 * bytes that follow + overflow`, those bytes.
//! With overflow the bytes are the page reference of the chain's head, and the string counts as
//! empty for the next one.

use crate::bytes::{Decoded, Malformed, Reader, put_varint};
use crate::pages::Pages;
use graven_pagecache::PageRef;
use std::borrow::Cow;
use std::ops::Range;

const RESTART: usize = 16;

/// A string of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Text<'a> {
    Here(Cow<'a, [u8]>),
    Overflow(PageRef),
}

/// A string to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextRef<'a> {
    Here(&'a [u8]),
    Overflow(PageRef),
}

/// Appends `texts`.
pub(crate) fn write<'a>(texts: impl ExactSizeIterator<Item = TextRef<'a>>, out: &mut Vec<u8>) {
    let area = out.len();
    out.resize(area + texts.len().div_ceil(RESTART) * 4, 0);
    let mut before: &[u8] = &[];
    for (index, text) in texts.enumerate() {
        if index % RESTART == 0 {
            let slot = area + index / RESTART * 4;
            let offset = (out.len() - area) as u32;
            out[slot..slot + 4].copy_from_slice(&offset.to_le_bytes());
            before = &[];
        }
        match text {
            TextRef::Here(text) => {
                let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
                put_varint(out, shared as u64);
                put_varint(out, (text.len() - shared) as u64 * 2);
                out.extend_from_slice(&text[shared..]);
                before = text;
            }
            TextRef::Overflow(head) => {
                put_varint(out, 0);
                put_varint(out, 8 * 2 + 1);
                out.extend_from_slice(&head.raw().to_le_bytes());
                before = &[];
            }
        }
    }
}

/// String `index` of the run of `count` strings in `area`.
pub(crate) fn read(area: &[u8], count: usize, index: usize) -> Decoded<Text<'static>> {
    if index >= count {
        return Err(Malformed(format!("string {index} of {count}")));
    }
    let restart = index / RESTART;
    let offset = Reader::starting_at(area, restart * 4).u32()?;
    let mut reader = Reader::starting_at(area, offset as usize);
    // What each string up to the wanted one shares with the one before, and adds.
    let mut pieces = [(0, [].as_slice()); RESTART];
    let mut len = 0;
    for position in restart * RESTART..=index {
        let (shared, own, is_here) = next(&mut reader, len)?;
        if is_here {
            pieces[position % RESTART] = (shared, own);
            len = shared + own.len();
            continue;
        }
        len = 0;
        if position == index {
            return Ok(Text::Overflow(head(own)?));
        }
    }
    // From its end: of each piece as much as those behind it share.
    let mut left = len;
    for (shared, own) in pieces[..=index % RESTART].iter_mut().rev() {
        *own = &own[..left.saturating_sub(*shared)];
        left = left.min(*shared);
    }
    let mut text = Vec::with_capacity(len);
    for (_, own) in &pieces[..=index % RESTART] {
        // Of most pieces nothing is left.
        if !own.is_empty() {
            text.extend_from_slice(own);
        }
    }
    Ok(Text::Here(Cow::Owned(text)))
}

/// Calls `found` for each string of `which` that equals `wanted`, in order, without putting any
/// together. `area` has a run of `count` strings. For a string in a chain of overflow pages, which
/// is not read here, `found` gets the head page.
pub(crate) fn find(
    area: &[u8],
    count: usize,
    which: Range<usize>,
    wanted: &[u8],
    mut found: impl FnMut(usize, Option<PageRef>),
) -> Decoded<()> {
    if which.end > count {
        return Err(Malformed(format!("strings to {} of {count}", which.end)));
    }
    if which.is_empty() {
        return Ok(());
    }
    let restart = which.start / RESTART;
    let offset = Reader::starting_at(area, restart * 4).u32()?;
    let mut reader = Reader::starting_at(area, offset as usize);
    // Of the string before: its length, and how many bytes it begins with as `wanted` does.
    let (mut len, mut alike) = (0, 0);
    for position in restart * RESTART..which.end {
        let (shared, own, is_here) = next(&mut reader, len)?;
        if !is_here {
            (len, alike) = (0, 0);
            if position >= which.start {
                found(position, Some(head(own)?));
            }
            continue;
        }
        len = shared + own.len();
        if shared <= alike {
            let rest = own.iter().zip(&wanted[shared..]);
            alike = shared + rest.take_while(|(a, b)| a == b).count();
        }
        if alike == wanted.len() && len == alike && position >= which.start {
            found(position, None);
        }
    }
    Ok(())
}

/// The next string, behind one of `len` bytes: the bytes it shares with that, its own, and whether
/// it is here.
fn next<'a>(reader: &mut Reader<'a>, len: usize) -> Decoded<(usize, &'a [u8], bool)> {
    let (shared, length) = match reader.small_pair() {
        Some(pair) => pair,
        None => (reader.varint()?, reader.varint()?),
    };
    if shared > len as u64 || length / 2 > reader.remaining() as u64 {
        return Err(Malformed(format!(
            "string of {shared} shared and {} own bytes behind one of {len}",
            length / 2,
        )));
    }
    let own = reader.take((length / 2) as usize)?;
    Ok((shared as usize, own, length % 2 == 0))
}

/// The chain that a string is in.
fn head(own: &[u8]) -> Decoded<PageRef> {
    let raw: [u8; 8] = own
        .try_into()
        .map_err(|_| Malformed(format!("overflow reference of {} bytes", own.len())))?;
    Pages::reference(u64::from_le_bytes(raw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use graven_pagecache::SizeClass;
    use proptest::prelude::*;

    proptest! {
        /// Goal: every string of a run comes back, overflow references among them.
        #[test]
        fn strings_come_back(texts in proptest::collection::vec("[ab]{0,9}|http://x/[a-z]{0,5}", 0..60), hole in 0usize..60) {
            let head = PageRef::new(SizeClass::MIN, 77);
            let refs: Vec<TextRef<'_>> = texts.iter().enumerate().map(|(index, text)| {
                if index == hole { TextRef::Overflow(head) } else { TextRef::Here(text.as_bytes()) }
            }).collect();
            let mut area = vec![9; 3];
            write(refs.into_iter(), &mut area);
            for (index, text) in texts.iter().enumerate() {
                let expected = if index == hole { Text::Overflow(head) } else { Text::Here(Cow::Borrowed(text.as_bytes())) };
                prop_assert_eq!(read(&area[3..], texts.len(), index), Ok(expected));
            }
            for wanted in texts.iter().map(String::as_str).chain(["", "a", "http://x/"]) {
                let from = hole % (texts.len() + 1);
                let mut found = Vec::new();
                find(&area[3..], texts.len(), from..texts.len(), wanted.as_bytes(), |index, head| found.push((index, head))).unwrap();
                let expected = (from..texts.len()).filter_map(|index| match index == hole {
                    true => Some((index, Some(head))),
                    false => (texts[index] == wanted).then_some((index, None)),
                });
                prop_assert_eq!(found, expected.collect::<Vec<_>>());
            }
            prop_assert!(read(&area[3..], texts.len(), texts.len()).is_err());
        }

        /// Goal: arbitrary bytes fail or decode, never panic.
        #[test]
        fn arbitrary_bytes_do_not_panic(area: Vec<u8>, index in 0usize..40) {
            let _ = read(&area, 40, index);
            let _ = find(&area, 40, index..40, b"a", |_, _| ());
        }
    }
}

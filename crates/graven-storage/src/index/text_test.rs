//! What a text in a key must contain, or end with, judged by the bytes of the key.
//!
//! # How it works
//! A key holds the bytes of a text with zeros escaped ([`super::key`]). What is looked for is
//! escaped alike. UTF-8 finds no character inside of another one, and only an escaped zero has the
//! byte 0xff, so bytes that contain bytes are texts that contain texts.

use crate::index::key::key_bytes;
use graven_types::PropertyValue;

/// See the file header.
#[derive(Clone, Debug)]
pub(super) struct TextTest {
    /// Bytes of the key before the text and its tag.
    before: usize,
    wanted: Vec<u8>,
    at_the_end: bool,
}

impl TextTest {
    /// The text behind so many bytes of the key contains `wanted`, or ends with it.
    pub(super) fn new(before: usize, wanted: &str, at_the_end: bool) -> TextTest {
        let key = key_bytes(&PropertyValue::string(wanted)).unwrap_or_default();
        // A tag in front, two zeros behind.
        let inner = 1..key.len().saturating_sub(2).max(1);
        TextTest {
            before,
            wanted: key.get(inner).unwrap_or_default().to_vec(),
            at_the_end,
        }
    }

    /// Whether a whole key passes.
    pub(super) fn holds(&self, key: &[u8]) -> bool {
        let Some(behind) = key.get(self.before + 1..) else {
            return false;
        };
        let mut end = 0;
        while end < behind.len() && !behind[end..].starts_with(&[0, 0]) {
            end += if behind[end] == 0 { 2 } else { 1 };
        }
        let text = &behind[..end.min(behind.len())];
        match self.at_the_end {
            true => text.ends_with(&self.wanted),
            false => memchr::memmem::find(text, &self.wanted).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Goal: the bytes of keys tell what the texts do, zeros and other values around them too.
        #[test]
        fn keys_tell_what_texts_do(
            text in "[ab\\x00\\x01\u{e4}\u{1f600}]{0,6}",
            wanted in "[ab\\x00\\x01\u{e4}\u{1f600}]{0,3}",
            before: i64,
            behind: String,
        ) {
            let key = |value: PropertyValue| key_bytes(&value).unwrap();
            let before = key(PropertyValue::Integer(before));
            let text_key = key(PropertyValue::string(&text));
            let key = [&before[..], &text_key, &key(PropertyValue::string(&behind))].concat();
            let holds = |ends| TextTest::new(before.len(), &wanted, ends).holds(&key);
            prop_assert_eq!(holds(false), text.contains(&wanted));
            prop_assert_eq!(holds(true), text.ends_with(&wanted));
        }
    }
}

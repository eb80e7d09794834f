//! A run of byte strings, one behind the other.
//!
//! # How it works
//! A table says where each string ends, so a look-up is two loads, and the string is read where it
//! lies. Names in the order of ids share hardly a letter with the one before: front-coded they
//! would take as much and be decoded from a restart on.
//!
//! # On disk
//! u16 end of each string, counted from the first byte behind the table; the strings.

use crate::bytes::{Decoded, Malformed};

const END_BYTES: usize = 2;

/// The run of `texts`; `None` if some end is beyond what the table can say.
pub(crate) fn write<T: AsRef<[u8]>>(texts: &[T]) -> Option<Vec<u8>> {
    let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
    u16::try_from(bytes).ok()?;
    let mut out = Vec::with_capacity(texts.len() * END_BYTES + bytes);
    let mut end = 0;
    for text in texts {
        end += text.as_ref().len();
        out.extend_from_slice(&(end as u16).to_le_bytes());
    }
    for text in texts {
        out.extend_from_slice(text.as_ref());
    }
    Some(out)
}

/// String `index` of the run of `count` strings in `area`.
#[inline]
pub(crate) fn read(area: &[u8], count: usize, index: usize) -> Decoded<&[u8]> {
    if index >= count {
        return Err(Malformed(format!("string {index} of {count}")));
    }
    let Some((ends, texts)) = area.split_at_checked(count.saturating_mul(END_BYTES)) else {
        return Err(Malformed(format!(
            "{count} strings in {} bytes",
            area.len()
        )));
    };
    let end_of = |index: usize| {
        let at = index * END_BYTES;
        usize::from(u16::from_le_bytes([ends[at], ends[at + 1]]))
    };
    let start = index.checked_sub(1).map_or(0, end_of);
    let end = end_of(index);
    let text = texts.get(start..end);
    text.ok_or_else(|| {
        Malformed(format!(
            "string from {start} to {end} of {} bytes",
            texts.len()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Goal: every string of a run comes back, and none behind it.
        #[test]
        fn strings_come_back(texts in proptest::collection::vec("[a-z]{0,9}", 0..60)) {
            let area = write(&texts).expect("short");
            for (index, text) in texts.iter().enumerate() {
                prop_assert_eq!(read(&area, texts.len(), index), Ok(text.as_bytes()));
            }
            prop_assert!(read(&area, texts.len(), texts.len()).is_err());
        }

        /// Goal: arbitrary bytes fail or decode, never panic.
        #[test]
        fn arbitrary_bytes_do_not_panic(area: Vec<u8>, index in 0usize..40) {
            let _ = read(&area, 40, index);
        }
    }

    /// Goal: a run whose ends do not fit the table is not written.
    #[test]
    fn long_runs_are_refused() {
        let text = vec![b'x'; 40_000];
        assert!(write(&[&text]).is_some());
        assert_eq!(write(&[&text, &text]), None);
    }
}

//! Readers of argument values that several commands share.

use graven::parse_bytes;

/// A size such as `16MiB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text).map_err(|e| e.to_string())
}

/// One ASCII character, or `tab`.
pub(crate) fn one_byte(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if matches!(text, "tab" | "\\t") => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(format!(
            "`{text}` is not a single ASCII character (or the word tab)"
        )),
    }
}

//! Texts and bytes on their way between C and Rust.

use std::ffi::{CStr, CString, c_char};

/// Text or bytes that a value holds: so many bytes from `data` on, in UTF-8 if it is text. No zero
/// byte follows them; printf prints them with `%.*s`.
#[repr(C)]
pub struct Text {
    /// The first byte; null where there is no text.
    pub data: *const c_char,
    /// How many bytes.
    pub length: usize,
}

impl Text {
    /// What is given where there is no text.
    pub(crate) const NONE: Text = Text {
        data: std::ptr::null(),
        length: 0,
    };

    pub(crate) fn of(bytes: &[u8]) -> Text {
        Text {
            data: bytes.as_ptr().cast(),
            length: bytes.len(),
        }
    }
}

/// As a length: the text ends at its zero byte.
pub(crate) const TO_ZERO: usize = usize::MAX;

/// Text that ends in a zero byte; what is behind a zero byte within it is left out.
pub(crate) fn c_string(text: &str) -> CString {
    let whole = text.split('\0').next().unwrap_or_default();
    CString::new(whole).unwrap_or_default()
}

/// A text of C; `what` names it in errors.
///
/// # Safety
/// CA-2: null, or text that ends in a zero byte and stays while the answer is used.
pub(crate) unsafe fn text<'a>(
    pointer: *const c_char,
    what: &str,
) -> Result<&'a str, graven::Error> {
    if pointer.is_null() {
        return Err(graven::Error::usage(format!(
            "the {what} is a null pointer"
        )));
    }
    // SAFETY: it is not null, and the caller vouches for the rest.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    utf8(bytes, what)
}

/// A text of C with its length, or [`TO_ZERO`].
///
/// # Safety
/// CA-2: so many bytes, or text as for [`text`].
pub(crate) unsafe fn text_of<'a>(
    pointer: *const c_char,
    length: usize,
    what: &str,
) -> Result<&'a str, graven::Error> {
    if length == TO_ZERO {
        // SAFETY: as the caller says.
        return unsafe { text(pointer, what) };
    }
    // SAFETY: as the caller says.
    utf8(unsafe { bytes_of(pointer.cast(), length, what) }?, what)
}

/// Bytes of C. A null pointer is none of them.
///
/// # Safety
/// CA-2: so many bytes, which stay while the answer is used.
pub(crate) unsafe fn bytes_of<'a>(
    pointer: *const u8,
    length: usize,
    what: &str,
) -> Result<&'a [u8], graven::Error> {
    if length == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || isize::try_from(length).is_err() {
        let message = format!("the {what} is a null pointer, or its length {length} cannot be");
        return Err(graven::Error::usage(message));
    }
    // SAFETY: it is not null, no longer than memory, and the caller vouches for the rest.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, graven::Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        graven::Error::usage(format!(
            "the {what} is not UTF-8: its byte {at} does not fit"
        ))
    })
}

//! Which library this is.

use std::ffi::{CStr, c_char};

/// The version, with the zero byte that C wants.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero byte"),
    };

/// The version of the library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn graven_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The format of the data files that this library writes.
#[unsafe(no_mangle)]
pub extern "C" fn graven_storage_version() -> u32 {
    graven::STORAGE_FORMAT
}

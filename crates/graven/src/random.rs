//! Random names and bytes that no other process has.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Bytes that no other process has; the standard library's hash keys are random.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    for (place, chunk) in bytes.chunks_mut(8).enumerate() {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        hasher.write_usize(place);
        chunk.copy_from_slice(&hasher.finish().to_le_bytes()[..chunk.len()]);
    }
    bytes
}

/// A name that no other process uses.
pub(crate) fn random_name() -> String {
    format!("{:016x}", u64::from_le_bytes(random_bytes()))
}

//! Reads the shared traces and golden hit counts for the tests.

use std::collections::HashMap;
use std::path::PathBuf;

/// A trace with pages mapped to `0..unique` in order of appearance.
pub(crate) struct Trace {
    pub(crate) pages: Vec<u32>,
    pub(crate) unique: usize,
}

/// The folder of shared data, or `None` (loudly) where it is absent.
pub(crate) fn folder() -> Option<PathBuf> {
    let path = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    if path.is_dir() {
        return Some(path);
    }
    eprintln!(
        "SKIPPED: no shared data at {}; set GRAVEN_SHARED",
        path.display()
    );
    None
}

/// Decodes a trace of the shared folder.
pub(crate) fn trace(name: &str) -> Option<Trace> {
    let path = folder()?.join("traces").join(format!("{name}.u64.zst"));
    let mut decoder = zstd::Decoder::new(std::fs::File::open(&path).unwrap()).unwrap();
    decoder.window_log_max(27).unwrap();
    let mut bytes = Vec::new();
    std::io::copy(&mut decoder, &mut bytes).unwrap();
    let mut dense: HashMap<u64, u32> = HashMap::new();
    let pages = bytes
        .chunks_exact(8)
        .map(|word| {
            let next = dense.len() as u32;
            *dense
                .entry(u64::from_le_bytes(word.try_into().unwrap()))
                .or_insert(next)
        })
        .collect();
    Some(Trace {
        pages,
        unique: dense.len(),
    })
}

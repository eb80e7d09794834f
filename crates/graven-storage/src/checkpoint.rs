//! Checkpoints: folding committed changes into the file beside running readers and writers.

pub mod changes;

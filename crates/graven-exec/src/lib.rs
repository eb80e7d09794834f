//! Physical operators over batches, expressions, spilling, profile.

//! A social network with the published shape of LDBC SNB: persons and who knows whom.

use std::path::PathBuf;

use crate::error::ImportError;
use crate::progress::ProgressSink;

/// What to generate.
#[derive(Debug, Clone)]
pub struct SocialOptions {
    /// Size: 1 gives 9,892 persons, 10 gives 65,645; any positive number.
    pub scale: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// Folder for `person.csv`, `knows.csv`, `three-hop-params.csv`; made if missing.
    pub out: PathBuf,
    /// Compress the two tables with zstd (`.csv.zst`).
    pub compress: Compression,
}

/// How the generated tables are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Plain text.
    #[default]
    None,
    /// zstd.
    Zstd,
}

/// What was generated.
#[derive(Debug, Clone, Default)]
pub struct SocialReport {
    /// Persons written.
    pub persons: u64,
    /// Friendships written.
    pub knows: u64,
    /// Starts in `three-hop-params.csv`.
    pub starts: u64,
    /// Files written.
    pub files: Vec<PathBuf>,
}

/// Generates a network into `options.out`.
///
/// # Errors
/// `ImportError::Io` when a file cannot be written, `ImportError::Option` for a scale out of range.
pub fn social(
    options: &SocialOptions,
    progress: ProgressSink<'_>,
) -> Result<SocialReport, ImportError> {
    let _ = (options, progress);
    Ok(SocialReport::default())
}

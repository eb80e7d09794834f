//! What a list of checks came to.

/// How many, and which were wrong.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Statements that were tried.
    pub tried: u64,
    /// In words, what was wrong.
    pub wrong: Vec<String>,
}

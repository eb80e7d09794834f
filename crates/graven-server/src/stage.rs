//! How far a server has ended, as its connections see it.

/// How far a server has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stage {
    Runs,
    /// No more messages are read.
    Deaf,
    /// What is not taken at once is not sent any more.
    Cut,
}

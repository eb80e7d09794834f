//! Operators against naive answers.

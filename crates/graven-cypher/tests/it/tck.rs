//! Codes of compile-time errors.

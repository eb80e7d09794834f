//! TCK-like checks of expressions.

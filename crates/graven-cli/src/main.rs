//! The `graven` program: one file per command.

fn main() {}

//! Development commands: `cargo xtask test | tidy`.

fn main() {}

//! Goal: `include/graven.h` is what cbindgen makes of this crate.
//!
//! `GRAVEN_HEADER=write cargo test -p graven-c header` writes it anew.

use std::{env, fs, path::Path};

#[test]
fn the_committed_header_is_the_generated_one() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(own.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = cbindgen::Builder::new().with_config(config);
    let library = fs::read_to_string(own.join("src/lib.rs")).expect("the crate");
    let modules = library
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod "));
    let modules = modules.filter_map(|name| name.strip_suffix(';'));
    for module in modules {
        builder = builder.with_src(own.join(format!("src/{module}.rs")));
    }
    let mut made = Vec::new();
    builder.generate().expect("a header").write(&mut made);
    let made = String::from_utf8(made).expect("UTF-8");
    let path = own.join("include/graven.h");
    if env::var_os("GRAVEN_HEADER").is_some_and(|it| it == "write") {
        fs::write(&path, &made).expect("written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == made,
        "include/graven.h is not what cbindgen makes: run GRAVEN_HEADER=write cargo test -p \
            graven-c header"
    );
}

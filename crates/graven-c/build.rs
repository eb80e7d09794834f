//! Gives the shared library the name that the loader looks for: programs that were linked with
//! one version run with later ones of the same interface.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libgraven.so.0");
}

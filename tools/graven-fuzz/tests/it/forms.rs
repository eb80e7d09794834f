//! Words of the language as names, and what the documents show.

use std::path::Path;
use std::time::Instant;

use graven_fuzz::{Findings, examples, keywords};

use crate::slices::took;

fn nothing_wrong(findings: &Findings, least: u64) {
    assert!(findings.wrong.is_empty(), "{}", findings.wrong.join("\n"));
    assert!(
        findings.tried >= least,
        "only {} were tried",
        findings.tried
    );
}

#[test]
fn every_word_of_the_language_is_a_name_wherever_a_name_may_stand() {
    let start = Instant::now();
    nothing_wrong(&keywords().expect("the machine works"), 3_000);
    took("words as names", start);
}

#[test]
fn what_the_documents_show_is_so() {
    let start = Instant::now();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    nothing_wrong(&examples(&root).expect("the documents can be read"), 40);
    took("examples of the documents", start);
}

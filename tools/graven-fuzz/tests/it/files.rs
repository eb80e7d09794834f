//! Files with valid checksums and crafted content.

use std::time::Instant;

use graven_fuzz::crafted;

use crate::slices::took;

/// A slice of the 100,000 of the long run. Their own panics are counted, and none of the tests
/// beside them.
#[test]
fn crafted_files_do_not_panic() {
    let start = Instant::now();
    let cases = std::env::var("GRAVEN_CRAFTED_CASES").ok();
    let cases = cases.map_or(300, |cases| cases.parse().expect("a number"));
    let seed = std::env::var("GRAVEN_CRAFTED_SEED").ok();
    let seed = seed.map_or(1, |seed| seed.parse().expect("a number"));
    let report = crafted(cases, seed).expect("the machine works");
    println!(
        "{} tried, {} opened, {} sound",
        report.tried, report.opened, report.sound
    );
    assert!(report.panics.is_empty(), "{}", report.panics.join("\n"));
    // It would be worth nothing if no case were reached, or if all were refused.
    assert!(report.opened > report.tried / 4, "{report:?}");
    assert!(report.sound < report.opened / 2, "{report:?}");
    took("crafted files", start);
}

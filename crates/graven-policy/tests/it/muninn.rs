//! Goal: `muninn` lies in the band of Neo4j's real page cache on its recorded pins: between `batch`
//! and `coop`, plus or minus 0.0005, of the hit ratios that the real cache had when it played the
//! traces.

use crate::golden::hits;
use crate::shared;

#[test]
fn band_of_the_real_cache() {
    let all: &[(&str, usize, f64)] = &[
        ("neo4j-snb-mix", 1024, 0.49383),
        ("neo4j-snb-mix", 2040, 0.58093),
        ("neo4j-snb-mix", 4080, 0.72352),
        ("neo4j-snb-mix", 6144, 0.85086),
        ("neo4j-hop3-1thread", 1024, 0.21786),
        ("neo4j-hop3-1thread", 2040, 0.34452),
        ("neo4j-hop3-1thread", 4080, 0.57913),
        ("neo4j-hop3-1thread", 6144, 0.79684),
        ("neo4j-hop3-4threads", 2040, 0.32378),
        ("neo4j-hop3-4threads", 4080, 0.55323),
    ];
    let everything = std::env::var("GRAVEN_GOLDEN").as_deref() == Ok("all");
    let plays = if everything { all } else { &all[..2] };
    let mut loaded = None;
    for &(name, capacity, real) in plays {
        if loaded.as_ref().is_none_or(|(loaded, _)| *loaded != name) {
            let Some(trace) = shared::trace(name) else {
                return;
            };
            loaded = Some((name, trace));
        }
        let Some((_, trace)) = &loaded else { return };
        let ratio =
            |spec: &str| hits(spec, trace, capacity).unwrap() as f64 / trace.pages.len() as f64;
        let (batch, coop) = (ratio("muninn"), ratio("muninn:mode=coop"));
        eprintln!("{name} {capacity}: batch {batch:.5}, real {real:.5}, coop {coop:.5}");
        let (low, high) = (batch.min(coop) - 0.0005, batch.max(coop) + 0.0005);
        assert!(
            low <= real && real <= high,
            "{name} {capacity}: {real} is outside {low}..{high}"
        );
    }
}

//! Goal: policies that must coincide do, on recency-friendly, looping and mixed traces.

use crate::golden::hits;
use crate::shared;

#[test]
fn degenerate_settings_equal_simpler_policies() {
    let pairs = [
        ("count-to-2", "clock"),
        ("count-to-1", "fifo"),
        ("neo4j", "gclock-2bit"),
        ("neo4j-7", "gclock:max=6,init=0,threshold=0"),
        ("count-to-4", "neo4j"),
        ("muninn:mode=coop", "neo4j-rand"),
        ("eviction-queue", "lru"),
        ("slru:segments=1", "lru"),
        ("lruk:k=1", "lru"),
        ("gclock:max=1,init=0,threshold=0", "clock"),
        // Counts that only pins raise say nothing about use, once the pins are gone.
        ("kuzu-gclock", "fifo"),
        ("lru:batch=1", "lru"),
        ("slru:batch=1", "slru4"),
        ("thesis-clockpro:hot=plus,cap=5", "thesis-clockpro-plus"),
        ("history:size=100", "hist-4-7"),
    ];
    for name in ["lirs-multi1", "lirs-gli", "lirs-multi2"] {
        let Some(trace) = shared::trace(name) else {
            return;
        };
        for capacity in [1, 2, 7, 100, trace.unique / 4, trace.unique] {
            for (a, b) in pairs {
                let (a_hits, b_hits) = (hits(a, &trace, capacity), hits(b, &trace, capacity));
                assert_eq!(a_hits, b_hits, "{a} and {b} on {name} with {capacity}");
            }
        }
    }
}

#[test]
fn nothing_beats_belady() {
    let Some(trace) = shared::trace("lirs-multi1") else {
        return;
    };
    for capacity in [1, 26, 260, 1303] {
        let best = hits("min", &trace, capacity).unwrap();
        assert!(hits("min-bypass", &trace, capacity).unwrap() >= best);
        for entry in graven_policy::registry::list()
            .iter()
            .filter(|entry| entry.live)
        {
            let got = hits(entry.name, &trace, capacity).unwrap();
            assert!(
                got <= best,
                "{} has {got} hits, the bound is {best}",
                entry.name
            );
        }
    }
}

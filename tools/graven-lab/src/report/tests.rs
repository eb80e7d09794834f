//! Goal: the page holds every run and every policy, loads nothing from elsewhere, and survives odd
//! names.

use super::*;

fn example() -> Report {
    let mut runs = Vec::new();
    for (p, policy) in ["random", "gclock", "lru<&>"].iter().enumerate() {
        for (c, share) in [0.12, 0.25, 0.5, 1.0].iter().enumerate() {
            for threads in [1usize, 2, 4] {
                for io in ["direct", "buffered"] {
                    let miss = (1.0 - share) * (0.3 - 0.05 * p as f64);
                    runs.push(Measurement {
                        policy: (*policy).to_owned(),
                        cache_bytes: 1 << (20 + c),
                        cache_share: Some(*share),
                        threads,
                        io: io.to_owned(),
                        queries: 160,
                        throughput_qps: 300.0 * threads.min(2) as f64 * (1.0 - 2.0 * miss)
                            + 20.0 * p as f64,
                        p50_ms: 2.5,
                        p99_ms: 7.25,
                        hit_ratio: 1.0 - miss,
                        faults_per_query: 400.0 * miss,
                        device_read_bytes: 160 * 65_536,
                        rss_peak_bytes: 30 << 20,
                        checked: 160,
                        ..Measurement::default()
                    });
                }
            }
        }
    }
    Report {
        version: "0.1.0".into(),
        date: "2026-11-21".into(),
        command: "graven demo".into(),
        question: "MATCH (p:Person {id: $id}) RETURN p".into(),
        machine: Machine {
            processor: "A & B".into(),
            cores: 2,
            ..Machine::default()
        },
        facts: vec![("persons".into(), "65,645".into())],
        settings: vec![("seed".into(), "1".into())],
        touched_bytes: 8 << 20,
        runs,
    }
}

#[test]
fn the_page_is_complete_and_alone() {
    let html = example().html();
    assert_eq!(
        html.matches("<svg viewBox=\"0 0 290").count(),
        12,
        "three figures of four panels"
    );
    assert_eq!(
        html.matches("<polyline").count(),
        36,
        "a line per policy and panel"
    );
    assert!(html.contains("lru&lt;&amp;&gt;") && !html.contains("lru<&>"));
    assert!(html.contains("0 of 11,520"));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "the page must not load {outside}");
    }
}

#[test]
fn nothing_breaks_without_runs() {
    let html = Report {
        runs: Vec::new(),
        ..example()
    }
    .html();
    assert!(html.contains("0 runs") && !html.contains("NaN") && !html.contains("inf"));
}

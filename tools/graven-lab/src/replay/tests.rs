//! Goal: the engine equals the simulator where it must, and threads play every access.

use std::path::Path;

use super::*;

fn stage(spec: &str, accesses: usize, page_bytes: u64) -> Stage {
    let folder = std::env::temp_dir();
    let source = Source::Workload(spec.parse().expect(spec), accesses, 1);
    Stage::new(&source, page_bytes, usize::MAX, &folder).expect("a stage")
}

fn setting(policy: &str) -> Setting {
    Setting {
        policy: policy.into(),
        pools: None,
        cache_pages: 300,
        threads: 1,
        io: IoMode::Buffered,
        evictor: EvictorChoice::Synchronous,
        reserve: Reserve::default(),
        warm_up: 0.25,
        time: None,
        verify: true,
        seed: 1,
    }
}

/// Goal: one thread on the synchronous cache hits exactly when the simulator does, for every live
/// policy; also where pages are longer than a unit, so that the cache calls them by other numbers
/// than the trace.
#[test]
fn the_synchronous_cache_equals_the_simulator() {
    for (workload, page_bytes) in [("mixed:pages=900", 4096), ("mixed:pages=5000", 8192)] {
        let stage = stage(workload, 12_000, page_bytes);
        for policy in crate::live_policies() {
            let run = stage.play(&setting(&policy)).expect("played");
            assert_eq!(run.accesses, 9_000);
            let simulated = run.simulated_hit_ratio.expect("simulated");
            assert!(
                (run.hit_ratio - simulated).abs() < 1e-12,
                "{policy}, pages of {page_bytes}: {} {simulated}",
                run.hit_ratio
            );
        }
    }
}

/// Goal: the default cache with threads plays everything and comes near the simulation.
#[test]
fn threads_play_every_access() {
    let stage = stage("zipf:pages=2000,alpha=0.9", 40_000, 4096);
    let settings: Vec<Setting> = [1, 4]
        .map(|threads| Setting {
            threads,
            evictor: EvictorChoice::Background,
            cache_pages: 600,
            ..setting("lru:protocol=locked")
        })
        .to_vec();
    let runs =
        play_all(&stage, &settings, &mut |_, _, _| ControlFlow::Continue(())).expect("played");
    for run in &runs {
        assert_eq!(run.accesses, 30_000);
        assert!(
            (run.hit_ratio - run.simulated_hit_ratio.expect("simulated")).abs() < 0.2,
            "{run:?}"
        );
    }
    assert!(figure("replay", &runs).svg().contains("threads"));
    let timed = Setting {
        time: Some(Duration::from_millis(50)),
        ..settings[0].clone()
    };
    assert!(stage.play(&timed).expect("played").accesses > 0);
    assert!(
        Stage::new(
            &Source::Workload("loop".parse().expect("known"), 10, 1),
            5000,
            10,
            Path::new("/tmp")
        )
        .is_err()
    );
}

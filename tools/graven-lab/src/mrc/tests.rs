//! Goal: exact curves are exact, and sampled ones state their error.

use std::path::Path;

use super::*;
use crate::workload::Workload;

fn trace(folder: &Path, spec: &str, accesses: usize) -> PathBuf {
    let workload: Workload = spec.parse().expect(spec);
    let pages = workload
        .accesses(3)
        .take(accesses)
        .map(|a| a.page)
        .collect();
    let path = folder.join("t.u64.zst");
    let trace = graven_trace::Trace {
        pages,
        ..graven_trace::Trace::default()
    };
    graven_trace::raw::write(&path, &trace).expect("written");
    path
}

fn curves(trace: PathBuf, policies: &[&str], keep: usize) -> Vec<Curve> {
    let curves = MissRatioCurves {
        trace,
        read: ReadOptions::default(),
        policies: policies.iter().map(|p| (*p).to_owned()).collect(),
        points: 8,
        keep,
        seed: 1,
        threads: 2,
    };
    curves
        .run(&mut |_| ControlFlow::Continue(()))
        .expect("curves")
}

/// Goal: LRU's curve is that of simulating every size, and small sizes of other policies are exact.
#[test]
fn exact_curves_are_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), "zipf:pages=900,alpha=0.8", 30_000);
    let curves = curves(
        path.clone(),
        &["lru", "lru:protocol=locked", "min", "fifo"],
        100_000,
    );
    let dense = graven_trace::dense::map(&graven_trace::read(&path).expect("read").pages);
    for curve in &curves {
        assert_eq!(
            (curve.accesses, curve.unique),
            (30_000, dense.unique as u64)
        );
        for point in &curve.points {
            let spec = Spec::parse(&curve.policy).expect("known");
            let capacity = point.capacity_pages as usize;
            let hits = hits(&spec, &dense.pages, dense.unique, capacity, 1).expect("hits");
            let exact = 1.0 - hits as f64 / 30_000.0;
            assert!(
                (point.miss_ratio - exact).abs() < 1e-12 && point.error == 0.0,
                "{curve:?}"
            );
        }
    }
    assert!(
        curves[2]
            .points
            .iter()
            .zip(&curves[3].points)
            .all(|(min, fifo)| min.miss_ratio <= fifo.miss_ratio)
    );
}

/// Goal: sampled curves lie within a few times their stated error of the exact ones.
#[test]
fn sampled_curves_state_their_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path(), "zipf:pages=60000,alpha=0.7", 400_000);
    let exact = &curves(path.clone(), &["lru"], 1_000)[0];
    let sampled = &curves(path.clone(), &["lru", "slru:segments=1"], 120_000)[1];
    assert!(sampled.points.iter().any(|point| point.sampling_rate < 0.5));
    for (point, truth) in sampled.points.iter().zip(&exact.points) {
        let difference = (point.miss_ratio - truth.miss_ratio).abs();
        assert!(
            difference <= 3.0 * point.error + 0.02,
            "{point:?} {truth:?}"
        );
    }
    let dear = curves(path, &["clock"], 50_000);
    assert!(
        (dear[0].unique as f64 / exact.unique as f64 - 1.0).abs() < 0.05,
        "{}",
        dear[0].unique
    );
    assert!(figure(&dear).svg().contains("miss ratio"));
}

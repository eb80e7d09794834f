//! All scenarios on all cores, and what came of them.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::feature::Scenario;
use crate::run::{Settings, play};

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Scenarios that were played.
    pub scenarios: usize,
    /// Passed and all scenarios by feature.
    pub features: BTreeMap<String, (usize, usize)>,
    /// Feature, scenario and reason of each failure, in the order of the files.
    pub failures: Vec<(String, String, String)>,
}

impl Report {
    /// Scenarios that passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.scenarios - self.failures.len()
    }
}

/// Passed and all per feature, then the line that sums up.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (feature, (passed, all)) in &self.features {
            writeln!(f, "{passed:5} of {all:4}  {feature}")?;
        }
        let share = 100.0 * self.passed() as f64 / self.scenarios.max(1) as f64;
        write!(
            f,
            "TCK: {} of {} scenarios pass ({share:.1} %)",
            self.passed(),
            self.scenarios
        )
    }
}

/// Plays `scenarios`, each in a new folder below `folder`, on as many threads as there are cores.
#[must_use]
pub fn run_all(scenarios: &[Scenario], folder: &Path, settings: &Settings) -> Report {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scenario) = scenarios.get(number) else {
                        return;
                    };
                    let outcome = play_in(scenario, &folder.join(number.to_string()), settings);
                    if let (Err(reason), Ok(mut found)) = (outcome, found.lock()) {
                        found.push((number, reason));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort();
    report(scenarios, found)
}

/// Plays one scenario in a folder of its own; a panic is a failure.
fn play_in(scenario: &Scenario, folder: &Path, settings: &Settings) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| play(scenario, folder, settings)));
    // What a leftover folder costs is disk space until the run ends.
    let _ = std::fs::remove_dir_all(folder);
    outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or_default()))
    })
}

fn report(scenarios: &[Scenario], found: Vec<(usize, String)>) -> Report {
    let mut report = Report {
        scenarios: scenarios.len(),
        ..Report::default()
    };
    for scenario in scenarios {
        let counts = report.features.entry(scenario.feature.clone()).or_default();
        counts.0 += 1;
        counts.1 += 1;
    }
    for (number, reason) in found {
        let scenario = &scenarios[number];
        if let Some(counts) = report.features.get_mut(&scenario.feature) {
            counts.0 -= 1;
        }
        report
            .failures
            .push((scenario.feature.clone(), scenario.name.clone(), reason));
    }
    report
}

/// A folder for the databases of a run, in memory where the system has such a place.
///
/// # Errors
/// The folder cannot be made.
pub fn temporary_folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

/// The folder of the kit: `data/opencypher-tck` in the folder `shared` beside the repository, or in
/// `GRAVEN_SHARED`.
#[must_use]
pub fn kit() -> std::path::PathBuf {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        std::path::PathBuf::from,
    );
    shared.join("data/opencypher-tck")
}

//! What a policy may cost: the time of a fault on this device, and what faults avoided are worth.
//!
//! # How it works
//! A file larger than a cache's usual share is written, and read back page by page at random with
//! direct I/O, one read in flight: that is what a thread waits for when it faults. The sum is that
//! of the thesis: if a share `f` of the accesses fault and a fault takes `t`, all accesses together
//! wait `f * t` each, so a policy that costs an access more than that cannot pay for itself even if
//! it avoided every fault. A policy that lowers the fault ratio by `d` may cost an access up to
//! `d * t` more.
//!
//! # Source
//! The thesis, sections 5.2 and 5.3: 0.1 ms and 10 % give 0.01 ms; 12.5 million faults of 0.1 ms
//! are 1,250 s.

use std::path::Path;
use std::time::Instant;

use graven_io::{AlignedBuffer, IoMode, OpenOptions, open};
use serde::Serialize;

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series};
use crate::measurement::percentile;
use graven_types::rng::SplitMix64;

/// Fault ratios of the table.
const RATIOS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0];
const WRITE_BYTES: usize = 1 << 20;
/// Seconds of a fault that the thesis assumes.
pub const THESIS_FAULT_SECONDS: f64 = 1e-4;

/// Time of a fault, measured or given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FaultTime {
    /// Mean seconds.
    pub mean: f64,
    /// Median seconds.
    pub p50: f64,
    /// Seconds that one in a hundred exceeds.
    pub p99: f64,
    /// Reads measured; 0 where the time was given.
    pub reads: usize,
    /// Whether the reads went past the kernel's cache.
    pub direct: bool,
}

impl FaultTime {
    /// A time that was not measured here.
    #[must_use]
    pub fn given(seconds: f64) -> Self {
        Self {
            mean: seconds,
            p50: seconds,
            p99: seconds,
            reads: 0,
            direct: false,
        }
    }

    /// Measures random reads of `page_bytes` in a new file of `file_bytes` in `folder`, which is
    /// removed afterwards.
    ///
    /// # Errors
    /// The file cannot be written or read.
    pub fn measure(
        folder: &Path,
        file_bytes: u64,
        page_bytes: usize,
        reads: usize,
        seed: u64,
    ) -> Result<Self, LabError> {
        let pages = file_bytes / page_bytes.max(1) as u64;
        if !page_bytes.is_multiple_of(4096) || pages == 0 || reads == 0 {
            let reason = format!(
                "pages of {page_bytes} bytes in a file of {file_bytes}: pages are multiples of 4096"
            );
            return Err(LabError::Setting(reason));
        }
        let directory =
            tempfile::tempdir_in(folder).map_err(LabError::io(folder, "making a file"))?;
        let path = directory.path().join("faults");
        let failed = |e: graven_io::Error| LabError::Setting(format!("measuring faults: {e}"));
        let options = OpenOptions {
            mode: IoMode::Direct,
            create: true,
            ..OpenOptions::default()
        };
        let file = open(&path, &options).map_err(failed)?;
        let mut random = SplitMix64::new(seed);
        let mut block = AlignedBuffer::zeroed(WRITE_BYTES);
        for offset in (0..file_bytes).step_by(WRITE_BYTES) {
            // Nothing that a file system or device could fold together.
            block
                .iter_mut()
                .step_by(64)
                .for_each(|byte| *byte = random.bits() as u8);
            file.write_all_at(&block, offset).map_err(failed)?;
        }
        file.sync_data().map_err(failed)?;
        let mut page = AlignedBuffer::zeroed(page_bytes);
        let mut seconds = Vec::with_capacity(reads);
        for _ in 0..reads {
            let offset = random.below(pages) * page_bytes as u64;
            let begun = Instant::now();
            file.read_exact_at(&mut page, offset).map_err(failed)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        let mean = seconds.iter().sum::<f64>() / reads as f64;
        seconds.sort_by(f64::total_cmp);
        Ok(Self {
            mean,
            p50: percentile(&seconds, 0.5),
            p99: percentile(&seconds, 0.99),
            reads,
            direct: file.mode() == IoMode::Direct,
        })
    }
}

/// What an access may cost at a fault ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// Share of accesses that fault.
    pub fault_ratio: f64,
    /// Seconds that an access waits for faults on average: the most that a policy may cost.
    pub seconds_per_access: f64,
}

/// Two policies compared on a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Saving {
    /// Accesses.
    pub accesses: u64,
    /// Faults that are avoided.
    pub faults_avoided: i64,
    /// Time saved in seconds, one fault after the other.
    pub seconds_saved: f64,
    /// What the better policy may cost an access more before it loses what it saves.
    pub seconds_per_access: f64,
}

/// The calculation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Budget {
    /// Time of a fault.
    pub fault: FaultTime,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// By fault ratio.
    pub allowances: Vec<Allowance>,
    /// Faults avoided, where they were given or simulated.
    pub saving: Option<Saving>,
}

impl Budget {
    /// The allowances at round fault ratios and at `ratio`, if given.
    #[must_use]
    pub fn new(fault: FaultTime, page_bytes: u64, ratio: Option<f64>) -> Self {
        let mut ratios: Vec<f64> = RATIOS.iter().copied().chain(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.dedup();
        let allowance = |fault_ratio: f64| Allowance {
            fault_ratio,
            seconds_per_access: fault_ratio * fault.mean,
        };
        Self {
            fault,
            page_bytes,
            allowances: ratios.into_iter().map(allowance).collect(),
            saving: None,
        }
    }

    /// Adds what faults avoided over so many accesses are worth.
    #[must_use]
    pub fn with_saving(mut self, accesses: u64, faults_avoided: i64) -> Self {
        let seconds_saved = faults_avoided as f64 * self.fault.mean;
        self.saving = Some(Saving {
            accesses,
            faults_avoided,
            seconds_saved,
            seconds_per_access: seconds_saved / accesses.max(1) as f64,
        });
        self
    }

    /// What an access may cost, by fault ratio, here and with the fault time of the thesis.
    #[must_use]
    pub fn figure(&self) -> Figure {
        let line = |name: &str, fault: f64| {
            let points = self
                .allowances
                .iter()
                .map(|a| (a.fault_ratio * 100.0, a.fault_ratio * fault * 1e9));
            Series::new(name, points.collect())
        };
        Figure {
            name: "budget".to_owned(),
            title: "What an access may cost before a policy cannot pay for itself".to_owned(),
            columns: 1,
            panels: vec![Panel {
                x: Axis::log("faults, % of accesses"),
                y: Axis::log("ns per access"),
                series: vec![
                    line("a fault on this device", self.fault.mean),
                    line(
                        "a fault of 0.1 ms, as the thesis assumes",
                        THESIS_FAULT_SECONDS,
                    ),
                ],
                ..Panel::default()
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the sums of the thesis come out.
    #[test]
    fn the_thesis_sums_come_out() {
        let budget = Budget::new(FaultTime::given(THESIS_FAULT_SECONDS), 8192, Some(0.15));
        let at = |ratio: f64| {
            budget
                .allowances
                .iter()
                .find(|a| a.fault_ratio == ratio)
                .expect("there")
        };
        assert!((at(0.1).seconds_per_access - 1e-5).abs() < 1e-12);
        assert!((at(0.15).seconds_per_access - 1.5e-5).abs() < 1e-12);
        let saving = budget
            .with_saving(1_000_000_000, 12_500_000)
            .saving
            .expect("given");
        assert!((saving.seconds_saved - 1_250.0).abs() < 1e-6);
    }

    #[test]
    fn a_fault_is_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let fault = FaultTime::measure(folder.path(), 4 << 20, 8192, 200, 1).expect("measured");
        assert!(fault.mean > 0.0 && fault.p50 <= fault.p99 && fault.reads == 200);
        assert!(FaultTime::measure(folder.path(), 4 << 20, 1000, 10, 1).is_err());
        assert!(
            Budget::new(fault, 8192, None)
                .figure()
                .svg()
                .contains("ns per access")
        );
    }
}

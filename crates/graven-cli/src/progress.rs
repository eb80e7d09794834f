//! Progress on standard error: a bar once the work has taken a second, nothing where it is no
//! terminal.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::interrupt::{self, SignalAction};
use graven_import::{Progress, Unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows the phases of an import or a generator run.
pub(crate) struct ProgressReporter {
    started: Instant,
    phase: String,
    bar: Option<ProgressBar>,
}

impl ProgressReporter {
    /// Nothing shown yet; from now on control-C stops the work in good order.
    pub(crate) fn new() -> Self {
        interrupt::react(SignalAction::Remember);
        ProgressReporter {
            started: Instant::now(),
            phase: String::new(),
            bar: None,
        }
    }

    /// Takes one report of progress.
    pub(crate) fn show(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        if interrupt::asked() {
            return ControlFlow::Break(());
        }
        if self.started.elapsed() < PATIENCE || !std::io::stderr().is_terminal() {
            return ControlFlow::Continue(());
        }
        if self.bar.is_none() || self.phase != progress.phase {
            self.finish();
            progress.phase.clone_into(&mut self.phase);
            self.bar = Some(bar(progress.phase, progress.total, progress.unit));
        }
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total);
            bar.set_position(progress.done);
        }
        ControlFlow::Continue(())
    }

    /// Removes the bar.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A bar with rate and remaining time where the end is known, a counter where it is not.
fn bar(phase: &str, total: u64, unit: Unit) -> ProgressBar {
    let bytes = matches!(unit, Unit::Bytes);
    let template = match (total > 0, bytes) {
        (true, true) => {
            "{msg:24} [{bar:30}] {bytes}/{total_bytes} {binary_bytes_per_sec}, {eta} left"
        }
        (true, false) => "{msg:24} [{bar:30}] {human_pos}/{human_len} {per_sec}, {eta} left",
        (false, true) => "{msg:24} {spinner} {bytes} {binary_bytes_per_sec}",
        (false, false) => "{msg:24} {spinner} {human_pos} {per_sec}",
    };
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    bar.with_style(style).with_message(phase.to_owned())
}

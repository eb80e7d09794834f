//! `graven demo`: the whole of it in one command, from nothing to a report.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use graven_lab::LabError;
use graven_lab::demo::{self, Demo as Work, Step};
use indicatif::{ProgressBar, ProgressStyle};

use crate::command::bench::three_hop::{header, line};
use crate::failure::Failure;
use crate::policy_list;
use crate::progress::ProgressReporter;

/// Make a social network, import it, ask the three-hop question in small caches, write a report.
#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Folder for tables, database and report [default: a new one among the temporary files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Size of the network; 1 is 9,892 persons, 10 is 65,645
    #[arg(long, default_value_t = 15.0)]
    scale: f64,
    /// Seed of the network
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Policies to compare, in the form of `bench three-hop`; `all` is every policy
    #[arg(long, default_value = demo::POLICIES, value_parser = policy_list::checked)]
    policy: String,
    /// Thread counts [default: 1, 2, 4 and so on, up to twice the processor's cores, 8 at most]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// About how many seconds to measure in all
    #[arg(long, default_value_t = 32)]
    seconds: u64,
}

impl Demo {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (folder, is_new) = self.folder()?;
        let threads = if self.threads.is_empty() {
            default_threads()
        } else {
            self.threads.iter().map(|t| usize::from(*t)).collect()
        };
        let work = Work {
            folder: folder.clone(),
            scale: self.scale,
            seed: self.seed,
            policies: policy_list::names(&self.policy),
            command: format!(
                "graven demo --scale {} --seed {} --seconds {} --policy '{}' --threads {}",
                self.scale,
                self.seed,
                self.seconds,
                self.policy,
                threads
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            threads,
            time: Duration::from_secs(self.seconds),
        };
        eprintln!("working in {}", folder.display());
        let begun = Instant::now();
        let mut phases = ProgressReporter::new();
        let bar = ProgressBar::no_length();
        bar.set_style(style());
        let outcome = work.run(&mut |step| match step {
            Step::Data(progress) => drop(phases.show(progress)),
            Step::Begins(what) => {
                phases.finish();
                eprintln!("{what}");
            }
            Step::Run(done, all, run) => {
                bar.set_length(all as u64);
                bar.set_position(done as u64);
                bar.set_message(format!("{} {} threads", run.policy, run.threads));
            }
            _ => {}
        });
        phases.finish();
        bar.finish_and_clear();
        let outcome = outcome.map_err(|error| {
            clean_up(&folder, is_new);
            Failure::with_remedy(&error)
        })?;
        let mut out = std::io::stdout().lock();
        for (index, run) in outcome.report.runs.iter().enumerate() {
            if index == 0 {
                header(&mut out, run)?;
            }
            line(&mut out, run)?;
        }
        let wrong: u64 = outcome.report.runs.iter().map(|r| r.wrong).sum();
        let checked: u64 = outcome.report.runs.iter().map(|r| r.checked).sum();
        writeln!(
            out,
            "\n{wrong} of {checked} answers wrong; {:.0} s in all\n\n  report    {}\n  runs      \
                {}\n  database  {}\n",
            begun.elapsed().as_secs_f64(),
            outcome.html.display(),
            outcome.json.display(),
            outcome.database.display()
        )?;
        writeln!(out, "Next: graven shell {}", outcome.database.display())?;
        if wrong > 0 {
            return Err(Failure::failed(format!("{wrong} answers are wrong")));
        }
        Ok(())
    }

    /// The folder to work in, and whether it was made for this demo; it must not hold a demo
    /// already.
    fn folder(&self) -> Result<(PathBuf, bool), Failure> {
        let cannot = |path: &Path, source: std::io::Error| {
            Failure::with_remedy(&LabError::Io {
                path: path.to_path_buf(),
                action: "making the folder",
                source,
            })
        };
        if let Some(dir) = &self.dir {
            if MADE.iter().any(|made| dir.join(made).exists()) {
                return Err(Failure::failed(format!(
                    "{} holds a demo already; give another --dir or remove it",
                    dir.display()
                )));
            }
            let is_new = !dir.exists();
            std::fs::create_dir_all(dir).map_err(|e| cannot(dir, e))?;
            return Ok((dir.clone(), is_new));
        }
        let base = std::env::temp_dir();
        (0..)
            .map(|n| base.join(format!("graven-demo-{}-{n}", std::process::id())))
            .find_map(|path| match std::fs::create_dir(&path) {
                Ok(()) => Some(Ok((path, true))),
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => None,
                Err(e) => Some(Err(cannot(&path, e))),
            })
            .unwrap_or_else(|| Err(Failure::failed("no free name among the temporary files")))
    }
}

/// What a demo leaves in its folder before it has a report.
const MADE: [&str; 2] = ["social.graven", "tables"];

/// Removes what a demo that failed has made.
fn clean_up(folder: &Path, is_new: bool) {
    // Whatever cannot be removed stays; the error that is told is the first one.
    if is_new {
        let _ = std::fs::remove_dir_all(folder);
        return;
    }
    for made in MADE {
        let path = folder.join(made);
        let _ = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
    }
}

fn default_threads() -> Vec<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = (2 * cores).clamp(2, 8);
    std::iter::successors(Some(1), |t| Some(t * 2))
        .take_while(|t| *t <= most)
        .collect()
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{msg:32} [{bar:30}] run {pos} of {len}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

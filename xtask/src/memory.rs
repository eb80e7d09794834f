//! `cargo xtask memory`: no statement, however built, takes more memory than the budget and a fixed
//! base, or ends the process.
//!
//! # How it works
//! Generated statements ([`generate`]) run in `graven shell`, some in one process after the other,
//! under a limit of address space. Each gives rows or an error; the process must live to the last
//! of them. The kernel says at its end how much memory was resident at most; how much of it were
//! files is looked up while it runs ([`PROGRAM_KIB`]). Where a process took too much or died, its
//! statements run again, each prefix ending one statement later, until the one is found. Afterwards
//! the database opens with the same memory, and `graven check` finds it sound. Each process has a
//! seed of its own, made of the seed and its number, so that `--process N` runs one of them again,
//! and prints its statements with `--show`.
//!
//! # Concurrency
//! Two processes run at a time, each in a folder of its own.
//!
//! # Costs
//! 2,000 statements take 8 to 12 minutes on two cores, each of them at most [`Weight::timeout`].
//! With `--light` (shorter data, less time for each) they take 2 to 4 minutes, also with the
//! program that the tests have built (`--program target/debug/graven`): continuous integration runs
//! these, with one seed.

mod calls;
mod generate;

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::graphs::{released_program, target};
use calls::{Calls, calls};
use generate::Generator;

/// Memory of the process beside its budget, in KiB.
const BASE_KIB: u64 = 40 << 10;

/// About what is resident of the file of a released program, in KiB. Of one with debug assertions
/// it is more, the more statements it has run: what is beyond this is no memory of theirs.
const PROGRAM_KIB: u64 = 16 << 10;

/// Address space of a process, in KiB: an allocation beyond it fails, which ends a process that
/// does not ask first.
const SPACE_KIB: u64 = 3 << 20;

/// Budgets in MiB, one after the other.
const BUDGETS: [u64; 3] = [1, 16, 64];

/// In which form results are printed, one after the other for each budget.
const FORMATS: [&str; 3] = ["csv", "json", "table"];

/// Processes at a time.
const THREADS: usize = 2;

/// Statements of one run.
const STATEMENTS: usize = 2000;

struct Options {
    statements: usize,
    seed: u64,
    program: Option<PathBuf>,
    light: bool,
    process: Option<usize>,
    /// The statements are printed and not run.
    show: bool,
}

/// How much is asked of a process.
struct Weight {
    /// Statements in it.
    together: usize,
    /// How long one of them may run.
    timeout: &'static str,
}

impl Options {
    fn weight(&self) -> Weight {
        match self.light {
            true => Weight {
                together: 40,
                timeout: "300ms",
            },
            false => Weight {
                together: 20,
                timeout: "2s",
            },
        }
    }
}

/// Days since 1970: one seed a day.
fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs() / 86_400
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        statements: STATEMENTS,
        seed: today(),
        program: None,
        light: false,
        process: None,
        show: false,
    };
    let mut args = args.iter();
    while let Some(name) = args.next() {
        match name.as_str() {
            "--light" => options.light = true,
            "--show" => options.show = true,
            _ => {}
        }
        if matches!(name.as_str(), "--light" | "--show") {
            continue;
        }
        let value = args.next().ok_or(format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|e| format!("{value}: {e}"));
        let count = || number().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        match name.as_str() {
            "--statements" => options.statements = count()?,
            "--seed" if value == "day" => options.seed = today(),
            "--seed" => options.seed = number()?,
            "--program" => options.program = Some(PathBuf::from(value)),
            "--process" => options.process = Some(count()?),
            _ => {
                let known =
                    "--statements N, --seed S, --program FILE, --process N, --light, --show";
                return Err(format!("the options are {known}"));
            }
        }
    }
    Ok(options)
}

/// How a process ended.
struct Ended {
    peak_kib: u64,
    /// Statements that gave rows or an error of their own.
    answered: usize,
    refused: usize,
    status: String,
    fine: bool,
}

/// What came of all processes.
#[derive(Default)]
struct Outcome {
    peaks: [u64; BUDGETS.len()],
    refused: usize,
    processes: usize,
    failures: Vec<String>,
}

/// Runs generated statements.
///
/// # Errors
/// A wrong option; a process that took too much memory or died, with the statement that made it; a
/// database that does not open.
pub(crate) fn memory(args: &[String]) -> Result<(), String> {
    let options = options(args)?;
    let program = match &options.program {
        Some(program) => fs::canonicalize(program)
            .map_err(|e| format!("{}: {e}; build it first", program.display()))?,
        None => released_program()?,
    };
    let folder = target().join("memory");
    let _ = fs::remove_dir_all(&folder);
    let places = (0..THREADS).map(|thread| folder.join(thread.to_string()));
    let places: Vec<PathBuf> = places.collect();
    for place in &places {
        fs::create_dir_all(place).map_err(|e| format!("{}: {e}", place.display()))?;
        files(place)?;
    }
    let known = calls(&program, &places[0])?;
    println!("seed {}, {} statements", options.seed, options.statements);
    let begun = Instant::now();
    let processes = options.statements.div_ceil(options.weight().together);
    let numbers = match options.process {
        Some(number) => number..number + 1,
        None => 0..processes,
    };
    let next = AtomicUsize::new(numbers.start);
    let outcome = Mutex::new(Outcome::default());
    let work = |place: &Path| -> Result<(), String> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return Ok(());
            }
            process(number, &options, &known, (&program, place), &outcome)?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = places
            .iter()
            .map(|place| scope.spawn(|| work(place)))
            .collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err("it panicked".to_owned())));
        ended.collect::<Result<Vec<()>, String>>()
    })?;
    let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (budget, peak) in BUDGETS.iter().zip(outcome.peaks) {
        println!("{budget:3} MiB: peak {} MiB", peak / 1024);
    }
    println!(
        "{} statements in {} processes, {} refused, {} s",
        outcome.processes * options.weight().together,
        outcome.processes,
        outcome.refused,
        begun.elapsed().as_secs()
    );
    match outcome.failures.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} processes failed with seed {}:\n{}",
            outcome.failures.len(),
            options.seed,
            outcome.failures.join("\n")
        )),
    }
}

/// Runs the statements of one process.
fn process(
    number: usize,
    options: &Options,
    known: &Calls,
    (program, folder): (&Path, &Path),
    outcome: &Mutex<Outcome>,
) -> Result<(), String> {
    let at = number % BUDGETS.len();
    let (budget, weight) = (BUDGETS[at], options.weight());
    let of_process = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The functions of a process follow those of the one before; another day begins elsewhere.
    let day = usize::try_from(options.seed % 1000).unwrap_or(0);
    let first = number * weight.together / 5 + day * 37;
    let seed = options.seed ^ of_process;
    let mut generator = Generator::new(seed, options.light, known, first);
    let statements = (0..weight.together).map(|_| generator.statement());
    let statements: Vec<String> = statements.collect();
    if options.show {
        statements.iter().for_each(|it| println!("{it};"));
        return Ok(());
    }
    let place = Place {
        program,
        folder,
        budget,
        format: FORMATS[number / BUDGETS.len() % FORMATS.len()],
        timeout: weight.timeout,
    };
    let db = folder.join(format!("{number}.graven"));
    let ended = place.run(&db, &statements)?;
    let failure = match ended.fine {
        false => Some(place.culprit(number, &statements, &ended)?),
        true => place
            .reopens(&db)
            .err()
            .map(|why| format!("{budget} MiB, process {number}: {why}")),
    };
    if failure.is_none() {
        remove(&db);
    }
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.peaks[at] = outcome.peaks[at].max(ended.peak_kib);
    outcome.refused += ended.refused;
    outcome.processes += 1;
    outcome.failures.extend(failure);
    Ok(())
}

fn remove(db: &Path) {
    let name = db.to_string_lossy();
    for suffix in ["", "-wal", "-tmp"] {
        let _ = fs::remove_file(format!("{name}{suffix}"));
    }
}

/// Where and with what statements run.
struct Place<'a> {
    program: &'a Path,
    folder: &'a Path,
    budget: u64,
    format: &'a str,
    timeout: &'a str,
}

impl Place<'_> {
    /// Whether a process took no more than it may.
    fn allows(&self, peak: &Peak) -> bool {
        let debug = self
            .program
            .parent()
            .is_some_and(|folder| folder.ends_with("debug"));
        let of_program = match debug {
            true => peak.file_kib.saturating_sub(PROGRAM_KIB),
            false => 0,
        };
        peak.kib <= (self.budget << 10) + BASE_KIB + of_program
    }

    /// The program under a limit of address space.
    fn limited(&self, command: &str, db: &Path) -> Command {
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -v \"$0\" && exec \"$@\""])
            .arg(SPACE_KIB.to_string())
            .arg(self.program)
            .arg(command)
            .arg(db)
            .arg("--memory")
            .arg(format!("{}MiB", self.budget))
            .current_dir(self.folder);
        limited
    }

    fn run(&self, db: &Path, statements: &[String]) -> Result<Ended, String> {
        let named = |e: std::io::Error| format!("{}: {e}", self.program.display());
        let errors = self.folder.join("errors.txt");
        let mut command = self.limited("shell", db);
        command
            .args(["--timeout", self.timeout, "--format", self.format])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&errors).map_err(named)?);
        let mut child = command.spawn().map_err(named)?;
        if let Some(mut input) = child.stdin.take() {
            for statement in statements {
                // A process that has died reads nothing: that is seen below.
                let _ = writeln!(input, "{statement};");
            }
            // In JSON errors are answers.
            let _ = writeln!(input, ":format csv\nRETURN no_such_variable_at_the_end;");
        }
        let (exit, peak) = wait_with_peak(&child)?;
        let told = fs::read(&errors).map_err(named)?;
        let told = String::from_utf8_lossy(&told);
        let ended = told.contains("no_such_variable_at_the_end");
        let panicked = told.contains("panicked");
        let fits = self.allows(&peak);
        Ok(Ended {
            peak_kib: peak.kib,
            answered: statements.len(),
            refused: told.matches("memory budget is spent").count()
                + told.matches("memory limit of").count(),
            fine: ended && fits && !panicked,
            status: match (ended, panicked) {
                (_, true) => "it panicked".to_owned(),
                (false, _) => format!("it died ({exit}): {}", told.lines().last().unwrap_or("")),
                _ => peak.to_string(),
            },
        })
    }

    /// Which of the statements made the process fail.
    fn culprit(&self, number: usize, all: &[String], ended: &Ended) -> Result<String, String> {
        let mut found = format!("all {} of them together", ended.answered);
        let mut status = ended.status.clone();
        for upto in 1..=all.len() {
            let db = self.folder.join("again.graven");
            remove(&db);
            self.remove_exports()?;
            let again = self.run(&db, &all[..upto])?;
            remove(&db);
            if !again.fine {
                let statement: String = all[upto - 1].chars().take(600).collect();
                found = format!("`{statement}`");
                status = again.status;
                break;
            }
        }
        let budget = self.budget;
        Ok(format!(
            "{budget} MiB, process {number}: {status} by {found}"
        ))
    }

    /// Removes the folders that `EXPORT DATABASE` has made: it makes none anew.
    fn remove_exports(&self) -> Result<(), String> {
        let named = |e: std::io::Error| format!("{}: {e}", self.folder.display());
        for entry in fs::read_dir(self.folder).map_err(named)? {
            let path = entry.map_err(named)?.path();
            if path.is_dir() {
                fs::remove_dir_all(path).map_err(named)?;
            }
        }
        Ok(())
    }

    /// What was written under a budget opens under it.
    fn reopens(&self, db: &Path) -> Result<(), String> {
        for command in ["info", "check"] {
            let mut opened = self.limited(command, db);
            let child = opened.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
            let mut child = child.map_err(|e| e.to_string())?;
            let mut told = String::new();
            if let Some(mut pipe) = child.stderr.take() {
                std::io::Read::read_to_string(&mut pipe, &mut told).map_err(|e| e.to_string())?;
            }
            let (exit, peak) = wait_with_peak(&child)?;
            if exit != 0 {
                return Err(format!("`{command}` afterwards: {exit}, {told}"));
            }
            if !self.allows(&peak) {
                return Err(format!("`{command}` afterwards: {peak}"));
            }
        }
        Ok(())
    }
}

/// Makes what `LOAD CSV` reads, piece by piece: the kernel counts what this process has held at
/// most as the peak of its children.
fn files(folder: &Path) -> Result<(), String> {
    let piece = |text: &str| text.repeat((64 << 10) / text.len());
    let put = |name: &str, begin: &str, text: &str, pieces: usize| -> std::io::Result<()> {
        let mut file = fs::File::create(folder.join(name))?;
        file.write_all(begin.as_bytes())?;
        (0..pieces).try_for_each(|_| file.write_all(piece(text).as_bytes()))
    };
    let packed = || -> std::io::Result<()> {
        let file = fs::File::create(folder.join("bomb.csv.zst"))?;
        let mut packed = zstd::Encoder::new(file, 1)?;
        (0..8192).try_for_each(|_| packed.write_all(piece("0").as_bytes()))?;
        packed.finish().map(drop)
    };
    let keys = || -> std::io::Result<()> {
        let mut file = std::io::BufWriter::new(fs::File::create(folder.join("keys.json"))?);
        file.write_all(b"{\"first\": 0")?;
        (0..100_000).try_for_each(|key| write!(file, ", \"k{key}\": {key}"))?;
        file.write_all(b"}\n")
    };
    put("long.csv", "", "abcdefgh", 256)
        .and_then(|()| put("fields.csv", "", "1,", 32))
        .and_then(|()| put("records.csv", "", "alpha,2,3\n", 30))
        .and_then(|()| put("open.csv", "a,\"", "text\n", 320))
        .and_then(|()| packed())
        .and_then(|()| keys())
        .map_err(|e| format!("{}: {e}", folder.display()))
}

/// What was resident of a process at most.
struct Peak {
    kib: u64,
    /// Of files, the program's above all, as far as it was seen.
    file_kib: u64,
}

impl fmt::Display for Peak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, file) = (self.kib / 1024, self.file_kib / 1024);
        write!(f, "peak {all} MiB, {file} of them files")
    }
}

/// What is resident of files of a process, in KiB; nothing once it has ended.
fn file_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssFile:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Waits for the end of `child`: its exit code, or less than 0 for a signal, and its peak of
/// resident memory.
fn wait_with_peak(child: &Child) -> Result<(i32, Peak), String> {
    const LOOK: Duration = Duration::from_millis(5);
    let pid = i32::try_from(child.id()).map_err(|e| e.to_string())?;
    let mut status = 0;
    // SAFETY: `rusage` is plain old data, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut files = 0;
    let waited = loop {
        files = files.max(file_kib(pid));
        // SAFETY: both pointers are to live locals; the child has not been waited for before.
        match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
            0 => std::thread::sleep(LOOK),
            waited => break waited,
        }
    };
    if waited != pid {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let exit = match libc::WIFEXITED(status) {
        true => libc::WEXITSTATUS(status),
        false => -libc::WTERMSIG(status),
    };
    let peak = Peak {
        kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        file_kib: files,
    };
    Ok((exit, peak))
}

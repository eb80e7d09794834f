//! `cargo xtask memory`: no statement, however built, takes more memory than the budget and a fixed base, or ends the process.
//!
//! # How it works
//! Generated statements ([`generate`]) run in `graven shell`, some in one process after the other, under a limit of address space.
//! Each gives rows or an error; the process must live to the last of them. The kernel says at its end how much memory was resident at
//! most. Where a process took too much or died, its statements run again, each prefix ending one statement later, until the
//! one is found. Afterwards the database opens with the same memory, and `graven check` finds it sound.
//!
//! # Costs
//! [`STATEMENTS`] of them, unless told otherwise, take 10 to 16 minutes on two cores; a statement ends after [`TIMEOUT`].

mod generate;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::graphs::{released_program, target};
use generate::Generator;

/// Memory of the process beside its budget, in KiB.
const BASE_KIB: u64 = 40 << 10;

/// Address space of a process, in KiB: an allocation beyond it fails, which ends a process that does not ask first.
const SPACE_KIB: u64 = 3 << 20;

/// Budgets in MiB, one after the other.
const BUDGETS: [u64; 3] = [1, 16, 64];

/// Statements in one process.
const TOGETHER: usize = 20;

/// How long a statement may run.
const TIMEOUT: &str = "2s";

/// Statements of one run.
const STATEMENTS: usize = 2000;

struct Options {
    statements: usize,
    seed: u64,
    program: Option<PathBuf>,
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
    };
    for option in args.chunks(2) {
        let [name, value] = option else {
            return Err(format!("{} needs a value", option[0]));
        };
        let number = || value.parse::<u64>().map_err(|e| format!("{value}: {e}"));
        match name.as_str() {
            "--statements" => options.statements = usize::try_from(number()?).unwrap_or(usize::MAX),
            "--seed" => options.seed = number()?,
            "--program" => options.program = Some(PathBuf::from(value)),
            _ => return Err("the options are --statements N, --seed S, --program FILE".to_owned()),
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

/// Runs generated statements.
///
/// # Errors
/// A wrong option; a process that took too much memory or died, with the statement that made it; a database that does not open.
pub(crate) fn memory(args: &[String]) -> Result<(), String> {
    let options = options(args)?;
    let program = options.program.map_or_else(released_program, Ok)?;
    let folder = target().join("memory");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    files(&folder)?;
    println!("seed {}, {} statements", options.seed, options.statements);
    let begun = Instant::now();
    let mut generator = Generator::new(options.seed);
    let (mut done, mut refused, mut failures) = (0, 0, Vec::new());
    let mut peaks = [0; BUDGETS.len()];
    for (number, at) in (0..BUDGETS.len()).cycle().enumerate() {
        if done >= options.statements {
            break;
        }
        let budget = BUDGETS[at];
        let some = TOGETHER.min(options.statements - done);
        let statements: Vec<String> = (0..some).map(|_| generator.statement()).collect();
        let place = Place {
            program: &program,
            folder: &folder,
            budget,
        };
        let db = folder.join(format!("{number}.graven"));
        let ended = place.run(&db, &statements)?;
        peaks[at] = peaks[at].max(ended.peak_kib);
        refused += ended.refused;
        if !ended.fine {
            failures.push(place.culprit(number, &statements, &ended)?);
        } else if let Err(why) = place.reopens(&db) {
            failures.push(format!("{budget} MiB, process {number}: {why}"));
        }
        if failures.is_empty() {
            remove(&db);
        }
        done += some;
    }
    for (budget, peak) in BUDGETS.iter().zip(peaks) {
        println!("{budget:3} MiB: peak {} MiB", peak / 1024);
    }
    println!(
        "{done} statements, {refused} refused, {} s",
        begun.elapsed().as_secs()
    );
    match failures.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} processes failed with seed {}:\n{}",
            failures.len(),
            options.seed,
            failures.join("\n")
        )),
    }
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
}

impl Place<'_> {
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
            .args(["--timeout", TIMEOUT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&errors).map_err(named)?);
        let mut child = command.spawn().map_err(named)?;
        if let Some(mut input) = child.stdin.take() {
            for statement in statements {
                // A process that has died reads nothing: that is seen below.
                let _ = writeln!(input, "{statement};");
            }
            let _ = writeln!(input, "RETURN no_such_variable_at_the_end;");
        }
        let (exit, peak_kib) = wait_with_peak(&child)?;
        let told = fs::read(&errors).map_err(named)?;
        let told = String::from_utf8_lossy(&told);
        let ended = told.contains("no_such_variable_at_the_end");
        let panicked = told.contains("panicked");
        let fits = peak_kib <= (self.budget << 10) + BASE_KIB;
        Ok(Ended {
            peak_kib,
            answered: statements.len(),
            refused: told.matches("memory budget is spent").count()
                + told.matches("memory limit of").count(),
            fine: ended && fits && !panicked,
            status: match (ended, panicked) {
                (_, true) => "it panicked".to_owned(),
                (false, _) => format!("it died ({exit}): {}", told.lines().last().unwrap_or("")),
                _ => format!("peak {} MiB", peak_kib / 1024),
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
            let (exit, peak_kib) = wait_with_peak(&child)?;
            if exit != 0 {
                return Err(format!("`{command}` afterwards: {exit}, {told}"));
            }
            if peak_kib > (self.budget << 10) + BASE_KIB {
                return Err(format!("`{command}` afterwards: {} MiB", peak_kib / 1024));
            }
        }
        Ok(())
    }
}

/// Makes what `LOAD CSV` reads, piece by piece: the kernel counts what this process has held at most as the peak of its children.
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
    put("long.csv", "", "abcdefgh", 256)
        .and_then(|()| put("fields.csv", "", "1,", 32))
        .and_then(|()| put("records.csv", "", "alpha,2,3\n", 30))
        .and_then(|()| put("open.csv", "a,\"", "text\n", 320))
        .and_then(|()| packed())
        .map_err(|e| format!("{}: {e}", folder.display()))
}

/// Waits for the end of `child`: its exit code, or less than 0 for a signal, and its peak of resident memory in KiB.
fn wait_with_peak(child: &Child) -> Result<(i32, u64), String> {
    let pid = i32::try_from(child.id()).map_err(|e| e.to_string())?;
    let mut status = 0;
    // SAFETY: `rusage` is plain old data, for which all zeros is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals; the child has not been waited for before.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    if waited != pid {
        return Err(std::io::Error::last_os_error().to_string());
    }
    let exit = match libc::WIFEXITED(status) {
        true => libc::WEXITSTATUS(status),
        false => -libc::WTERMSIG(status),
    };
    Ok((exit, u64::try_from(usage.ru_maxrss).unwrap_or(0)))
}

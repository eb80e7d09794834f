//! Whether the planner chooses well: what its plans do, beside what other plans for the same
//! statement do.
//!
//! # How it works
//! A seed makes a schema, a handful of statements, and a life of the data: labels are filled batch
//! by batch, grow, shrink, and checkpoints come between ([`workload`]). After each of these steps
//! some of the statements are profiled: with the plan that the library keeps for the text, with one
//! that it makes now, and with plans that chance makes (`plan/forced.rs` of `graven-cypher`). A
//! plan does as much [`work`] as rows go into and come out of its scans, seeks, expansions and
//! joins: that is the same on every machine. It is bad where another plan does less than half, but
//! for a few rows. All plans must give the same rows.
//!
//! # Costs
//! Some milliseconds a plan, in a build without optimisation.

mod statement;
mod work;
mod workload;

use std::time::Duration;

use graven::Connection;

use crate::library::Library;
use crate::random::Random;
use crate::seams::{ARE_THERE, Forced, force};
use crate::seeds::{Job, each};
use statement::Statement;
use workload::Workload;

/// So many rows more than twice as many as in the best plan are no fault: below that the planner
/// makes no hash table, and all takes some ten microseconds.
const ROWS_FREE: u64 = 1000;

/// Plans by chance for each statement.
const WALKS: u64 = 16;

/// Statements of a seed, and how many of them are asked after each step.
const STATEMENTS: usize = 8;
const ASKED: usize = 4;

/// Steps in the life of the data.
const STEPS: usize = 6;

/// Errors of statements that are left out.
const GIVEN_UP: [&str; 2] = ["Statement.TimedOut", "ConstraintValidationFailed.Duplicate"];

/// A plan that takes longer is not the best one.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a comparison of plans came to.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// Statements that were asked of some state of the data.
    pub asked: u64,
    /// Plans that ran.
    pub ran: u64,
    /// Statements for which chance found a plan that does less than the one chosen.
    pub beaten: u64,
    /// Statements for which chance found a plan that does more than twice as much.
    pub beats: u64,
    /// In words, plans that do too much, and plans that give other rows.
    pub bad: Vec<String>,
}

/// A plan that ran.
struct Ran {
    work: u64,
    rows: Vec<String>,
    plan: String,
}

/// Compares plans for as many seeds as asked for.
///
/// # Errors
/// The machine's, and a build without the seam.
pub fn plans(job: &Job, seeds: u64) -> Result<Plans, String> {
    if !ARE_THERE {
        return Err("built without the feature `mutants`: run `cargo xtask fuzz`".to_owned());
    }
    let reports = each(job, seeds, |seed, report: &mut Plans| {
        let before = report.bad.len();
        let done = of_seed(seed, report);
        force(None);
        done?;
        Ok(report.bad.len() - before)
    })?;
    let mut all = Plans::default();
    for report in reports {
        all.asked += report.asked;
        all.ran += report.ran;
        all.beaten += report.beaten;
        all.beats += report.beats;
        all.bad.extend(report.bad);
    }
    Ok(all)
}

fn of_seed(seed: u64, report: &mut Plans) -> Result<(), String> {
    let mut random = Random::new(seed.wrapping_mul(0x9e6c_63d0_676a_9a99));
    let mut workload = Workload::random(&mut random);
    let library = Library::empty()?;
    for text in workload.schema() {
        workload.run(&library, text)?;
    }
    let connection = library.connection().clone().with_timeout(Some(PATIENCE));
    let mut statements = Vec::new();
    for _ in 0..STATEMENTS {
        statements.push(Statement::random(&mut random, &workload));
    }
    for step in 0..STEPS {
        workload.step(&mut random, &library)?;
        for _ in 0..ASKED {
            let statement = random.pick(&statements);
            let place = format!("seed {seed}, step {step}");
            report.asked += 1;
            if let Some(bad) = judge(&connection, statement, step, report)? {
                let history = workload.history().join(";\n");
                report.bad.push(format!("{place}\n{history};\n{bad}"));
            }
        }
    }
    Ok(())
}

/// What is wrong with the plans of a statement, if anything is.
fn judge(
    connection: &Connection,
    statement: &Statement,
    step: usize,
    report: &mut Plans,
) -> Result<Option<String>, String> {
    let text = &statement.text;
    let kept = run(connection, statement, "", Forced::Chosen)?;
    let Some(kept) = kept else {
        return Ok(None);
    };
    let now = run(
        connection,
        statement,
        &format!("/* {step} */ "),
        Forced::Chosen,
    )?;
    let mut best: Option<Ran> = None;
    let mut most = 0;
    report.ran += 1;
    let walks = (0..WALKS).map(|seed| (format!("/* {step}, {seed} */ "), Forced::Walk(seed)));
    let walks = walks.map(|(label, forced)| run(connection, statement, &label, forced));
    for ran in std::iter::once(Ok(now)).chain(walks) {
        let Some(ran) = ran? else { continue };
        report.ran += 1;
        if ran.rows != kept.rows {
            let (plan, other) = (&kept.plan, &ran.plan);
            return Ok(Some(format!(
                "{text}\nwith {:?} gives {:?}\n{plan}\nand {:?}\n{other}",
                statement.params, kept.rows, ran.rows
            )));
        }
        most = most.max(ran.work);
        if best.as_ref().is_none_or(|best| ran.work < best.work) {
            best = Some(ran);
        }
    }
    let Some(best) = best else { return Ok(None) };
    report.beaten += u64::from(best.work < kept.work);
    report.beats += u64::from(most > 2 * kept.work);
    if kept.work <= 2 * best.work + ROWS_FREE {
        return Ok(None);
    }
    Ok(Some(format!(
        "{text}\nwith {:?} does {}\n{}\nwhere {} would do\n{}",
        statement.params, kept.work, kept.plan, best.work, best.plan
    )))
}

/// Runs a statement with a plan made so; none where that takes too long, or makes a second node
/// with a key. What it changes is undone.
fn run(
    connection: &Connection,
    statement: &Statement,
    label: &str,
    forced: Forced,
) -> Result<Option<Ran>, String> {
    let text = format!("PROFILE {label}{}", statement.text);
    force(Some(forced));
    let mut transaction = connection.begin().map_err(|e| e.to_string())?;
    let done = ran(transaction.query(&text, &statement.params));
    transaction.rollback();
    force(None);
    match done {
        Ok(ran) => Ok(Some(ran)),
        Err(error) if GIVEN_UP.contains(&error.code()) => Ok(None),
        Err(error) => Err(format!("{text}: {}: {}", error.code(), error.render())),
    }
}

fn ran(result: Result<graven::QueryResult, graven::Error>) -> Result<Ran, graven::Error> {
    let mut result = result?;
    let mut rows = Vec::new();
    while let Some(row) = result.next_row()? {
        rows.push(format!("{:?}", row.values()));
    }
    rows.sort_unstable();
    let steps = result.steps().expect("a profiled statement has steps");
    Ok(Ran {
        work: work::of(&steps),
        rows,
        plan: result.plan().unwrap_or_default(),
    })
}

//! `graven query`: one statement, or the statements of a file, against a database.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use graven::{Counters, Params, QueryResult, Summary, Value, statement};

use crate::argument;
use crate::failure::Failure;
use crate::format::Format;
use crate::interrupt::{self, SignalAction};
use crate::open::Open;
use crate::session::{Answer, Promised, Session};

/// Run a statement.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  graven query social.graven 'MATCH (p:Person) RETURN count(p)'
  graven query social.graven 'MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f) RETURN count(DISTINCT \
  f)' \\
      --param id=933 --memory 16MiB
  graven query social.graven --file report.cypher --format json

  graven query social.graven 'CREATE (:Person {id: 1, name: \"Ada\"})'

A database that does not exist is made, unless the statements only read it. BEGIN, COMMIT and \
ROLLBACK may stand among the statements of a file.
Put EXPLAIN before a statement to see its plan, PROFILE to run it and see rows, time and pages of \
every
step.")]
pub(crate) struct Query {
    #[command(flatten)]
    open: Open,
    #[command(flatten)]
    promised: Promised,
    /// The statement
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    statement: Option<String>,
    /// Read statements, ended by semicolons, from FILE; `-` is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A parameter: a Cypher literal or, failing that, a string; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = argument::param)]
    param: Vec<argument::Param>,
    /// Parameters as one JSON object, or @FILE with one
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// Form of the result [default: table on a terminal, csv elsewhere]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// End each statement that runs for longer, as 500ms, 5s or 2min
    #[arg(long, value_name = "TIME", value_parser = argument::time)]
    timeout: Option<Duration>,
    /// Say rows, time and pages on standard error afterwards
    #[arg(long)]
    stats: bool,
}

impl Query {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let text = match (&self.statement, &self.file) {
            (Some(text), _) => text.clone(),
            (None, Some(path)) => read(path)?,
            (None, None) => return Err(Failure::usage("a statement or --file is needed")),
        };
        let params = argument::params(self.params.as_deref(), &self.param)?;
        let cut = statement::split(&text);
        let mut statements = cut.complete;
        if !statement::is_blank(cut.rest) {
            statements.push(cut.rest);
        }
        if statements.is_empty() {
            return Err(Failure::usage("there is no statement"));
        }
        let db = self.open.database_for(&statements, self.timeout)?;
        let connection = db.connect().with_timeout(self.timeout);
        interrupt::react(SignalAction::Cancel(connection.cancel_handle()));
        let format = Format::or_default(self.format);
        let mut session = Session::new(connection, &self.promised, db.is_temporary());
        for statement in statements {
            let outcome = run_one(&mut session, statement, &params, format);
            let summary = outcome.map_err(|failure| match failure {
                Stopped::Statement(error) => Failure::failed(match &self.file {
                    Some(path) => format!(
                        "{}, the statement that begins in line {}: {} ({})",
                        path.display(),
                        statement::line_of(&text, statement),
                        error.render(),
                        error.code()
                    ),
                    None => error.render().to_owned(),
                }),
                Stopped::Output(error) => Failure::from(error),
            })?;
            tell(summary.as_ref(), self.stats);
        }
        if session.in_transaction() {
            let message = "the statements end inside a transaction: it was rolled back";
            return Err(Failure::failed(message));
        }
        drop(session);
        db.close()
    }
}

/// Why a statement did not come to its end.
pub(crate) enum Stopped {
    /// The database refused it.
    Statement(graven::Error),
    /// The result could not be written.
    Output(io::Error),
}

impl From<graven::Error> for Stopped {
    fn from(error: graven::Error) -> Self {
        Stopped::Statement(error)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Stopped::Output(error)
    }
}

/// Runs one statement and prints its result: rows, then the plan of a profiled statement; the plan
/// alone of an explained one. In JSON the plan of the latter is a row; beside rows for programs the
/// plan goes to standard error. Whatever has no rows says in a line what it did, so that a program
/// at the other end of a pipe knows that it is done, and durable.
pub(crate) fn run_one(
    session: &mut Session,
    text: &str,
    params: &Params,
    format: Format,
) -> Result<Option<Summary>, Stopped> {
    let answer = session.run(text, params)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut result = match answer {
        Answer::Result(result) => result,
        Answer::Begun | Answer::Committed(_) | Answer::RolledBack | Answer::Set
            if format == Format::Json =>
        {
            return Ok(None);
        }
        Answer::Begun => return Ok(done(&mut out, "begun")?),
        Answer::Committed(_) => return Ok(done(&mut out, "committed")?),
        Answer::RolledBack => return Ok(done(&mut out, "rolled back")?),
        Answer::Set => return Ok(done(&mut out, "set")?),
    };
    let silent = result.columns().is_empty() && format != Format::Json;
    if !result.is_explain() && !silent {
        print_rows(&mut result, &mut out, format)?;
    } else if silent {
        // What gives no rows may fail all the same.
        while result.next_row()?.is_some() {}
    }
    let mut summary = result.summary();
    if silent && !result.is_explain() {
        match changes(&summary.counters) {
            nothing if nothing.is_empty() => writeln!(out, "no changes")?,
            changes => writeln!(out, "{}", changes.join(", "))?,
        }
    }
    if let Some(plan) = result.plan() {
        match (format, result.is_explain()) {
            (Format::Json, true) => {
                let mut writer = format.writer(&["plan".to_owned()]);
                writer.row(&mut out, &[Value::from(plan.as_str())])?;
                writer.finish(&mut out)?;
            }
            (Format::Table, _) | (_, true) => writeln!(out, "{plan}")?,
            _ if silent => writeln!(out, "{plan}")?,
            _ => eprintln!("{plan}"),
        }
        // A plan is shown with its notices.
        summary.notices.clear();
    }
    out.flush()?;
    Ok(Some(summary))
}

/// A line for what has no summary.
fn done(out: &mut dyn Write, what: &str) -> io::Result<Option<Summary>> {
    writeln!(out, "{what}")?;
    out.flush()?;
    Ok(None)
}

fn print_rows(
    result: &mut QueryResult,
    out: &mut dyn Write,
    format: Format,
) -> Result<(), Stopped> {
    let mut writer = format.writer(result.columns());
    while let Some(row) = result.next_row()? {
        write_row(out, result, |out| writer.row(out, row.values()))?;
    }
    writer.finish(out)?;
    Ok(())
}

/// Writes a row of a result, as long as the statement may run.
pub(crate) fn write_row(
    out: &mut dyn Write,
    result: &QueryResult,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Stopped> {
    let mut checked = Checked {
        out,
        result,
        unchecked: 0,
        ended: None,
    };
    let written = write(&mut checked);
    match checked.ended {
        Some(error) => Err(error.into()),
        None => Ok(written?),
    }
}

/// Bytes of a row that are written without a look at the statement's time.
const UNCHECKED_BYTES: usize = 1 << 20;

/// Writes a row as long as its statement may run: values that share what they hold are written as
/// often as they occur, and so may take more than any device has.
struct Checked<'a> {
    out: &'a mut dyn Write,
    result: &'a QueryResult,
    unchecked: usize,
    ended: Option<graven::Error>,
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unchecked += bytes.len();
        if self.unchecked >= UNCHECKED_BYTES {
            self.unchecked = 0;
            if let Err(error) = self.result.check() {
                self.ended = Some(error);
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Notices and, if wanted, figures of a statement on standard error.
pub(crate) fn tell(summary: Option<&Summary>, stats: bool) {
    let Some(summary) = summary else {
        return;
    };
    // What Neo4j is about to drop stays here.
    let dropped = |notice: &&graven::Notice| notice.code.starts_with("Deprecated");
    for notice in summary.notices.iter().filter(|it| !dropped(it)) {
        match notice.position {
            Some((line, column)) => {
                eprintln!("notice: {} (line {line}, column {column})", notice.message);
            }
            None => eprintln!("notice: {}", notice.message),
        }
    }
    let changes = changes(&summary.counters);
    // Without rows they were the answer.
    if summary.rows > 0 && !changes.is_empty() && (stats || io::stdout().is_terminal()) {
        eprintln!("{}", changes.join(", "));
    }
    if !stats {
        return;
    }
    if let Some(commit) = &summary.commit {
        eprintln!(
            "committed: {} of log, {:.3} ms waited for the device, shared by {}",
            graven::format_bytes(commit.log_bytes),
            commit.waited.as_secs_f64() * 1e3,
            commit.group
        );
    }
    eprintln!(
        "{} row{} in {:.1} ms",
        summary.rows,
        if summary.rows == 1 { "" } else { "s" },
        summary.elapsed.as_secs_f64() * 1e3
    );
    for (kind, pages) in summary.pages.iter() {
        eprintln!(
            "  {kind}: {} hits, {} faults, {} blocked, {} evicted, {:.1} ms waited, {} read",
            pages.hits,
            pages.faults,
            pages.blocked,
            pages.evictions(),
            pages.wait_ns as f64 / 1e6,
            graven::format_bytes(pages.bytes_read)
        );
    }
}

/// What a statement changed, in words.
fn changes(counters: &Counters) -> Vec<String> {
    let singular = |what: &str| match what {
        "properties" => "property".to_owned(),
        "indexes" => "index".to_owned(),
        other => other.trim_end_matches('s').to_owned(),
    };
    (counters.changed())
        .map(|(name, count)| {
            let (what, done) = name.split_once('_').unwrap_or((name, "changed"));
            match count {
                1 => format!("1 {} {done}", singular(what)),
                _ => format!("{count} {what} {done}"),
            }
        })
        .collect()
}

fn read(path: &std::path::Path) -> Result<String, Failure> {
    let text = if path.as_os_str() == "-" {
        io::read_to_string(io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|e| Failure::failed(format!("{}: cannot be read: {e}", path.display())))
}

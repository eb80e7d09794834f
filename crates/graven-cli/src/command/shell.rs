//! `graven shell`: statements typed or piped in, one after another.
//!
//! # How it works
//! On a terminal a line editor collects lines until a semicolon ends the statement; a line that
//! begins with a colon is a command of the shell. From a pipe the text is cut the same way while it
//! arrives, so a program can write a statement and read its answer before it writes the next. With
//! `--format json` an answer is one object on one line.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use graven::pagecache::Reservation;
use graven::{Params, QueryResult, statement};

use crate::argument;
use crate::command::query::{Stopped, run_one, tell, write_row};
use crate::failure::Failure;
use crate::format::{Format, json};
use crate::interrupt::{self, SignalAction};
use crate::open::{Open, Opened};
use crate::session::{Answer, Promised, Session as Statements};
use crate::shell::command::{Command, HELP};
use crate::shell::editor::{self, Editor, Input};

/// Type statements, or pipe them in.
#[derive(Args, Debug)]
pub(crate) struct Shell {
    #[command(flatten)]
    open: Open,
    #[command(flatten)]
    promised: Promised,
    /// Form of the results [default: table on a terminal, csv elsewhere]; json: one object a line
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// End each statement that runs for longer, as 500ms, 5s or 2min
    #[arg(long, value_name = "TIME", value_parser = argument::time)]
    timeout: Option<Duration>,
    /// End at the first statement that fails
    #[arg(long)]
    fail_fast: bool,
}

impl Shell {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let db = self.open.database_or_new(self.timeout)?;
        let connection = db.connect().with_timeout(self.timeout);
        let editor = match io::stdin().is_terminal() {
            true => Some(editor::open(db.names()?)?),
            false => None,
        };
        // Behind the editor, which listens to the signal, too, once it is open.
        interrupt::react(SignalAction::Cancel(connection.cancel_handle()));
        let mut session = Session {
            format: Format::or_default(self.format),
            fail_fast: self.fail_fast,
            params: Params::new(),
            params_memory: None,
            stats: false,
            failed: false,
            statements: Statements::new(connection, &self.promised, db.is_temporary()),
            db,
        };
        match editor {
            Some(editor) => session.read_terminal(editor)?,
            None => session.read_pipe()?,
        }
        if session.statements.in_transaction() {
            eprintln!("the input ends inside a transaction: it was rolled back");
            session.failed = true;
        }
        let Session { db, failed, .. } = session;
        db.close()?;
        // On a terminal errors were seen and answered; a program needs the exit code.
        if failed && !io::stdin().is_terminal() {
            return Err(Failure::AlreadyTold);
        }
        Ok(())
    }
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

struct Session {
    db: Opened,
    statements: Statements,
    format: Format,
    params: Params,
    /// What the parameters take of the memory limit; an attached process has none of its own.
    params_memory: Option<Reservation>,
    fail_fast: bool,
    stats: bool,
    failed: bool,
}

impl Session {
    /// Keeps these parameters, charged to the memory limit.
    fn set_params(&mut self, params: Params) -> Result<(), String> {
        if self.params_memory.is_none()
            && let Ok(cache) = self.db.cache()
        {
            self.params_memory = Some(cache.budget().empty_reservation("parameters"));
        }
        if let Some(memory) = &mut self.params_memory {
            let resized = memory.resize(params.memory());
            resized.map_err(|refused| format!("the parameters do not fit: {refused}"))?;
        }
        self.params = params;
        Ok(())
    }

    fn read_terminal(&mut self, mut editor: Editor) -> Result<(), Failure> {
        eprintln!(
            "Graven {} - {}\nEnd a statement with a semicolon. :help for help, :quit to leave.",
            env!("CARGO_PKG_VERSION"),
            self.db.path().display()
        );
        self.stats = true;
        loop {
            match editor.next()? {
                Input::Text(text) => {
                    if self.text(&text)? == Next::End {
                        break;
                    }
                }
                Input::Abandoned => {}
                Input::End => break,
            }
        }
        editor.close();
        Ok(())
    }

    fn read_pipe(&mut self) -> Result<(), Failure> {
        let mut pending = String::new();
        let mut lines = io::stdin().lock();
        loop {
            // While nothing runs there is nothing to cancel.
            interrupt::react(SignalAction::Exit);
            let before = pending.len();
            let read = lines
                .read_line(&mut pending)
                .map_err(|e| Failure::failed(format!("standard input: {e}")))?;
            let last = read == 0;
            let own_command = statement::is_blank(&pending[..before])
                && pending[before..].trim_start().starts_with(':');
            if !(last || own_command || pending[before..].contains(';')) {
                continue;
            }
            let text = if last || own_command {
                std::mem::take(&mut pending)
            } else {
                let rest = statement::split(&pending).rest.to_owned();
                let complete = pending[..pending.len() - rest.len()].to_owned();
                pending = rest;
                complete
            };
            interrupt::react(SignalAction::Cancel(self.statements.cancel_handle()));
            if self.text(&text)? == Next::End || last {
                return Ok(());
            }
        }
    }

    /// Runs a shell command, or every statement of the text.
    fn text(&mut self, text: &str) -> Result<Next, Failure> {
        if let Some(command) = text.trim().strip_prefix(':') {
            return self.command(command.trim().trim_end_matches(';'));
        }
        let cut = statement::split(text);
        let rest = Some(cut.rest).filter(|rest| !statement::is_blank(rest));
        for statement in cut.complete.into_iter().chain(rest) {
            interrupt::reset();
            if self.statement(statement)? == Next::End {
                return Ok(Next::End);
            }
        }
        Ok(Next::GoOn)
    }

    fn statement(&mut self, text: &str) -> Result<Next, Failure> {
        let outcome = if self.format == Format::Json {
            self.json_line(text)
        } else {
            run_one(&mut self.statements, text, &self.params, self.format)
                .map(|summary| tell(summary.as_ref(), self.stats))
        };
        match outcome {
            Ok(()) => return Ok(Next::GoOn),
            Err(Stopped::Output(error)) => return Err(error.into()),
            Err(Stopped::Statement(error)) => {
                if self.format == Format::Json {
                    print_line(|out| json_error(out, &error))?;
                } else {
                    eprintln!("error: {}", error.render());
                }
            }
        }
        self.failed = true;
        Ok(if self.fail_fast {
            Next::End
        } else {
            Next::GoOn
        })
    }

    /// One object with the whole answer: rows are collected first, so that a failure in the middle
    /// gives an error object and not half an answer.
    fn json_line(&mut self, text: &str) -> Result<(), Stopped> {
        let mut result = match self.statements.run(text, &self.params)? {
            Answer::Result(result) => result,
            Answer::Committed(commit) => {
                print_line(|out| {
                    out.write_all(b"{\"columns\": [], \"rows\": [], \"summary\": {\"rows\": 0, ")?;
                    json::commit(out, &commit)?;
                    out.write_all(b"}}")
                })?;
                return Ok(());
            }
            Answer::Begun | Answer::RolledBack | Answer::Set => {
                let nothing = b"{\"columns\": [], \"rows\": [], \"summary\": {\"rows\": 0}}";
                print_line(|out| out.write_all(nothing))?;
                return Ok(());
            }
        };
        let mut line = Line {
            memory: self
                .db
                .cache()
                .ok()
                .map(|it| it.budget().empty_reservation("answer")),
            text: Vec::new(),
            refused: None,
        };
        let collected = collect(&mut line, &mut result);
        if let Some(error) = line.refused {
            return Err(error.into());
        }
        collected?;
        print_line(|out| out.write_all(&line.text))?;
        Ok(())
    }

    fn command(&mut self, text: &str) -> Result<Next, Failure> {
        let outcome = match Command::read(text) {
            Ok(Command::Quit) => return Ok(Next::End),
            Ok(Command::Help) => {
                print_line(|out| out.write_all(HELP.trim_end().as_bytes()))?;
                Ok(())
            }
            Ok(Command::Format(format)) => {
                self.format = format;
                Ok(())
            }
            Ok(Command::Statement(text)) => return self.statement(&text),
            Ok(Command::Stats(on)) => {
                self.stats = on;
                Ok(())
            }
            Ok(Command::Param(params)) => {
                let mut all = self.params.clone();
                for param in params {
                    all.set(param.name, param.value);
                }
                self.set_params(all)
            }
            Ok(Command::Params) => {
                for (name, value) in self.params.iter() {
                    print_line(|out| write!(out, "${name} = {value}"))?;
                }
                Ok(())
            }
            Ok(Command::Isolation(isolation)) => {
                self.statements.set_isolation(isolation);
                Ok(())
            }
            Ok(Command::Durability(durability)) => {
                self.statements.set_durability(durability);
                Ok(())
            }
            Ok(Command::Timeout(timeout)) => {
                self.statements.set_timeout(timeout);
                Ok(())
            }
            Ok(Command::Memory(bytes)) => self.db.set_memory(bytes).map_err(|e| e.to_string()),
            Ok(Command::Policy(spec)) => self.db.set_policy(&spec).map_err(|e| e.to_string()),
            Ok(Command::Schema) => match self.db.names() {
                Ok(names) => print_names(&names).map(Ok)?,
                Err(error) => Err(error.to_string()),
            },
            Err(reason) => Err(reason),
        };
        if let Err(reason) = outcome {
            eprintln!("error: {reason}");
            self.failed = true;
            if self.fail_fast {
                return Ok(Next::End);
            }
        }
        Ok(Next::GoOn)
    }
}

/// Writes one line to standard output and flushes it, so that a program at the other end can go on.
fn print_line(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write(&mut out)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// An answer that is collected, charged to the memory limit; an attached process has none.
struct Line {
    text: Vec<u8>,
    memory: Option<Reservation>,
    refused: Option<graven::Error>,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let needed = self.text.len() + bytes.len();
        let had = self.text.capacity();
        if needed > had {
            // Near the limit the exact need may fit where twice as much does not.
            let (twice, mut grown) = (needed.max(2 * had), needed);
            if let Some(memory) = &mut self.memory {
                if memory.grow((twice - had) as u64).is_ok() {
                    grown = twice;
                } else if let Err(refused) = memory.grow((needed - had) as u64) {
                    self.refused = Some(graven::Error::of_kept_rows(refused));
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
            } else {
                grown = twice;
            }
            self.text.reserve_exact(grown - self.text.len());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Collects the whole answer of a statement.
fn collect(line: &mut Line, result: &mut QueryResult) -> Result<(), Stopped> {
    line.write_all(b"{\"columns\": ")?;
    json::list(line, result.columns(), |out, name| json::string(out, name))?;
    line.write_all(b", \"rows\": [")?;
    let mut first = true;
    // An explained statement has a plan and no rows.
    while let Some(row) = result.next_row()? {
        if !std::mem::take(&mut first) {
            line.write_all(b", ")?;
        }
        write_row(line, result, |out| {
            json::list(out, row.values(), json::value)
        })?;
    }
    line.write_all(b"], \"summary\": ")?;
    json::summary(line, &result.summary(), result.plan().as_deref())?;
    Ok(line.write_all(b"}")?)
}

fn json_error(out: &mut dyn Write, error: &graven::Error) -> io::Result<()> {
    out.write_all(b"{\"error\": {\"code\": ")?;
    json::string(out, error.code())?;
    out.write_all(b", \"message\": ")?;
    json::string(out, error.message())?;
    match error.position() {
        Some((line, column)) => write!(out, ", \"line\": {line}, \"column\": {column}}}}}"),
        None => out.write_all(b", \"line\": null, \"column\": null}}"),
    }
}

fn print_names(names: &graven::Names) -> Result<(), Failure> {
    for (title, list) in [
        ("labels", &names.labels),
        ("relationship types", &names.types),
        ("property keys", &names.keys),
    ] {
        print_line(|out| write!(out, "{title}: {}", list.join(", ")))?;
    }
    Ok(())
}

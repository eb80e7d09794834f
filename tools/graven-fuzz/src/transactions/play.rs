//! A history played with the library and with the model, step by step, until they differ.
//!
//! # How it works
//! ```text
//! begin    the model of the transaction is a copy of the committed graph
//! run      the library's rows are those of the interpreter on the transaction's model
//! commit   the model's changes are put on the committed graph; of a serialisable transaction, its statements
//!          on the committed graph must also give the rows that they gave, and come to the same graph
//! look     the library's graph is the committed one
//! ```
//!
//! # Invariants
//! 1. A commit is taken only if nothing forbids it: what [`merge`] says, a rule, or (serialisable)
//!    a statement that would answer otherwise by now.
//! 2. A commit is refused only if something was committed since the transaction began; never in a
//!    history whose transactions are apart. Other refusals that nothing explains are counted.

use std::panic::AssertUnwindSafe;

use graven::{Durability, Isolation, Params, Transaction, TransactionOptions, Value};

use super::Tally;
use super::history::{History, Step};
use super::merge::merge;
use crate::graph::Graph;
use crate::interpret::{Interpreter, Stop};
use crate::library::Library;
use crate::query::Query;
use crate::{rows, text};

/// A graph that has grown larger is given up.
const ENTITIES_MAX: usize = 40;

const CONFLICT: &str = "Transaction.Conflict";
const DUPLICATE: &str = "ConstraintValidationFailed.Duplicate";
const MISSING: &str = "ConstraintValidationFailed.MissingProperty";
const CONNECTED: &str = "ConstraintVerificationFailed.DeleteConnectedNode";

/// In what the library and the model differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Rows, or that a statement fails.
    Answer,
    /// A commit is taken that should not be, or came to something else.
    Taken,
    Refused,
    /// The graph as a whole, or what a check says of it.
    Graph,
    Panic,
}

/// How both differ, in words too.
pub(crate) struct Difference {
    pub(crate) kind: Kind,
    pub(crate) how: String,
}

/// Why a history is not played on.
enum Halt {
    Differs(Difference),
    /// The machine's fault.
    Broken(String),
    /// The graph has grown too large for the interpreter.
    TooLarge,
}

/// A transaction in both.
struct Open {
    number: usize,
    library: Transaction,
    serialisable: bool,
    base: Graph,
    model: Interpreter,
    /// Statements with what the library answered.
    asked: Vec<(Query, Vec<Vec<Value>>)>,
    /// Commits when it began.
    begun: u64,
}

struct Play<'a> {
    history: &'a History,
    /// Taken away only while it is opened again.
    library: Option<Library>,
    committed: Graph,
    commits: u64,
    open: Vec<Open>,
    tally: &'a mut Tally,
}

/// How the library and the model differ, if they do.
pub(crate) fn play(history: &History, tally: &mut Tally) -> Result<Option<Difference>, String> {
    let library = Library::new(&history.graph, history.setting)?;
    for rule in &history.rules {
        library.ask(&rule.text())?;
    }
    let mut play = Play {
        history,
        library: Some(library),
        committed: history.graph.clone(),
        commits: 0,
        open: Vec::new(),
        tally,
    };
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| play.all()));
    match played {
        Err(_) => Ok(Some(Difference {
            kind: Kind::Panic,
            how: "the library panicked".to_owned(),
        })),
        Ok(Ok(()) | Err(Halt::TooLarge)) => Ok(None),
        Ok(Err(Halt::Differs(difference))) => Ok(Some(difference)),
        Ok(Err(Halt::Broken(why))) => Err(why),
    }
}

fn halt(kind: Kind, how: impl Into<String>) -> Halt {
    let how = how.into();
    Halt::Differs(Difference { kind, how })
}

fn differs<T>(kind: Kind, how: impl Into<String>) -> Result<T, Halt> {
    Err(halt(kind, how))
}

/// Whether an error has this code.
fn is(error: &str, code: &str) -> bool {
    error.split(':').next() == Some(code)
}

impl Play<'_> {
    fn all(&mut self) -> Result<(), Halt> {
        for step in &self.history.steps {
            self.step(step)?;
            if self.committed.node_places().count() > ENTITIES_MAX
                || self.committed.rel_places().count() > ENTITIES_MAX
            {
                return Err(Halt::TooLarge);
            }
        }
        self.open.clear();
        self.look("at the end")?;
        self.reopen()?;
        let problems = self.library()?.problems().map_err(Halt::Broken)?;
        match problems.is_empty() {
            true => Ok(()),
            false => differs(Kind::Graph, format!("a check finds {problems:?}")),
        }
    }

    fn library(&self) -> Result<&Library, Halt> {
        let gone = || Halt::Broken("the database could not be opened again".to_owned());
        self.library.as_ref().ok_or_else(gone)
    }

    fn step(&mut self, step: &Step) -> Result<(), Halt> {
        match step {
            Step::Begin {
                number,
                serialisable,
            } => self.begin(*number, *serialisable),
            Step::Run(number, query) => match self.open.iter().position(|o| o.number == *number) {
                Some(at) => self.run(at, query),
                None => Ok(()),
            },
            Step::Commit(number) => match self.open.iter().position(|o| o.number == *number) {
                Some(at) => self.commit(at),
                None => Ok(()),
            },
            Step::RollBack(number) => {
                self.open.retain(|open| open.number != *number);
                Ok(())
            }
            Step::Alone(query) => self.alone(query),
            Step::Index(index) => {
                let made = self.library()?.ask(index);
                self.commits += 1;
                made.map(|_| ()).map_err(|e| halt(Kind::Answer, e))
            }
            Step::Checkpoint => {
                let made = self.library()?.connection().database().checkpoint();
                made.map(|_| ())
                    .map_err(|e| halt(Kind::Answer, format!("a checkpoint: {e}")))
            }
            Step::Look => self.look("then"),
            Step::Reopen if self.open.is_empty() => self.reopen(),
            Step::Reopen => Ok(()),
        }
    }

    fn begin(&mut self, number: usize, serialisable: bool) -> Result<(), Halt> {
        let level = match serialisable {
            true => Isolation::Serializable,
            false => Isolation::Snapshot,
        };
        let options = TransactionOptions::default()
            .isolation(level)
            .durability(Durability::Off);
        let begun = self.library()?.connection().begin_with(options);
        let library = begun.map_err(|e| Halt::Broken(format!("begin: {e}")))?;
        self.tally.transactions += 1;
        self.open.push(Open {
            number,
            library,
            serialisable,
            base: self.committed.clone(),
            model: Interpreter::new(self.committed.clone()),
            asked: Vec::new(),
            begun: self.commits,
        });
        Ok(())
    }

    fn run(&mut self, at: usize, query: &Query) -> Result<(), Halt> {
        let history = self.history;
        let open = &mut self.open[at];
        let expected = open.model.run(query);
        if expected.as_ref().is_err_and(|stop| !stop.is_known()) {
            return Ok(());
        }
        let statement = text::query(query);
        let got = rows::all(open.library.query(&statement, &Params::new()));
        self.tally.statements += 1;
        let (number, apart) = (open.number, history.apart);
        let named = |how: String| halt(Kind::Answer, format!("T{number}: {statement}\n{how}"));
        match (expected, got) {
            (Ok(expected), Ok(got)) => {
                rows::same(&open.model.graph, query, &expected, &got).map_err(named)?;
                if let Some(rule) = broken(history, &open.model.graph, true) {
                    return Err(named(format!("{rule} does not hold any more")));
                }
                open.asked.push((query.clone(), got));
                return Ok(());
            }
            (_, Err(error)) if is(&error, DUPLICATE) && !history.rules.is_empty() && !apart => {}
            (_, Err(error)) if is(&error, CONFLICT) && !apart => self.tally.refused += 1,
            (_, Err(error)) => return Err(named(error)),
            (Err(_), Ok(_)) => {
                // It may still delete the relationships; what does not is not committed.
                let open = self.open.swap_remove(at);
                self.tally.failed += 1;
                return match open.library.commit() {
                    Err(error) if [CONNECTED, CONFLICT].contains(&error.code()) => Ok(()),
                    Err(error) => Err(named(error.to_string())),
                    Ok(_) => Err(named(
                        "committed a relationship of a deleted node".to_owned(),
                    )),
                };
            }
        }
        // A transaction of which a statement has failed cannot be committed.
        let open = self.open.swap_remove(at);
        self.tally.failed += 1;
        match open.library.commit() {
            Err(error) if error.code() == "Transaction.Failed" => Ok(()),
            Err(error) => differs(
                Kind::Taken,
                format!("T{number}, which has failed, commits: {error}"),
            ),
            Ok(_) => differs(Kind::Taken, format!("T{number}, which has failed, commits")),
        }
    }

    fn commit(&mut self, at: usize) -> Result<(), Halt> {
        let open = self.open.swap_remove(at);
        let number = open.number;
        let own = &open.model.graph;
        let merged = merge(&open.base, own, &self.committed);
        let missing = self.missing(own);
        let replayed = match open.serialisable && merged.changed {
            true => self.replay(&open),
            false => Ok(None),
        };
        let forbidden = match (&merged.conflict, &replayed, self.broken(&merged.graph)) {
            (Some(why), _, _) => Some(why.clone()),
            (_, Err(why), _) => Some(why.clone()),
            (_, _, Some(rule)) => Some(format!("{rule} would not hold")),
            _ => None,
        };
        match open.library.commit() {
            Ok(_) => {
                if let Some(rule) = missing {
                    return differs(
                        Kind::Taken,
                        format!("T{number} commits although {rule} does not hold"),
                    );
                }
                if let Some(why) = forbidden {
                    return differs(Kind::Taken, format!("T{number} commits, but {why}"));
                }
                if let Ok(Some(replayed)) = replayed {
                    let (one, other) = (rows::of_model(&replayed), rows::of_model(&merged.graph));
                    if one != other {
                        return differs(
                            Kind::Taken,
                            format!(
                                "T{number} commits; run alone by then it comes to\n{one:?}\n and \
                                    not to\n{other:?}"
                            ),
                        );
                    }
                    self.tally.replayed += 1;
                }
                self.tally.committed += 1;
                self.commits += u64::from(open.asked.iter().any(|(query, _)| query.writes()));
                self.committed = merged.graph;
                Ok(())
            }
            Err(error) if error.code() == MISSING && missing.is_some() => {
                self.tally.failed += 1;
                Ok(())
            }
            Err(error) if error.code() == CONFLICT => {
                if open.begun == self.commits || self.history.apart {
                    return differs(
                        Kind::Refused,
                        format!("T{number} is refused for nothing: {error}"),
                    );
                }
                self.tally.refused += 1;
                if forbidden.is_none() {
                    match open.serialisable {
                        true => self.tally.spare_serialisable += 1,
                        false => self.tally.spare_snapshot += 1,
                    }
                }
                Ok(())
            }
            Err(error) => differs(
                Kind::Refused,
                format!("T{number} commits: {}: {error}", error.code()),
            ),
        }
    }

    /// The committed graph after the statements of a serialisable transaction, if they give what
    /// they gave; in words what they give otherwise.
    fn replay(&self, open: &Open) -> Result<Option<Graph>, String> {
        let mut model = Interpreter::new(self.committed.clone());
        for (query, got) in &open.asked {
            let statement = || text::query(query);
            match model.run(query) {
                Ok(expected) => rows::same(&model.graph, query, &expected, got)
                    .map_err(|how| format!("alone by then: {}\n{how}", statement()))?,
                // It is too large by now: what it gives is not known.
                Err(Stop::TooMany | Stop::Senseless | Stop::Failed) => return Ok(None),
                Err(Stop::Connected) => {
                    return Err(format!("alone by then it fails: {}", statement()));
                }
            }
        }
        Ok(Some(model.graph))
    }

    fn alone(&mut self, query: &Query) -> Result<(), Halt> {
        let mut model = Interpreter::new(self.committed.clone());
        let expected = model.run(query);
        if expected.as_ref().is_err_and(|stop| !stop.is_known()) {
            return Ok(());
        }
        let statement = text::query(query);
        let got = self.library()?.ask(&statement);
        self.tally.statements += 1;
        let named = |how: String| halt(Kind::Answer, format!("alone: {statement}\n{how}"));
        match (expected, got) {
            (Ok(expected), Ok(got)) => {
                rows::same(&model.graph, query, &expected, &got).map_err(named)?;
                if let Some(rule) = self.broken(&model.graph) {
                    return Err(named(format!("{rule} does not hold any more")));
                }
                self.commits += u64::from(query.writes());
                self.committed = model.graph;
                Ok(())
            }
            (_, Err(error)) if is(&error, DUPLICATE) && !self.history.rules.is_empty() => Ok(()),
            (Ok(_), Err(error)) if is(&error, MISSING) && self.missing(&model.graph).is_some() => {
                Ok(())
            }
            (Err(_), Err(error)) if is(&error, CONNECTED) => Ok(()),
            (_, Err(error)) => Err(named(error)),
            (Err(_), Ok(_)) => Err(named("deleted a node that has relationships".to_owned())),
        }
    }

    fn look(&self, when: &str) -> Result<(), Halt> {
        let library = self.library()?;
        let found = rows::of_library(|statement| library.ask(statement))
            .map_err(|e| halt(Kind::Graph, e))?;
        let wanted = rows::of_model(&self.committed);
        match wanted == found {
            true => Ok(()),
            false => differs(
                Kind::Graph,
                format!("the graph is {when}\nexpected {wanted:?}\n     got {found:?}"),
            ),
        }
    }

    fn reopen(&mut self) -> Result<(), Halt> {
        let library = self.library.take();
        let reopened = library.map(Library::reopen).transpose();
        self.library = reopened.map_err(|e| halt(Kind::Graph, e))?;
        self.look("after closing and opening")
    }

    /// A rule that does not hold, in words.
    fn broken(&self, graph: &Graph) -> Option<String> {
        broken(self.history, graph, true).or_else(|| self.missing(graph))
    }

    /// A property that has to be there and is not, in words.
    fn missing(&self, graph: &Graph) -> Option<String> {
        broken(self.history, graph, false)
    }
}

/// A rule that does not hold, of uniqueness or of presence, in words.
fn broken(history: &History, graph: &Graph, unique: bool) -> Option<String> {
    let mut rules = history.rules.iter();
    let broken = rules.find(|rule| rule.is_unique() == unique && !rule.holds(graph));
    broken.map(|rule| rule.text())
}

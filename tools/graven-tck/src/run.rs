//! Plays one scenario on a database of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven::{Config, Connection, Database, Error, IoMode, Params, Right, Value};

use crate::effects::State;
use crate::feature::{Ordered, Phase, Scenario, Step, Table};
use crate::literal::Literal;

/// How scenarios are played.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Memory budget of each database, in bytes.
    pub memory: u64,
    /// Close and open the database between preparing the graph, the statement, and what is checked
    /// afterwards.
    pub reopen: Reopen,
    /// Folder of the named graphs.
    pub graphs: PathBuf,
}

/// Whether the database is closed and opened between steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reopen {
    /// It stays open.
    #[default]
    Never,
    /// It is closed and opened.
    BetweenSteps,
}

/// Columns and rows of a statement, or the error with whether it came before anything ran.
type Outcome = Result<(Vec<String>, Vec<Vec<Value>>), (Error, Phase)>;

struct Player<'a> {
    settings: &'a Settings,
    path: PathBuf,
    db: Option<Database>,
    procedures: Vec<(String, Table)>,
    params: Params,
    before: State,
    outcome: Option<Outcome>,
}

/// Plays `scenario` in `folder`, an empty folder.
///
/// # Errors
/// What differs from the scenario.
pub fn play(scenario: &Scenario, folder: &Path, settings: &Settings) -> Result<(), String> {
    let mut player = Player {
        settings,
        path: folder.join("scenario.graven"),
        db: None,
        procedures: Vec::new(),
        params: Params::new(),
        before: State::default(),
        outcome: None,
    };
    player.open()?;
    for step in &scenario.steps {
        player.step(step)?;
    }
    match player.outcome {
        Some(_) => Ok(()),
        None => Err("the scenario has no statement".to_owned()),
    }
}

impl Player<'_> {
    fn open(&mut self) -> Result<(), String> {
        let mut config = Config::default();
        config.memory = self.settings.memory;
        config.io = IoMode::Buffered;
        config.create = true;
        let db = Database::open(&self.path, config).map_err(|e| format!("open: {e}"))?;
        for (signature, table) in &self.procedures {
            register(&db, signature, table)?;
        }
        self.db = Some(db);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        if self.settings.reopen == Reopen::Never {
            return Ok(());
        }
        self.db = None;
        self.open()
    }

    fn connection(&self) -> Result<Connection, String> {
        let db = self.db.as_ref().ok_or("the database is closed")?;
        Ok(db.connect())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::EmptyGraph => Ok(()),
            Step::NamedGraph(name) => {
                let statement = named_graph(&self.settings.graphs.join(name))?;
                self.prepare(&statement)
            }
            Step::Executed(statement) => self.prepare(statement),
            Step::Parameters(table) => {
                for row in table {
                    let [name, value] = row.as_slice() else {
                        return Err(format!("a parameter has a name and a value, not {row:?}"));
                    };
                    let literal = Literal::parse(value)?;
                    let value = literal
                        .to_value()
                        .ok_or("a parameter cannot be an entity")?;
                    self.params.set(name.as_str(), value);
                }
                Ok(())
            }
            Step::Procedure(signature, table) => {
                let db = self.db.as_ref().ok_or("the database is closed")?;
                register(db, signature, table)?;
                self.procedures.push((signature.clone(), table.clone()));
                Ok(())
            }
            Step::Query(statement) => {
                self.reopen()?;
                let connection = self.connection()?;
                self.before = State::read(&connection).map_err(|e| format!("state before: {e}"))?;
                self.outcome = Some(execute(&connection, statement, &self.params));
                drop(connection);
                self.reopen()
            }
            Step::Control(statement) => {
                let connection = self.connection()?;
                self.outcome = Some(execute(&connection, statement, &self.params));
                Ok(())
            }
            Step::Result {
                table,
                ordered,
                lists,
            } => compare(self.rows()?, table, *ordered, *lists),
            Step::Empty => match self.rows()? {
                (_, rows) if rows.is_empty() => Ok(()),
                (_, rows) => Err(format!("{} rows, none were expected", rows.len())),
            },
            Step::Error {
                kind,
                phase,
                detail,
            } => self.failed(kind, *phase, detail),
            Step::Effects(expected) => self.effects(expected),
            Step::Unknown(text) => Err(format!("unknown step: {text}")),
        }
    }

    fn prepare(&mut self, statement: &str) -> Result<(), String> {
        execute(&self.connection()?, statement, &self.params)
            .map(drop)
            .map_err(|(error, _)| format!("preparing: {}", describe(&error)))
    }

    fn rows(&self) -> Result<&(Vec<String>, Vec<Vec<Value>>), String> {
        match self.outcome.as_ref().ok_or("nothing was run")? {
            Ok(result) => Ok(result),
            Err((error, _)) => Err(describe(error)),
        }
    }

    fn failed(&self, kind: &str, phase: Phase, detail: &str) -> Result<(), String> {
        let (error, found) = match self.outcome.as_ref().ok_or("nothing was run")? {
            Ok((_, rows)) => {
                return Err(format!("{} rows instead of {kind}: {detail}", rows.len()));
            }
            Err((error, found)) => (error, *found),
        };
        let (found_kind, found_detail) = error.code().split_once('.').unwrap_or((error.code(), ""));
        if found_kind != kind || !(detail == "*" || detail == found_detail) {
            return Err(format!("wanted {kind}: {detail}, got {}", describe(error)));
        }
        if phase != Phase::Any && phase != found {
            return Err(format!(
                "wanted at {phase:?}, got at {found:?}: {}",
                describe(error)
            ));
        }
        Ok(())
    }

    fn effects(&self, expected: &[(String, u64)]) -> Result<(), String> {
        let connection = self.connection()?;
        let after = State::read(&connection).map_err(|e| format!("state after: {e}"))?;
        let found = self.before.changes(&after);
        let mut expected: Vec<_> = expected.iter().filter(|(_, n)| *n > 0).cloned().collect();
        expected.sort();
        if found == expected {
            return Ok(());
        }
        Err(format!("side effects {found:?}, expected {expected:?}"))
    }
}

fn describe(error: &Error) -> String {
    format!("{}: {error}", error.code())
}

/// Runs a statement to its end.
fn execute(connection: &Connection, statement: &str, params: &Params) -> Outcome {
    // What is wrong before anything runs is wrong without parameters, too, or is about them.
    let phase = |error: &Error| {
        if error.is_of_text() || connection.prepare(statement).is_err() {
            Phase::Compile
        } else {
            Phase::Run
        }
    };
    let result = connection.query(statement, params);
    let result = result.map_err(|error| (error.clone(), phase(&error)))?;
    let columns = result.columns().to_vec();
    let mut rows = Vec::new();
    for row in result {
        rows.push(row.map_err(|error| (error, Phase::Run))?.into_values());
    }
    Ok((columns, rows))
}

fn compare(
    (columns, rows): &(Vec<String>, Vec<Vec<Value>>),
    table: &Table,
    ordered: Ordered,
    lists: Ordered,
) -> Result<(), String> {
    let Some((heading, expected)) = table.split_first() else {
        return Err("the scenario has no heading".to_owned());
    };
    let mut places = Vec::new();
    for name in heading {
        places.push(columns.iter().position(|c| c == name));
    }
    if columns.len() != heading.len() || places.contains(&None) {
        return Err(format!("columns {columns:?}, expected {heading:?}"));
    }
    let mut wanted = Vec::new();
    for row in expected {
        let cells = row
            .iter()
            .map(|cell| Ok(Literal::parse(cell)?.normal_form(lists)));
        wanted.push(cells.collect::<Result<Vec<String>, String>>()?.join(" | "));
    }
    let mut found: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells = places.iter().flatten().map(|place| &row[*place]);
            let cells: Vec<_> = cells.map(|v| Literal::of(v).normal_form(lists)).collect();
            cells.join(" | ")
        })
        .collect();
    if ordered == Ordered::No {
        wanted.sort();
        found.sort();
    }
    if wanted == found {
        return Ok(());
    }
    Err(format!(
        "rows\n    {}\n  expected\n    {}",
        found.join("\n    "),
        wanted.join("\n    ")
    ))
}

/// A procedure that answers from a table: the first columns are arguments, the others results.
fn register(db: &Database, signature: &str, table: &Table) -> Result<(), String> {
    let given = signature
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map_or("", |(arguments, _)| arguments);
    let arguments = given.split(',').filter(|a| !a.trim().is_empty()).count();
    let mut rows = Vec::new();
    for row in table.iter().skip(1) {
        let values = row.iter().map(|cell| {
            let literal = Literal::parse(cell)?;
            literal
                .to_value()
                .ok_or_else(|| format!("{cell} in a procedure's table"))
        });
        rows.push(values.collect::<Result<Vec<Value>, String>>()?);
    }
    let rows = Arc::new(rows);
    let body = move |given: &[Value]| {
        let matching = rows
            .iter()
            .filter(|row| row.iter().zip(given).all(|(a, b)| is_same(a, b)));
        Ok(matching.map(|row| row[arguments..].to_vec()).collect())
    };
    db.register_procedure(signature, Right::Read, body)
        .map_err(|e| format!("procedure {signature}: {e}"))
}

/// Whether an argument selects a row of the table; an integer is as good as the float it equals.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Integer(_), Value::Float(_)) | (Value::Float(_), Value::Integer(_)) => {
            a.as_float() == b.as_float()
        }
        _ => a == b,
    }
}

/// One statement that creates the graph of `nodes.csv` and `edges.csv`.
fn named_graph(folder: &Path) -> Result<String, String> {
    let read = |name: &str| {
        let file = folder.join(name);
        std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))
    };
    let mut parts = Vec::new();
    for (number, line) in read("nodes.csv")?.lines().skip(1).enumerate() {
        let (name, label) = line
            .split_once(',')
            .ok_or("a node has a name and a label")?;
        parts.push(format!(
            "(n{number}:{} {{name: '{name}'}})",
            label.replace(';', ":")
        ));
    }
    for line in read("edges.csv")?.lines().skip(1) {
        let mut fields = line.split(',');
        let (Some(from), Some(name), Some(to)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(format!("an edge has three fields: {line}"));
        };
        parts.push(format!("(n{from})-[:{name}]->(n{to})"));
    }
    Ok(format!("CREATE {}", parts.join(",\n")))
}

//! Every function with null, empty, wrong and huge arguments: all ways to hand an argument over
//! must agree.
//!
//! # How it works
//! The library tells which functions it has; [`CALLS`] says what each takes. A call is made with
//! its arguments written in the text, in forms that hide their types, as parameters, with the name
//! in other letters, and for two rows. All of these give the same value or all fail; a type that
//! the text tells may be refused before the statement runs. Null gives null but for the functions
//! of [`KNOWS_NULL`]. Nothing panics, and no failure is an internal one.

use std::panic::AssertUnwindSafe;

use graven::{Params, Value};

use crate::arguments::{Argument, BY_CHANCE, CALLS, impossible, is_word, kind};
use crate::coverage::Coverage;
use crate::library::Library;

/// Functions that make something of null, or fail with it. Those of APOC each have a rule of their
/// own for null.
const KNOWS_NULL: &[&str] = &[
    "coalesce",
    "nullIf",
    "exists",
    "valueType",
    "graven.is_typed",
    "collect",
    "count",
    "sum",
    "percentileCont",
    "percentileDisc",
    "range",
    "stDev",
    "stDevP",
    "graven.is_normalized",
    "cast",
    "graven.sort",
    // It gives its first value whatever the other one is.
    "graven.beside",
    "graven.agg.nth",
    "graven.agg.slice",
    "graven.json.array",
    "graven.json.object",
    "graven.typeOf",
    // A bare word stands in the text.
    "vector",
    "vector_distance",
    "vector_norm",
    // A length or place that is null is a mistake, a text that is null is not.
    "left",
    "right",
    "substring",
    // Nothing can be cut to a unit, counted from the epoch or trimmed at an unnamed side.
    "date.truncate",
    "datetime.truncate",
    "localdatetime.truncate",
    "localtime.truncate",
    "time.truncate",
    "datetime.fromEpoch",
    "datetime.fromEpochMillis",
    "graven.trimmed",
];

/// The graph that calls with nodes, relationships and paths find.
pub(crate) const GRAPH: &str = "CREATE (:A {a: 1})-[:R {a: 1}]->(:B), (:E), (:X)-[:Q]->(:X)";

/// What is bound for arguments that no literal is.
const BOUND: &str = "MATCH p = (n:A)-[r:R]->(), (e:E), z = (:E), ()-[q:Q]->()";

/// What the long run of [`run`] found.
#[derive(Debug, Default)]
pub struct Calls {
    /// Calls that were compared.
    pub compared: u64,
    /// What was called with what.
    pub coverage: Coverage,
    /// Calls that did not agree, or failed as nothing may.
    pub differences: Vec<String>,
}

/// Calls all functions that the library has.
///
/// # Errors
/// The machine's, such as a full disk.
pub fn run() -> Result<Calls, String> {
    let library = Library::empty()?;
    library.ask(GRAPH)?;
    let mut calls = Calls::default();
    // One that takes arguments in several ways has several rows.
    for row in library.ask("SHOW FUNCTIONS YIELD name RETURN DISTINCT name")? {
        let Some(Value::String(name)) = row.first() else {
            continue;
        };
        let mut known = CALLS.iter();
        let known = known.find(|(known, _)| known.eq_ignore_ascii_case(name));
        calls
            .coverage
            .function(known.map_or(&**name, |(name, _)| *name));
        match known {
            Some((name, letters)) => of_function(&library, name, letters, &mut calls),
            None if impossible(name, Argument::Null).is_some() => {}
            None => calls
                .differences
                .push(format!("{name}: what it takes is not known")),
        }
    }
    Ok(calls)
}

fn of_function(library: &Library, name: &str, letters: &str, calls: &mut Calls) {
    let entities = takes_entities(letters);
    for (argument, args) in argument_lists(letters) {
        calls.compared += 1;
        calls.coverage.call(name, argument);
        if let Err(how) = agree(library, name, &args, entities, argument) {
            let call = format!("{name}({})", args.join(", "));
            calls.differences.push(format!("{call}: {how}"));
        }
    }
}

/// The arguments of every call: one is of another kind than usual, the others are ordinary.
fn argument_lists(letters: &str) -> Vec<(Argument, Vec<&'static str>)> {
    let kinds: Vec<&[&str; 4]> = letters.chars().filter_map(kind).collect();
    let mut lists = Vec::new();
    for at in 0..kinds.len() {
        for argument in Argument::ALL {
            let mut args: Vec<&str> = kinds.iter().map(|all| all[0]).collect();
            args[at] = match argument {
                Argument::Null => "null",
                Argument::Empty => kinds[at][1],
                Argument::Wrong => kinds[at][2],
                Argument::Huge => kinds[at][3],
            };
            if !args[at].is_empty() {
                lists.push((argument, args));
            }
        }
    }
    lists
}

fn takes_entities(letters: &str) -> bool {
    letters.chars().any(|l| "NRP".contains(l))
}

/// Every call of every function, as a statement on [`GRAPH`].
pub(crate) fn calls() -> Vec<String> {
    let mut calls = Vec::new();
    for (name, letters) in CALLS {
        let before = if takes_entities(letters) { BOUND } else { "" };
        let lists = argument_lists(letters);
        calls.extend(lists.iter().map(|(_, args)| call(before, name, args)));
    }
    calls
}

/// What came of a call: its value, or the code of its error.
type Outcome = Result<String, String>;

fn agree(
    library: &Library,
    name: &str,
    args: &[&str],
    entities: bool,
    argument: Argument,
) -> Result<(), String> {
    let before = if entities { BOUND } else { "" };
    let written = ask(library, &call(before, name, args), &Params::new())?;
    let hidden = args.iter().map(|arg| match is_word(arg) {
        true => (*arg).to_owned(),
        false => format!("[{arg}][0]"),
    });
    let hidden: Vec<String> = hidden.collect();
    let hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
    let told_late = ask(library, &call(before, name, &hidden), &Params::new())?;
    let mut ways = vec![("[...][0]", told_late.clone())];
    let letters = name.to_ascii_uppercase();
    let upper = ask(library, &call(before, &letters, &hidden), &Params::new())?;
    ways.push(("other letters", upper));
    if !entities {
        let mut params = Params::new();
        let mut names = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            if is_word(arg) {
                names.push((*arg).to_owned());
                continue;
            }
            let value = library
                .ask(&format!("RETURN {arg} AS v"))?
                .remove(0)
                .remove(0);
            params.set(format!("p{at}"), value);
            names.push(format!("$p{at}"));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let given = ask(library, &call(before, name, &names), &params)?;
        ways.push(("parameters", given));
    }
    // Clocks go on between two statements.
    let clocks = [".realtime", ".statement", ".transaction"];
    let clock = clocks.iter().any(|clock| name.ends_with(clock));
    let volatile = clock || BY_CHANCE.contains(&name);
    for (way, outcome) in &ways {
        let same = match (&told_late, outcome) {
            (Ok(a), Ok(b)) => volatile || a == b,
            (Err(_), Err(_)) => true,
            // The text tells the type of an element, too, and refuses what is null of values.
            (Err(code), Ok(null)) => code.starts_with("SyntaxError") && null == "null",
            _ => false,
        };
        if !same {
            return Err(format!(
                "{told_late:?} with [...][0], {outcome:?} with {way}"
            ));
        }
    }
    // The text may tell a type that cannot be.
    let same = match (&written, &told_late) {
        (Ok(a), Ok(b)) => volatile || a == b,
        (Err(code), _) => told_late.is_err() || code.starts_with("SyntaxError"),
        (Ok(_), Err(_)) => false,
    };
    if !same {
        return Err(format!(
            "{written:?} as written, {told_late:?} with [...][0]"
        ));
    }
    let knows_null = KNOWS_NULL.contains(&name) || name.starts_with("apoc.");
    let strict = argument == Argument::Null && !knows_null;
    match strict && told_late != Ok("null".to_owned()) {
        true => Err(format!("{told_late:?} of null")),
        false => Ok(()),
    }
}

fn call(before: &str, name: &str, args: &[&str]) -> String {
    format!("{before} RETURN {name}({}) AS v", args.join(", "))
}

/// The outcome; an error where nothing may end so.
fn ask(library: &Library, statement: &str, params: &Params) -> Result<Outcome, String> {
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| library.ask_with(statement, params)));
    match asked {
        Err(_) => Err(format!("a panic: {statement}")),
        Ok(Ok(found)) => Ok(Ok(found
            .first()
            .and_then(|row| row.first())
            .map_or_else(|| "no row".to_owned(), |v| v.to_string()))),
        Ok(Err(error)) => {
            let code = error.split(':').next().unwrap_or_default().to_owned();
            let named = [
                "Syntax",
                "Type",
                "Argument",
                "Arithmetic",
                "Semantic",
                "Entity",
                "Function",
            ];
            match named.iter().any(|name| code.starts_with(name)) {
                true => Ok(Err(code)),
                false => Err(format!("fails as nothing may: {error}")),
            }
        }
    }
}

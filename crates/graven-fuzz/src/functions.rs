//! Every function with null, empty, wrong and huge arguments: all ways to hand an argument over must agree.
//!
//! # How it works
//! The library tells which functions it has; [`CALLS`] says what each takes. A call is made with its arguments written in the text, in forms
//! that hide their types, as parameters, with the name in other letters, and for two rows. All of these give the same value or all
//! fail; a type that the text tells may be refused before the statement runs. Null gives null but for the functions of
//! [`KNOWS_NULL`]. Nothing panics, and no failure is an internal one.

use std::panic::AssertUnwindSafe;

use graven::{Params, Value};

use crate::coverage::Coverage;
use crate::library::Library;

/// What one argument is; the others are ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Argument {
    Null,
    Empty,
    Wrong,
    Huge,
}

impl Argument {
    pub(crate) const ALL: [Argument; 4] = [
        Argument::Null,
        Argument::Empty,
        Argument::Wrong,
        Argument::Huge,
    ];
}

/// Kinds of argument: a letter, ordinary, empty, of another type, huge. What is bound by [`BOUND`] can be no parameter.
const KINDS: &[(char, [&str; 4])] = &[
    ('i', ["2", "0", "'x'", "9223372036854775807"]),
    ('f', ["0.5", "0.0", "true", "1.7976931348623157e308"]),
    (
        's',
        [
            "'a b'",
            "''",
            "4",
            "reduce(t = 'ab', x IN range(1, 10) | t + t)",
        ],
    ),
    (
        'l',
        ["[1, 2]", "[]", "date('2020-02-29')", "range(1, 3000)"],
    ),
    (
        't',
        [
            "['1', 'x']",
            "[]",
            "2.5",
            "[x IN range(1, 3000) | toString(x)]",
        ],
    ),
    ('m', ["{a: 1}", "{}", "true", "{a: range(1, 3000)}"]),
    ('N', ["n", "e", "7", ""]),
    ('R', ["r", "q", "'x'", ""]),
    ('P', ["p", "z", "[1]", ""]),
    ('v', ["'7'", "''", "{a: 1}", "'9223372036854775808'"]),
    ('d', ["'2020-02-29'", "''", "[1]", "'+999999999-12-31'"]),
    (
        'L',
        [
            "'2020-02-29T12:30'",
            "''",
            "[1]",
            "'+999999999-12-31T23:59:59.999999999'",
        ],
    ),
    (
        'Z',
        [
            "'2020-02-29T12:30+01:00'",
            "''",
            "[1]",
            "'+999999999-12-31T23:59:59+18:00'",
        ],
    ),
    ('k', ["'12:30'", "''", "[1]", "'23:59:59.999999999'"]),
    (
        'K',
        ["'12:30+01:00'", "''", "[1]", "'23:59:59.999999999-18:00'"],
    ),
    ('S', ["'P1M2DT3S'", "''", "[1]", "'P999999999Y'"]),
    ('o', ["'+01:00'", "''", "[1]", "'+18:00'"]),
    ('u', ["'month'", "''", "5", "'millennium'"]),
    (
        'D',
        [
            "date('2020-02-29')",
            "date('0000-01-01')",
            "'x'",
            "date('+999999999-12-31')",
        ],
    ),
    (
        'M',
        [
            "datetime('2020-02-29T12:30Z')",
            "datetime('1970-01-01T00:00Z')",
            "1.5",
            "datetime('+999999999-12-31T23:59Z')",
        ],
    ),
    (
        'T',
        [
            "localdatetime('2020-02-29T12:30')",
            "localdatetime('1970-01-01T00:00')",
            "true",
            "localdatetime('+999999999-12-31T23:59')",
        ],
    ),
    (
        'C',
        [
            "localtime('12:30')",
            "localtime('00:00')",
            "true",
            "localtime('23:59:59.999999999')",
        ],
    ),
    (
        'Y',
        [
            "time('12:30Z')",
            "time('00:00Z')",
            "true",
            "time('23:59:59.999999999Z')",
        ],
    ),
    (
        'p',
        [
            "point({x: 1, y: 2})",
            "point({x: 0, y: 0})",
            "'x'",
            "point({x: 1e308, y: 1e308})",
        ],
    ),
    ('x', ["{x: 1, y: 2}", "{}", "[1]", "{x: 1e308, y: -1e308}"]),
    (
        'w',
        ["[1.0, 2.0]", "[]", "'x'", "[x IN range(1, 3000) | 1.0 * x]"],
    ),
    (
        'n',
        [
            "'NFC'",
            "''",
            "5",
            "reduce(t = 'ab', x IN range(1, 10) | t + t)",
        ],
    ),
    (
        'y',
        [
            "'INTEGER'",
            "''",
            "5",
            "reduce(t = 'ab', x IN range(1, 10) | t + t)",
        ],
    ),
];

/// Functions and the kinds of their arguments.
const CALLS: &[(&str, &str)] = &[
    ("abs", "i"),
    ("acos", "f"),
    ("asin", "f"),
    ("atan", "f"),
    ("atan2", "ff"),
    ("bTrim", "ss"),
    ("ceil", "f"),
    ("char_length", "s"),
    ("character_length", "s"),
    ("coalesce", "is"),
    ("cos", "f"),
    ("cosh", "f"),
    ("cot", "f"),
    ("coth", "f"),
    ("date", "d"),
    ("date.realtime", "o"),
    ("date.statement", "o"),
    ("date.transaction", "o"),
    ("date.truncate", "uD"),
    ("datetime", "Z"),
    ("datetime.fromEpoch", "ii"),
    ("datetime.fromEpochMillis", "i"),
    ("datetime.realtime", "o"),
    ("datetime.statement", "o"),
    ("datetime.transaction", "o"),
    ("datetime.truncate", "uM"),
    ("degrees", "f"),
    ("distance", "pp"),
    ("duration", "S"),
    ("duration.between", "DM"),
    ("duration.inDays", "TT"),
    ("duration.inMonths", "DD"),
    ("duration.inSeconds", "CC"),
    ("e", ""),
    ("elementId", "N"),
    ("endNode", "R"),
    ("exp", "f"),
    ("floor", "f"),
    ("graven.is_normalized", "sn"),
    ("graven.is_typed", "iy"),
    ("haversin", "f"),
    ("head", "l"),
    ("id", "N"),
    ("isEmpty", "s"),
    ("isNaN", "f"),
    ("keys", "m"),
    ("labels", "N"),
    ("last", "l"),
    ("left", "si"),
    ("length", "P"),
    ("localdatetime", "L"),
    ("localdatetime.realtime", "o"),
    ("localdatetime.statement", "o"),
    ("localdatetime.transaction", "o"),
    ("localdatetime.truncate", "uT"),
    ("localtime", "k"),
    ("localtime.realtime", "o"),
    ("localtime.statement", "o"),
    ("localtime.transaction", "o"),
    ("localtime.truncate", "hC"),
    ("log", "f"),
    ("log10", "f"),
    ("lower", "s"),
    ("lTrim", "ss"),
    ("nodes", "P"),
    ("normalize", "s"),
    ("nullIf", "is"),
    ("pi", ""),
    ("point", "x"),
    ("point.distance", "pp"),
    ("point.withinBBox", "ppp"),
    ("properties", "N"),
    ("radians", "f"),
    ("rand", ""),
    ("randomUUID", ""),
    ("range", "ji"),
    ("relationships", "P"),
    ("replace", "sss"),
    ("reverse", "s"),
    ("right", "si"),
    ("round", "fi"),
    ("rTrim", "ss"),
    ("sign", "f"),
    ("sin", "f"),
    ("sinh", "f"),
    ("size", "l"),
    ("split", "ss"),
    ("sqrt", "f"),
    ("startNode", "R"),
    ("substring", "sii"),
    ("tail", "l"),
    ("tan", "f"),
    ("tanh", "f"),
    ("time", "K"),
    ("time.realtime", "o"),
    ("time.statement", "o"),
    ("time.transaction", "o"),
    ("time.truncate", "hY"),
    ("timestamp", ""),
    ("toBoolean", "v"),
    ("toBooleanList", "t"),
    ("toBooleanOrNull", "v"),
    ("toFloat", "v"),
    ("toFloatList", "t"),
    ("toFloatOrNull", "v"),
    ("toInteger", "v"),
    ("toIntegerList", "t"),
    ("toIntegerOrNull", "v"),
    ("toLower", "s"),
    ("toString", "i"),
    ("toStringList", "t"),
    ("toStringOrNull", "i"),
    ("toUpper", "s"),
    ("trim", "s"),
    ("type", "R"),
    ("upper", "s"),
    ("valueType", "l"),
    ("vector.similarity.cosine", "ww"),
    ("vector.similarity.euclidean", "ww"),
    ("avg", "f"),
    ("collect", "i"),
    ("count", "s"),
    ("max", "i"),
    ("min", "f"),
    ("percentileCont", "ff"),
    ("percentileDisc", "if"),
    ("stDev", "f"),
    ("stDevP", "i"),
    ("sum", "i"),
];

/// Functions that make something of null, or fail with it.
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
];

/// What is bound for arguments that no literal is.
const BOUND: &str = "MATCH p = (n:A)-[r:R]->(), (e:E), z = (:E), ()-[q:Q]->()";

fn kind(letter: char) -> Option<&'static [&'static str; 4]> {
    // A clock's unit, and the first of a range, which is not to be long.
    match letter {
        'h' => Some(&["'hour'", "''", "5", "'millennium'"]),
        'j' => Some(&["1", "0", "'x'", "9223372036854775805"]),
        _ => KINDS.iter().find(|(l, _)| *l == letter).map(|(_, all)| all),
    }
}

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

/// Why a cell can have no call, if it cannot.
pub(crate) fn impossible(name: &str, argument: Argument) -> Option<&'static str> {
    if name == "exists" {
        return Some("exists takes a property or a pattern");
    }
    let letters = CALLS.iter().find(|(known, _)| *known == name)?.1;
    let huge = |l: char| kind(l).is_some_and(|all| !all[3].is_empty());
    match argument {
        _ if letters.is_empty() => Some("the function takes no argument"),
        Argument::Huge if !letters.chars().any(huge) => {
            Some("nodes, relationships and paths are not huge")
        }
        _ => None,
    }
}

/// Calls all functions that the library has.
///
/// # Errors
/// The machine's, such as a full disk.
pub fn run() -> Result<Calls, String> {
    let library = Library::empty()?;
    library.ask("CREATE (:A {a: 1})-[:R {a: 1}]->(:B), (:E), (:X)-[:Q]->(:X)")?;
    let mut calls = Calls::default();
    for row in library.ask("SHOW FUNCTIONS YIELD name")? {
        let Some(Value::String(name)) = row.first() else {
            continue;
        };
        calls.coverage.function(name);
        match CALLS.iter().find(|(known, _)| *known == &**name) {
            Some((name, letters)) => of_function(&library, name, letters, &mut calls),
            None if &**name == "exists" => {}
            None => calls
                .differences
                .push(format!("{name}: what it takes is not known")),
        }
    }
    Ok(calls)
}

fn of_function(library: &Library, name: &str, letters: &str, calls: &mut Calls) {
    let kinds: Vec<&[&str; 4]> = letters.chars().filter_map(kind).collect();
    let entities = letters.chars().any(|l| "NRP".contains(l));
    for at in 0..kinds.len() {
        for argument in Argument::ALL {
            let mut args: Vec<&str> = kinds.iter().map(|all| all[0]).collect();
            args[at] = match argument {
                Argument::Null => "null",
                Argument::Empty => kinds[at][1],
                Argument::Wrong => kinds[at][2],
                Argument::Huge => kinds[at][3],
            };
            if args[at].is_empty() {
                continue;
            }
            calls.compared += 1;
            calls.coverage.call(name, argument);
            if let Err(how) = agree(library, name, &args, entities, argument) {
                let call = format!("{name}({})", args.join(", "));
                calls.differences.push(format!("{call}: {how}"));
            }
        }
    }
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
    let hidden: Vec<String> = args.iter().map(|a| format!("[{a}][0]")).collect();
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
    let volatile = clocks.iter().any(|clock| name.ends_with(clock));
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
    let strict = argument == Argument::Null && !KNOWS_NULL.contains(&name);
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
            ];
            match named.iter().any(|name| code.starts_with(name)) {
                true => Ok(Err(code)),
                false => Err(format!("fails as nothing may: {error}")),
            }
        }
    }
}

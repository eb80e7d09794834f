//! What is not well-formed is refused: damaged texts of moments, durations, numbers and path
//! selectors, and fields of maps that would change nothing.
//!
//! # How it works
//! A well-formed text must be read; then signs are put into it that no form has at that place, and
//! it must be refused. A field put into the map of a moment must change the moment or be refused:
//! one that is dropped in silence is a fault.

use crate::findings::Findings;
use crate::library::Library;

/// Functions and texts that they read.
const MOMENTS: &[(&str, &[&str])] = &[
    (
        "date",
        &[
            "2015-07-21",
            "20150721",
            "2015-07",
            "2015-W30-2",
            "2015W302",
            "2015-Q2-60",
            "2015-202",
            "2015",
            "+12345-01-01",
            "-0044-03-15",
        ],
    ),
    (
        "localtime",
        &["21:40:32.142", "214032.142", "21:40", "2140", "21"],
    ),
    (
        "time",
        &["21:40:32.142+01:00", "21:40Z", "2140-0200", "21:40+01"],
    ),
    (
        "localdatetime",
        &["2015-07-21T21:40:32.142", "20150721T2140", "2015-W30-2T21"],
    ),
    (
        "datetime",
        &[
            "2015-07-21T21:40:32.142+01:00",
            "2015-07-21T21:40Z",
            "2015-07-21T21:40[Europe/Paris]",
        ],
    ),
    (
        "duration",
        &[
            "P1Y2M3DT4H5M6.7S",
            "P2W",
            "PT0.5S",
            "P1.5D",
            "-PT3S",
            "P14DT16H12M",
        ],
    ),
];

/// Put behind a text, these make it none.
const BEHIND: &[&str] = &[
    "-", ":", ".", "T", "W", "Q", "P", "x", "+", "[", "]", "/", ",", "?", " x",
];

/// Put anywhere into a text, these make it none.
const WITHIN: &[&str] = &["x", "?", "--", "::", "..", "TT", "[]", "_", "e", "/"];

/// No durations, though each of their parts may be one.
const NO_DURATIONS: &[&str] = &[
    "P1.5Y2M",
    "P1.5M1D",
    "PT1.5H1M",
    "P20190202T1438721",
    "P",
    "PT",
    "P1",
    "P1YT",
    "PT1",
    "PTS",
    "PY",
    "P1Y1Y",
    "P2M1Y",
    "PT1S1H",
    "P-",
    "1Y",
    "P1Y 2M",
    "PT1.S",
    "P1H",
    "PT1D",
    "P9223372036854775807Y",
];

/// Texts that are no number and no expression.
const NO_NUMBERS: &[&str] = &[
    "0777",
    "1__0",
    "1_",
    "0x",
    "0o",
    "0xg",
    "0o8",
    "1e",
    "1e+",
    "1.5e",
    "1.2.3",
    "1..2",
    "0x1.5",
    "9223372036854775808",
    "-9223372036854775809",
    "1e309",
    "1a",
    "0b1",
];

/// Statements with no path selector.
const NO_SELECTORS: &[&str] = &[
    "MATCH SHORTEST -1 (a)-[:R]->+(b) RETURN 1",
    "MATCH SHORTEST 1.5 (a)-[:R]->+(b) RETURN 1",
    "MATCH SHORTEST 1 2 (a)-[:R]->+(b) RETURN 1",
    "MATCH SHORTEST 1 GROUPS GROUPS (a)-[:R]->+(b) RETURN 1",
    "MATCH SHORTEST GROUPS 1 (a)-[:R]->+(b) RETURN 1",
    "MATCH ALL SHORTEST 1 (a)-[:R]->+(b) RETURN 1",
    "MATCH (a)-[:R*1..2..3]->(b) RETURN 1",
    "MATCH (a)-[:R**]->(b) RETURN 1",
    "MATCH (a)-[:R]->{2,1}(b) RETURN 1",
    "MATCH (a)-[:R]->{,}{1}(b) RETURN 1",
    "MATCH (a)-[:R]->++(b) RETURN 1",
];

/// Maps of moments that are whole, and fields that may be put into them.
const MAPS: &[(&str, &str)] = &[
    ("date", "year: 2016, month: 2, day: 3"),
    ("date", "year: 2016, week: 2, dayOfWeek: 3"),
    ("date", "year: 2016, ordinalDay: 33"),
    ("date", "year: 2016, quarter: 2, dayOfQuarter: 33"),
    ("date", "date: date('2016-02-03')"),
    ("localtime", "hour: 12, minute: 31, second: 14"),
    ("localtime", "time: localtime('12:31:14')"),
    ("time", "hour: 12, minute: 31, second: 14"),
    ("time", "time: time('12:31:14Z')"),
    (
        "localdatetime",
        "year: 2016, month: 2, day: 3, hour: 12, minute: 31, second: 14",
    ),
    (
        "localdatetime",
        "datetime: localdatetime('2016-02-03T12:31:14')",
    ),
    (
        "datetime",
        "year: 2016, month: 2, day: 3, hour: 12, minute: 31, second: 14",
    ),
    ("datetime", "datetime: datetime('2016-02-03T12:31:14Z')"),
    (
        "datetime",
        "date: date('2016-02-03'), time: time('12:31:14Z')",
    ),
    ("datetime", "epochSeconds: 1454502674"),
    ("datetime", "epochMillis: 1454502674123"),
    ("duration", "months: 1, days: 2"),
];

const FIELDS: &[(&str, &str)] = &[
    ("year", "1987"),
    ("month", "7"),
    ("day", "19"),
    ("week", "44"),
    ("dayOfWeek", "6"),
    ("quarter", "3"),
    ("dayOfQuarter", "71"),
    ("ordinalDay", "202"),
    ("hour", "21"),
    ("minute", "47"),
    ("second", "58"),
    ("millisecond", "321"),
    ("microsecond", "321654"),
    ("nanosecond", "321654987"),
    ("timezone", "'+09:00'"),
    ("years", "5"),
    ("months", "7"),
    ("weeks", "9"),
    ("hours", "11"),
    ("seconds", "13"),
    ("unknown", "1"),
];

/// Tries all of them.
///
/// # Errors
/// The machine's, such as a full disk.
pub fn damage() -> Result<Findings, String> {
    let mut findings = Findings::default();
    let library = Library::empty()?;
    for (function, texts) in MOMENTS {
        for text in *texts {
            let read = |text: &str| library.ask(&format!("RETURN {function}('{text}') AS v"));
            findings.tried += 1;
            if let Err(error) = read(text) {
                findings
                    .wrong
                    .push(format!("{function}('{text}') is refused: {error}"));
            }
            let behind = BEHIND.iter().map(|more| format!("{text}{more}"));
            let within = (0..text.len()).flat_map(|at| {
                let (left, right) = text.split_at(at);
                WITHIN
                    .iter()
                    .map(move |more| format!("{left}{more}{right}"))
            });
            for damaged in behind.chain(within) {
                findings.tried += 1;
                if let Ok(rows) = read(&damaged) {
                    findings
                        .wrong
                        .push(format!("{function}('{damaged}') gives {rows:?}"));
                }
            }
        }
    }
    let durations = NO_DURATIONS
        .iter()
        .map(|text| format!("RETURN duration('{text}') AS v"));
    let numbers = NO_NUMBERS.iter().map(|text| format!("RETURN {text} AS v"));
    let selectors = NO_SELECTORS.iter().map(|text| (*text).to_owned());
    for statement in durations.chain(numbers).chain(selectors) {
        findings.tried += 1;
        if let Ok(rows) = library.ask(&statement) {
            findings.wrong.push(format!("{statement} gives {rows:?}"));
        }
    }
    for (function, map) in MAPS {
        let make = |map: &str| library.ask(&format!("RETURN toString({function}({{{map}}})) AS v"));
        let plain = make(map);
        findings.tried += 1;
        if plain.is_err() {
            findings
                .wrong
                .push(format!("{function}({{{map}}}) is refused: {plain:?}"));
        }
        for (field, value) in FIELDS
            .iter()
            .filter(|(field, _)| !map.contains(&format!("{field}:")))
        {
            let more = format!("{map}, {field}: {value}");
            findings.tried += 1;
            let made = make(&more);
            if made.is_ok() && made == plain {
                findings
                    .wrong
                    .push(format!("{function}({{{more}}}) drops {field}"));
            }
        }
    }
    Ok(findings)
}

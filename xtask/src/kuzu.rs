//! `cargo xtask kuzu`: the statements of Kuzu's own test files through the program, and how many of
//! them give Kuzu's result.
//!
//! # How it works
//! A file has cases, each with a new database: the data set that the file names, loaded once and
//! copied for each case. A statement is one run of `graven query`. Values are compared as Kuzu
//! writes them: floats with six digits, lists without quotes, nothing for null. Whole nodes,
//! relationships and paths carry ids of Kuzu's tables; a row with one is compared by its number of
//! columns. `---- ok` wants no error, `---- error` any error. What needs a data set that is not
//! there, or a result by its hash, is counted apart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::graphs::{released_program, shared, target};

/// What a statement should give.
#[derive(Debug)]
enum Wanted {
    Ok,
    Error,
    Rows(Vec<String>),
    /// A result by its hash or in a file.
    Unknown,
}

/// One statement of a case.
struct Step {
    text: String,
    wanted: Wanted,
    ordered: bool,
}

/// A file of tests: its data set and its cases.
struct File {
    data_set: String,
    cases: Vec<(String, Vec<Step>)>,
}

/// What the statements came to.
#[derive(Default)]
struct Tally {
    equal: u32,
    differ: u32,
    refused: u32,
    unknown: u32,
    /// First lines of errors, and how often.
    errors: BTreeMap<String, u32>,
}

/// Runs every file.
///
/// # Errors
/// A wrong option, or no test files.
pub(crate) fn compare(args: &[String]) -> Result<(), String> {
    let (mut program, mut filter, mut shows) = (None, String::new(), false);
    let mut args = args.iter();
    while let Some(option) = args.next() {
        let mut value = || args.next().ok_or(format!("{option} wants a value"));
        match option.as_str() {
            "--program" => program = Some(PathBuf::from(value()?)),
            "--filter" => filter.clone_from(value()?),
            "--failures" => shows = true,
            _ => return Err("the options are --program FILE, --filter TEXT, --failures".into()),
        }
    }
    let folder = shared().join("peers/kuzu");
    let tests = folder.join("test/test_files");
    if !tests.is_dir() {
        return Err(format!("{} is missing; set GRAVEN_SHARED", tests.display()));
    }
    let program = program.map_or_else(released_program, Ok)?;
    let mut files = Vec::new();
    collect(&tests, &mut files)?;
    files.sort();
    let scratch = target().join("kuzu");
    let mut whole = Tally::default();
    for path in files {
        let name = path
            .strip_prefix(&tests)
            .unwrap_or(&path)
            .display()
            .to_string();
        if !name.contains(&filter) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{name}: {e}"))?;
        let runner = Runner {
            program: &program,
            folder: &folder,
            scratch: &scratch,
            shows,
        };
        let tally = runner.file(&parse(&text))?;
        println!(
            "{name}: {} equal, {} differ, {} refused, {} not comparable",
            tally.equal, tally.differ, tally.refused, tally.unknown
        );
        whole.equal += tally.equal;
        whole.differ += tally.differ;
        whole.refused += tally.refused;
        whole.unknown += tally.unknown;
        for (error, count) in tally.errors {
            *whole.errors.entry(error).or_default() += count;
        }
    }
    let compared = whole.equal + whole.differ + whole.refused;
    println!(
        "\n{} of {compared} statements give Kuzu's result ({} %); {} differ, {} are refused, {} \
            are not comparable",
        whole.equal,
        whole.equal * 100 / compared.max(1),
        whole.differ,
        whole.refused,
        whole.unknown
    );
    let mut errors: Vec<(u32, String)> = whole.errors.into_iter().map(|(e, n)| (n, e)).collect();
    errors.sort_by(|a, b| b.cmp(a));
    for (count, error) in errors.iter().take(40) {
        println!("{count:5}  {error}");
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "test") {
            files.push(path);
        }
    }
    Ok(())
}

fn parse(text: &str) -> File {
    let mut file = File {
        data_set: String::new(),
        cases: Vec::new(),
    };
    let mut lines = text.lines().peekable();
    let mut ordered = false;
    let mut statement: Option<String> = None;
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let case = file.cases.len();
        if let Some(rest) = line.strip_prefix("-STATEMENT ") {
            let mut whole = rest.to_owned();
            while let Some(next) = lines.peek() {
                if next.starts_with('-') || next.trim().is_empty() {
                    break;
                }
                whole.push('\n');
                whole.push_str(lines.next().unwrap_or_default());
            }
            statement = Some(whole);
        } else if words.first() == Some(&"-DATASET") {
            file.data_set = words[1..].join(" ");
        } else if words.first() == Some(&"-CASE") {
            file.cases.push((words[1..].join(" "), Vec::new()));
        } else if words.first() == Some(&"-CHECK_ORDER") {
            ordered = true;
        } else if words.first() == Some(&"----")
            && let (Some(text), true) = (statement.take(), case > 0)
        {
            let wanted = match words.get(1) {
                Some(&"ok") => Wanted::Ok,
                Some(word) if word.starts_with("error") => Wanted::Error,
                Some(count) => match count.parse() {
                    Ok(count) => {
                        let rows: Vec<String> =
                            lines.by_ref().take(count).map(str::to_owned).collect();
                        match rows.first().is_some_and(|row| row.starts_with("<FILE>")) {
                            true => Wanted::Unknown,
                            false => Wanted::Rows(rows),
                        }
                    }
                    Err(_) => Wanted::Unknown,
                },
                None => Wanted::Unknown,
            };
            file.cases[case - 1].1.push(Step {
                text,
                wanted,
                ordered: std::mem::take(&mut ordered),
            });
        }
    }
    file
}

struct Runner<'a> {
    program: &'a Path,
    folder: &'a Path,
    scratch: &'a Path,
    shows: bool,
}

impl Runner<'_> {
    fn file(&self, file: &File) -> Result<Tally, String> {
        let mut tally = Tally::default();
        let base = self.data_set(&file.data_set)?;
        for (name, steps) in &file.cases {
            let Some(base) = &base else {
                tally.unknown += u32::try_from(steps.len()).unwrap_or(0);
                continue;
            };
            let db = self.scratch.join("case.graven");
            remove(&db);
            if base.exists() {
                std::fs::copy(base, &db).map_err(|e| format!("{}: {e}", db.display()))?;
            }
            for step in steps {
                self.step(&db, name, step, &mut tally);
            }
            remove(&db);
        }
        Ok(tally)
    }

    /// The database of a data set, which may have no data; none if it is not there.
    fn data_set(&self, name: &str) -> Result<Option<PathBuf>, String> {
        std::fs::create_dir_all(self.scratch).map_err(|e| e.to_string())?;
        let words: Vec<&str> = name.split_whitespace().collect();
        let path = words.get(1).copied().unwrap_or("empty");
        let db = self
            .scratch
            .join(format!("{}.graven", path.replace(['/', '(', ')'], "-")));
        if path.eq_ignore_ascii_case("empty") || db.exists() {
            return Ok(Some(db));
        }
        let folder = self.folder.join("dataset").join(path);
        let mut done = false;
        for file in ["schema.cypher", "copy.cypher"] {
            let Ok(text) = std::fs::read_to_string(folder.join(file)) else {
                continue;
            };
            for statement in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
                let statement = self.placed(statement);
                match self.query(&db, &statement) {
                    Ok(_) => done = true,
                    Err(error) => println!("{name}: {statement}: {error}"),
                }
            }
        }
        Ok(done.then_some(db))
    }

    /// The statement with paths of this machine.
    fn placed(&self, statement: &str) -> String {
        let folder = self.folder.display().to_string();
        statement
            .replace("${KUZU_ROOT_DIRECTORY}", &folder)
            .replace("\"dataset/", &format!("\"{folder}/dataset/"))
            .replace("'dataset/", &format!("'{folder}/dataset/"))
    }

    fn query(&self, db: &Path, statement: &str) -> Result<Vec<Vec<Value>>, String> {
        let mut command = Command::new(self.program);
        command.arg("query").arg(db).arg(statement);
        command.args(["--format", "json", "--memory", "64MiB", "--timeout", "20s"]);
        let output = command.output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let mut lines = text.lines();
            let line = lines
                .find(|line| line.starts_with("error"))
                .unwrap_or("no error");
            return Err(line.to_owned());
        }
        let whole: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rows = whole["rows"].as_array().cloned().unwrap_or_default();
        let row = |row: Value| row.as_array().cloned().unwrap_or_default();
        Ok(rows.into_iter().map(row).collect())
    }

    fn step(&self, db: &Path, case: &str, step: &Step, tally: &mut Tally) {
        let statement = self.placed(&step.text);
        if matches!(step.wanted, Wanted::Unknown) || statement.contains("${") {
            tally.unknown += 1;
            return;
        }
        let found = self.query(db, &statement);
        let (equal, shown) = match (&step.wanted, &found) {
            (Wanted::Ok, Ok(_)) | (Wanted::Error, Err(_)) => (true, String::new()),
            (Wanted::Rows(wanted), Ok(rows)) => {
                // A command says what it did; here it gives no row.
                let is_command = rows.is_empty() && wanted.len() == 1 && wanted[0].ends_with('.');
                let equal = is_command || same(wanted, rows, step.ordered);
                let shown: Vec<String> = rows.iter().take(3).map(|row| line(row)).collect();
                (equal, format!("{wanted:.3?} but {shown:?}"))
            }
            (_, Err(error)) => (false, error.clone()),
            (Wanted::Error, Ok(_)) => (false, "an error is wanted".to_owned()),
            (Wanted::Unknown, _) => return,
        };
        if equal {
            tally.equal += 1;
            return;
        }
        match &found {
            Err(error) => {
                tally.refused += 1;
                let short: String = error.chars().take(100).collect();
                *tally.errors.entry(short).or_default() += 1;
            }
            Ok(_) => tally.differ += 1,
        }
        if self.shows {
            println!("{case}: {statement}\n    {shown}");
        }
    }
}

fn remove(db: &Path) {
    for ending in ["graven", "graven-wal", "graven-lock"] {
        let _ = std::fs::remove_file(db.with_extension(ending));
    }
}

/// Whether rows are those that are wanted.
fn same(wanted: &[String], rows: &[Vec<Value>], ordered: bool) -> bool {
    let mut wanted: Vec<String> = wanted.iter().map(|row| row.trim_end().to_owned()).collect();
    let mut found: Vec<String> = Vec::with_capacity(rows.len());
    for row in rows {
        match row.iter().any(holds_entity) {
            true => found.push(format!("{} columns", row.len())),
            false => found.push(line(row)),
        }
    }
    if found.iter().any(|row| row.ends_with(" columns")) {
        wanted = vec![found.first().cloned().unwrap_or_default(); wanted.len()];
    }
    if !ordered {
        wanted.sort();
        found.sort();
    }
    wanted == found
}

/// Whether a value is a node, a relationship or a path, or holds one.
fn holds_entity(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.contains_key("id") && map.contains_key("properties")
                || map.values().any(holds_entity)
        }
        Value::Array(items) => items.iter().any(holds_entity),
        _ => false,
    }
}

fn line(row: &[Value]) -> String {
    let values: Vec<String> = row.iter().map(written).collect();
    values.join("|").trim_end().to_owned()
}

/// A value as Kuzu writes it.
fn written(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if !number.is_f64() => whole.to_string(),
            _ => format!("{:.6}", number.as_f64().unwrap_or(0.0)),
        },
        Value::String(text) => date_time(text)
            .or_else(|| duration(text))
            .unwrap_or(text.clone()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(k, v)| format!("{k}: {}", written(v)));
            let entries: Vec<String> = entries.collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `2011-08-20T11:25:30` with a blank and with seconds.
fn date_time(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_time = bytes.len() >= 16
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[10] == b'T'
        && bytes[..4].iter().all(u8::is_ascii_digit);
    if !is_time {
        return None;
    }
    let mut time = text.replacen('T', " ", 1);
    if time.len() == 16 {
        time.push_str(":00");
    }
    if let Some(utc) = time.strip_suffix('Z') {
        let seconds = if utc.len() == 16 { ":00" } else { "" };
        time = format!("{utc}{seconds}+00");
    }
    if let Some((head, fraction)) = time.split_once('.')
        && fraction.bytes().all(|b| b.is_ascii_digit())
    {
        let width = if fraction.len() > 6 { 9 } else { 6 };
        let short = fraction.trim_end_matches('0');
        let padded = format!("{short:0<width$}");
        time = format!(
            "{head}.{}",
            if width == 6 {
                padded
            } else {
                fraction.to_owned()
            }
        );
    }
    Some(time)
}

/// `P1Y2M3DT4H5M6S` in words.
fn duration(text: &str) -> Option<String> {
    let (days, time) = match text.strip_prefix('P')?.split_once('T') {
        Some((days, time)) => (days, time),
        None => (text.strip_prefix('P')?, ""),
    };
    let mut words = Vec::new();
    let parts = |text: &str, units: &[(char, &str)], words: &mut Vec<String>| -> Option<f64> {
        let mut number = String::new();
        let mut seconds = 0.0;
        for c in text.chars() {
            if c.is_ascii_digit() || matches!(c, '.' | '-') {
                number.push(c);
                continue;
            }
            let amount: f64 = std::mem::take(&mut number).parse().ok()?;
            let (_, unit) = units.iter().find(|(short, _)| *short == c)?;
            match *unit {
                "hour" => seconds += amount * 3600.0,
                "minute" => seconds += amount * 60.0,
                "second" => seconds += amount,
                unit => {
                    let plural = if amount.abs() == 1.0 { "" } else { "s" };
                    words.push(format!("{amount} {unit}{plural}"));
                }
            }
        }
        number.is_empty().then_some(seconds)
    };
    parts(
        days,
        &[('Y', "year"), ('M', "month"), ('W', "week"), ('D', "day")],
        &mut words,
    )?;
    let seconds = parts(
        time,
        &[('H', "hour"), ('M', "minute"), ('S', "second")],
        &mut words,
    )?;
    if seconds != 0.0 || words.is_empty() {
        let (whole, sign) = (seconds.abs(), if seconds < 0.0 { "-" } else { "" });
        let (hours, rest) = ((whole / 3600.0).floor(), whole % 3600.0);
        let (minutes, rest) = ((rest / 60.0).floor(), rest % 60.0);
        let clock = format!("{sign}{hours:02}:{minutes:02}:{:02}", rest.floor());
        let micros = (rest.fract() * 1e6).round();
        words.push(match micros > 0.0 {
            true => format!("{clock}.{micros:06}"),
            false => clock,
        });
    }
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: values are written as Kuzu writes them.
    #[test]
    fn values_are_written_as_kuzu_does() {
        let text = |text: &str| written(&Value::String(text.to_owned()));
        assert_eq!(text("2011-08-20T11:25"), "2011-08-20 11:25:00");
        assert_eq!(text("P3Y2DT13H2M"), "3 years 2 days 13:02:00");
        assert_eq!(text("Paris"), "Paris");
        assert_eq!(
            written(&serde_json::json!([1, 2.5, true, null])),
            "[1,2.500000,True,]"
        );
    }

    /// Goal: a file gives its cases, statements over several lines and rows.
    #[test]
    fn files_are_read() {
        let file = parse(
            "-DATASET CSV tinysnb\n--\n-CASE One\n-STATEMENT RETURN\n    1;\n-CHECK_ORDER\n---- 1\n1\n\
                -STATEMENT X\n---- error\nBad.\n",
        );
        assert_eq!(file.data_set, "CSV tinysnb");
        let steps = &file.cases[0].1;
        assert_eq!(steps.len(), 2);
        assert_eq!(steps[0].text, "RETURN\n    1;");
        assert!(matches!(&steps[0].wanted, Wanted::Rows(rows) if rows == &["1"]));
        assert!(matches!(steps[1].wanted, Wanted::Error));
    }
}

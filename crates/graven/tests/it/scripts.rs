//! Goal: what statements mean, one small script a class of behaviour, in text that needs no Rust to
//! be read or extended.
//!
//! The scripts lie in `tests/scripts`, `README.txt` there describes the format. A script is data:
//! this file plays it and says what differs, with file and line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use graven::{Database, Error, Params, QueryResult, Value};

use crate::graph::small;

/// A line of a script with the indented lines that continue it.
struct Line {
    /// 1-based.
    number: usize,
    /// Its first word.
    word: String,
    rest: String,
}

/// What a statement is expected to do.
#[derive(Default)]
struct Expected {
    columns: Option<String>,
    rows: Option<Vec<String>>,
    ordered: bool,
    counts: Option<String>,
    failure: Option<Failure>,
    notices: Vec<String>,
    no_notices: bool,
    plan: Vec<String>,
}

/// The beginning of an error's code, and whether the text alone tells of the error.
struct Failure {
    code: String,
    of_text: bool,
    message: String,
}

/// What a statement did.
struct Outcome {
    columns: String,
    rows: Vec<String>,
    counts: String,
    notices: Vec<(String, String)>,
}

/// A database of one case, and what is wrong in it so far.
struct Stage {
    db: Database,
    _folder: tempfile::TempDir,
    params: Params,
}

#[test]
fn statements_do_what_the_scripts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut scripts = Vec::new();
    collect(&folder, &mut scripts);
    scripts.sort();
    assert!(!scripts.is_empty(), "no scripts in {}", folder.display());
    let wanted = std::env::var("GRAVEN_SCRIPT").unwrap_or_default();
    let (mut wrong, mut checks) = (String::new(), 0);
    for path in scripts {
        let name = path.strip_prefix(&folder).expect("below the folder");
        let name = name.display().to_string();
        if name.contains(&wanted) {
            let text = std::fs::read_to_string(&path).expect("a script");
            checks += play(&name, &text, &mut wrong);
        }
    }
    println!("{checks} statements of scripts");
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(checks > 0, "no script is called `{wanted}`");
}

/// Goal: the runner sees what differs: a script with one wrong line of each kind fails at each of
/// them.
#[test]
fn a_script_that_is_wrong_fails() {
    let script = "class wrong
case cells
run UNWIND [1, 2] AS x RETURN x
row 1
case order
run UNWIND [1, 2] AS x RETURN x
ordered
row 2
row 1
case headings
run RETURN 1 AS a
columns b
case counts
run CREATE (:A)
counts nodes_created 1
case no error
run RETURN 1
fails SyntaxError reading
case phase
run UNWIND [0] AS x RETURN 1 / x
fails ArithmeticError reading
case an error
run RETURN y
row 1
case a notice
run RETURN 1
notice UnknownLabel
value 1 + 1 => 3
refused 1 / 0 => TypeError running
";
    let mut wrong = String::new();
    play("wrong.txt", script, &mut wrong);
    let found: Vec<usize> = (wrong.lines())
        .filter_map(|l| {
            l.strip_prefix("wrong.txt:")?
                .split(':')
                .next()?
                .parse()
                .ok()
        })
        .collect();
    assert_eq!(found, [3, 6, 11, 14, 17, 20, 23, 26, 28, 29], "{wrong}");
}

fn collect(folder: &Path, scripts: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder of scripts");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let is_script = path.extension().is_some_and(|e| e == "txt")
            && path.file_name().is_none_or(|n| n != "README.txt");
        if path.is_dir() {
            collect(&path, scripts);
        } else if is_script {
            scripts.push(path);
        }
    }
}

/// The lines of a script without comments, those that are indented added to the one before.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            let last = lines.last_mut().expect("a line to continue");
            last.rest.push('\n');
            last.rest.push_str(trimmed);
            continue;
        }
        let (word, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
        lines.push(Line {
            number: index + 1,
            word: word.to_owned(),
            rest: rest.trim().to_owned(),
        });
    }
    lines
}

/// Plays a script and adds what differs to `wrong`; the number of statements whose outcome was
/// looked at.
fn play(name: &str, text: &str, wrong: &mut String) -> usize {
    let lines = lines(text);
    let plain = Stage::new();
    let mut stage: Option<Stage> = None;
    let (mut class, mut case) = (String::new(), String::new());
    let mut checks = 0;
    let mut index = 0;
    while index < lines.len() {
        let line = &lines[index];
        index += 1;
        let mut found = Vec::new();
        match &*line.word {
            "class" => class.clone_from(&line.rest),
            "case" => {
                case.clone_from(&line.rest);
                stage = None;
            }
            "given" => {
                let stage = stage.get_or_insert_with(Stage::new);
                if let Err(error) = stage.run(&line.rest) {
                    found.push(format!("the statement fails: {}", shown(&error)));
                }
            }
            "param" => {
                let (key, value) = line.rest.split_once('=').expect("param NAME = LITERAL");
                let stage = stage.get_or_insert_with(Stage::new);
                // Also what is not a literal: a date, a point.
                let text = format!("RETURN {value}");
                let made = (stage.db.connect()).query(&text, &Params::new());
                let row = made.and_then(|mut r| r.next_row());
                let value = row
                    .expect("a value")
                    .expect("a row")
                    .into_values()
                    .remove(0);
                stage.params.set(key.trim(), value);
            }
            "run" => {
                let mut expected = Expected::default();
                while let Some(next) = lines.get(index) {
                    if !expected.takes(next) {
                        break;
                    }
                    index += 1;
                }
                let stage = stage.get_or_insert_with(Stage::new);
                found = stage.check(&line.rest, &expected);
                checks += 1;
            }
            "value" => {
                found = plain.check_value(&line.rest);
                checks += 1;
            }
            "refused" => {
                found = plain.check_refused(&line.rest);
                checks += 1;
            }
            other => panic!("{name}:{}: `{other}` begins no line", line.number),
        }
        for what in found {
            let of = if stage.is_some() { &*case } else { "" };
            let _ = writeln!(
                wrong,
                "{name}:{}: {class}; {of}\n    {}\n    {what}",
                line.number, line.rest
            );
        }
    }
    checks
}

impl Expected {
    /// Whether the line is about the statement before; it is kept then.
    fn takes(&mut self, line: &Line) -> bool {
        let rest = line.rest.clone();
        match &*line.word {
            "columns" => self.columns = Some(rest),
            "row" => self.rows.get_or_insert_default().push(rest),
            "empty" => self.rows = Some(Vec::new()),
            "ordered" => self.ordered = true,
            "counts" => self.counts = Some(rest),
            "fails" => self.failure = Some(Failure::new(&rest)),
            "notice" => self.notices.push(rest),
            "silent" => self.no_notices = true,
            "plan" => self.plan.push(rest),
            _ => return false,
        }
        true
    }
}

impl Failure {
    /// `CODE reading|running [part of the message]`
    fn new(text: &str) -> Self {
        let mut words = text.splitn(3, ' ');
        let code = words.next().unwrap_or_default().to_owned();
        let of_text = match words.next() {
            Some("reading") => true,
            Some("running") => false,
            other => panic!("`{text}`: {other:?} is neither `reading` nor `running`"),
        };
        let message = words.next().unwrap_or_default().to_owned();
        Failure {
            code,
            of_text,
            message,
        }
    }

    fn differs(&self, error: &Error, when: &str) -> Option<String> {
        let is_it = error.code().starts_with(&self.code) && error.message().contains(&self.message);
        (!is_it).then(|| format!("{when} fails with {}", shown(error)))
    }
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("script.graven");
        let mut config = small();
        config.create = true;
        let db = Database::open(&path, config).expect("created");
        Stage {
            db,
            _folder: folder,
            params: Params::new(),
        }
    }

    fn run(&self, text: &str) -> Result<Outcome, Error> {
        let result = self.db.connect().query(text, &self.params)?;
        Outcome::of(result)
    }

    fn check(&self, text: &str, expected: &Expected) -> Vec<String> {
        if let Some(failure) = &expected.failure {
            return self.check_failure(text, failure);
        }
        if let Err(error) = self.explain(text) {
            return vec![format!("EXPLAIN fails with {}", shown(&error))];
        }
        let outcome = match self.run(text) {
            Ok(outcome) => outcome,
            Err(error) => return vec![format!("it fails with {}", shown(&error))],
        };
        let mut wrong = Vec::new();
        let mut compare = |what: &str, wanted: &str, got: &str| {
            if wanted != got {
                wrong.push(format!("{what}: wanted {wanted}\n    {what}: got    {got}"));
            }
        };
        if let Some(columns) = &expected.columns {
            compare("columns", columns, &outcome.columns);
        }
        if let Some(wanted) = &expected.rows {
            let (mut wanted, mut got) = (wanted.clone(), outcome.rows.clone());
            if !expected.ordered {
                wanted.sort();
                got.sort();
            }
            compare("rows", &wanted.join("\n"), &got.join("\n"));
        }
        // A statement of which nothing is said changes nothing.
        compare(
            "counts",
            expected.counts.as_deref().unwrap_or_default(),
            &outcome.counts,
        );
        for notice in &expected.notices {
            let (code, message) = notice.split_once(' ').unwrap_or((notice, ""));
            let known = |(c, m): &(String, String)| c == code && m.contains(message);
            if !outcome.notices.iter().any(known) {
                wrong.push(format!("no notice {notice} among {:?}", outcome.notices));
            }
        }
        if expected.no_notices && !outcome.notices.is_empty() {
            wrong.push(format!("notices {:?}", outcome.notices));
        }
        if !expected.plan.is_empty() {
            let plan = self.explain(text).ok().flatten().unwrap_or_default();
            for part in &expected.plan {
                let (is_wanted, part) = match part.strip_prefix("without ") {
                    Some(part) => (false, part),
                    None => (true, &**part),
                };
                if plan.contains(part) != is_wanted {
                    wrong.push(format!("`{part}` wanted in the plan: {is_wanted}\n{plan}"));
                }
            }
        }
        wrong
    }

    /// The plan that EXPLAIN gives, of a statement that does not begin with it.
    fn explain(&self, text: &str) -> Result<Option<String>, Error> {
        if text.starts_with("EXPLAIN") || text.starts_with("PROFILE") {
            return Ok(None);
        }
        let result = (self.db.connect()).query(&format!("EXPLAIN {text}"), &self.params)?;
        Ok(result.plan())
    }

    fn check_failure(&self, text: &str, failure: &Failure) -> Vec<String> {
        let mut wrong = Vec::new();
        match self.run(text) {
            Ok(outcome) => wrong.push(format!("no error, but rows {:?}", outcome.rows)),
            Err(error) => {
                wrong.extend(failure.differs(&error, "it"));
                // Nothing but the text was needed: EXPLAIN, which runs nothing, says the same.
                match self.explain(text) {
                    Err(error) if failure.of_text => {
                        wrong.extend(failure.differs(&error, "EXPLAIN"))
                    }
                    Err(error) => wrong.push(format!("EXPLAIN fails with {}", shown(&error))),
                    Ok(Some(_)) if failure.of_text => {
                        wrong.push("EXPLAIN does not fail".to_owned())
                    }
                    Ok(_) => {}
                }
            }
        }
        wrong
    }

    /// `EXPRESSION => VALUE`: alone, and for several rows at once.
    fn check_value(&self, line: &str) -> Vec<String> {
        let (expression, wanted) = line.rsplit_once(" => ").expect("value EXPRESSION => VALUE");
        let texts = [
            (format!("RETURN {expression} AS c"), 1),
            (
                format!("UNWIND [1, 2, 3] AS row RETURN {expression} AS c"),
                3,
            ),
        ];
        for (text, count) in texts {
            let expected = Expected {
                rows: Some(vec![wanted.trim().to_owned(); count]),
                ..Expected::default()
            };
            let wrong = self.check(&text, &expected);
            if !wrong.is_empty() {
                return wrong;
            }
        }
        Vec::new()
    }

    /// `EXPRESSION => CODE reading|running`: alone, and for several rows at once.
    fn check_refused(&self, line: &str) -> Vec<String> {
        let (expression, failure) = line
            .rsplit_once(" => ")
            .expect("refused EXPRESSION => CODE PHASE");
        let failure = Failure::new(failure.trim());
        let mut wrong = self.check_failure(&format!("RETURN {expression} AS c"), &failure);
        if wrong.is_empty() {
            let text = format!("UNWIND [1, 2, 3] AS row RETURN {expression} AS c");
            wrong = self.check_failure(&text, &failure);
        }
        wrong
    }
}

impl Outcome {
    fn of(mut result: QueryResult) -> Result<Self, Error> {
        let columns = result.columns().join(" | ");
        let mut rows = Vec::new();
        while let Some(row) = result.next_row()? {
            let cells: Vec<String> = row.values().iter().map(Value::to_string).collect();
            rows.push(cells.join(" | "));
        }
        let summary = result.summary();
        let counts = summary.counters.named().into_iter().filter(|(_, n)| *n > 0);
        let counts: Vec<String> = counts.map(|(name, n)| format!("{name} {n}")).collect();
        let notices = summary.notices.into_iter();
        Ok(Outcome {
            columns,
            rows,
            counts: counts.join(", "),
            notices: notices.map(|n| (n.code, n.message)).collect(),
        })
    }
}

fn shown(error: &Error) -> String {
    format!(
        "{} ({}) {error}",
        error.code(),
        if error.is_of_text() {
            "reading"
        } else {
            "running"
        }
    )
}

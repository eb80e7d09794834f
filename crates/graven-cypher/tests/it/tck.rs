//! The openCypher scenarios: every query text parses (or fails as the scenario says), nothing
//! panics.
//!
//! Nothing is executed here. A query that needs what this build does not have must say so with the
//! code meant for it; any other difference is listed and counted, and the counts must not get
//! worse.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use graven_cypher::{
    Code, IndexView, Named, ParameterNames, ProcedureView, SchemaView, TypeSet, parse_and_plan,
};

/// Compile-time errors of the scenarios that are reported with the right category and detail.
const ERRORS_RIGHT_MIN: usize = 450;

/// An empty graph with the procedures a scenario declares.
#[derive(Default)]
struct Declared {
    procedures: BTreeMap<String, ProcedureView>,
}

impl SchemaView for Declared {
    fn node_count(&self) -> u64 {
        0
    }
    fn label_count(&self, _: &str) -> Option<u64> {
        None
    }
    fn type_count(&self, _: &str) -> Option<u64> {
        None
    }
    fn relationship_count(&self) -> u64 {
        0
    }
    fn pattern_count(&self, _: Option<&str>, _: Option<&str>, _: Option<&str>) -> u64 {
        0
    }
    fn knows_key(&self, _: &str) -> bool {
        true
    }
    fn index(&self, _: &str, _: &str) -> Option<IndexView> {
        None
    }
    fn names(&self, _: Named) -> Vec<String> {
        Vec::new()
    }
    fn procedure(&self, name: &str) -> Option<ProcedureView> {
        self.procedures.get(name).cloned()
    }
}

/// One scenario, outlines expanded.
struct Scenario {
    name: String,
    schema: Declared,
    /// Set-up and control queries.
    others: Vec<String>,
    query: String,
    /// `Type: Detail` of an error at compile time.
    compile_error: Option<(String, String)>,
}

#[derive(Default)]
struct Counts {
    queries: usize,
    planned: usize,
    not_available: usize,
    unavailable: BTreeMap<String, usize>,
    errors_right: usize,
    errors_not_available: usize,
    wrong: Vec<String>,
}

#[test]
fn every_scenario_parses_or_fails_as_it_should() {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("data/opencypher-tck/features");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no openCypher scenarios at {}", folder.display());
        return;
    }
    let mut files = Vec::new();
    feature_files(&folder, &mut files);
    files.sort();
    let mut counts = Counts::default();
    let mut scenarios = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        for scenario in read_feature(&text) {
            scenarios += 1;
            judge(&scenario, &mut counts);
        }
    }
    println!(
        "{scenarios} scenarios, {} queries: {} planned, {} need what this build lacks",
        counts.queries, counts.planned, counts.not_available
    );
    for (what, count) in &counts.unavailable {
        println!("  {count:5} {what}");
    }
    println!(
        "compile-time errors: {} right, {} hidden by what this build lacks",
        counts.errors_right, counts.errors_not_available
    );
    println!("{} wrong:\n{}", counts.wrong.len(), counts.wrong.join("\n"));
    assert!(scenarios > 2000, "only {scenarios} scenarios were found");
    assert!(
        counts.wrong.is_empty(),
        "differences from the scenarios, listed above"
    );
    assert!(
        counts.errors_right >= ERRORS_RIGHT_MIN,
        "{} errors right",
        counts.errors_right
    );
}

fn judge(scenario: &Scenario, counts: &mut Counts) {
    for text in &scenario.others {
        check_valid(&scenario.name, text, &scenario.schema, counts);
    }
    let Some((category, detail)) = &scenario.compile_error else {
        check_valid(&scenario.name, &scenario.query, &scenario.schema, counts);
        return;
    };
    counts.queries += 1;
    match parse_and_plan(&scenario.query, &scenario.schema, &ParameterNames::Any) {
        Ok(_) => counts.wrong.push(format!(
            "{}: no {category}: {detail}\n{}",
            scenario.name, scenario.query
        )),
        Err(found) if found.code.category() == category && found.code.detail() == detail => {
            counts.errors_right += 1
        }
        Err(found) if lacks(found.code) => counts.errors_not_available += 1,
        Err(found) => counts.wrong.push(format!(
            "{}: wanted {category}: {detail}\n{}",
            scenario.name,
            found.render()
        )),
    }
}

fn check_valid(name: &str, text: &str, schema: &Declared, counts: &mut Counts) {
    counts.queries += 1;
    match parse_and_plan(text, schema, &ParameterNames::Any) {
        Ok(_) => counts.planned += 1,
        Err(found) if lacks(found.code) => {
            counts.not_available += 1;
            let message = found
                .message
                .split(':')
                .next()
                .unwrap_or_default()
                .to_owned();
            *counts.unavailable.entry(message).or_default() += 1;
        }
        Err(found) => counts
            .wrong
            .push(format!("{name}: valid, but\n{}", found.render())),
    }
}

fn lacks(code: Code) -> bool {
    code == Code::FeatureNotAvailable
}

fn feature_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            feature_files(&path, files);
        } else if path.extension().is_some_and(|e| e == "feature") {
            files.push(path);
        }
    }
}

/// Scenarios of a feature file, one per row of the examples of an outline.
fn read_feature(text: &str) -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("Scenario") {
            blocks.push(std::mem::take(&mut block));
        }
        block.push(line);
    }
    blocks.push(block);
    for block in blocks.into_iter().skip(1) {
        let examples = block.iter().position(|l| l.trim().starts_with("Examples:"));
        let (body, rows) = block.split_at(examples.unwrap_or(block.len()));
        let rows: Vec<Vec<String>> = rows
            .iter()
            .filter(|l| l.trim().starts_with('|'))
            .map(|l| cells(l))
            .collect();
        let Some((heading, rows)) = rows.split_first() else {
            scenarios.push(read_scenario(body, &[]));
            continue;
        };
        for row in rows {
            let values: Vec<(String, String)> = heading
                .iter()
                .map(|h| format!("<{h}>"))
                .zip(row.iter().cloned())
                .collect();
            scenarios.push(read_scenario(body, &values));
        }
    }
    scenarios
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut chars = line.trim().trim_start_matches('|').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'|') => cells
                .last_mut()
                .expect("a cell")
                .push(chars.next().expect("peeked")),
            '|' => cells.push(String::new()),
            c => cells.last_mut().expect("a cell").push(c),
        }
    }
    cells.pop();
    cells
        .into_iter()
        .map(|cell| cell.trim().to_owned())
        .collect()
}

fn read_scenario(body: &[&str], values: &[(String, String)]) -> Scenario {
    let replace = |text: &str| {
        values.iter().fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    };
    let mut scenario = Scenario {
        name: replace(body[0].trim()),
        schema: Declared::default(),
        others: Vec::new(),
        query: String::new(),
        compile_error: None,
    };
    let mut step = String::new();
    let mut lines = body[1..].iter();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line == "\"\"\"" {
            let doc: Vec<&str> = lines
                .by_ref()
                .take_while(|l| l.trim() != "\"\"\"")
                .copied()
                .collect();
            let doc = replace(&doc.join("\n"));
            if step.contains("executing query") {
                scenario.query = doc;
            } else {
                scenario.others.push(doc);
            }
            continue;
        }
        step = replace(line);
        if let Some((_, signature)) = step.split_once("there exists a procedure ") {
            let (name, view) = procedure(signature.trim_end_matches(':'));
            scenario.schema.procedures.insert(name, view);
        }
        if let Some((error, detail)) = step.split_once(" should be raised at compile time: ") {
            let category = error.rsplit(' ').next().unwrap_or_default().to_owned();
            scenario.compile_error = Some((category, detail.trim().to_owned()));
        }
    }
    scenario
}

/// `name(arg :: TYPE?, ...) :: (column :: TYPE?, ...)`.
fn procedure(signature: &str) -> (String, ProcedureView) {
    let (name, rest) = signature.split_once('(').expect("arguments");
    let (arguments, columns) = rest.split_once(')').expect("end of arguments");
    let fields = |list: &str| -> Vec<(String, TypeSet)> {
        let list = list
            .trim()
            .trim_start_matches("::")
            .trim()
            .trim_start_matches('(')
            .trim_end_matches(')');
        list.split(',')
            .filter_map(|field| field.split_once("::"))
            .map(|(name, ty)| {
                (
                    name.trim().to_owned(),
                    type_named(ty.trim().trim_end_matches('?')),
                )
            })
            .collect()
    };
    let view = ProcedureView {
        writes: false,
        arguments: fields(arguments),
        optional: 0,
        columns: fields(columns),
    };
    (name.trim().to_owned(), view)
}

fn type_named(name: &str) -> TypeSet {
    match name {
        "STRING" => TypeSet::STRING,
        "INTEGER" => TypeSet::INTEGER,
        "FLOAT" | "NUMBER" => TypeSet::NUMBER,
        "BOOLEAN" => TypeSet::BOOLEAN,
        _ => TypeSet::ANY,
    }
}

//! Whether two databases hold the same nodes, relationships and properties, whatever their ids are.
//!
//! # How it works
//! Every node is a line of its labels and properties, every relationship one of its type,
//! properties, and the labels and LDBC id of both ends. For each combination of labels and each
//! type the number of lines and two sums of their hashes must be equal; where they are not, the
//! lines themselves are compared and the first that one side lacks are told.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use graven::{Database, Params, Value};

/// Lines told of each difference.
const TOLD: usize = 3;

const NODES: &str = "MATCH (n) RETURN labels(n) AS class, properties(n) AS properties";
const RELATIONSHIPS: &str = "MATCH (a)-[r]->(b) RETURN type(r) AS class, properties(r) AS \
    properties, \
                             labels(a) AS labelsA, a.id AS a, labels(b) AS labelsB, b.id AS b";

/// Lines, and two sums of hashes.
type Sums = BTreeMap<String, (u64, u64, u64)>;

/// Compares; how many lines there are, and what differs.
pub(super) fn compare(a: &Database, b: &Database) -> Result<(u64, Vec<String>), String> {
    let (mut lines, mut differences) = (0, Vec::new());
    for text in [NODES, RELATIONSHIPS] {
        let (left, right) = (sums(a, text)?, sums(b, text)?);
        lines += left.values().map(|sum| sum.0).sum::<u64>();
        for class in left
            .keys()
            .chain(right.keys().filter(|class| !left.contains_key(*class)))
        {
            if left.get(class) != right.get(class) {
                let (of_a, of_b) = (lines_of(a, text, class)?, lines_of(b, text, class)?);
                differences.push(told(class, &of_a, &of_b));
            }
        }
    }
    Ok((lines, differences))
}

fn told(class: &str, a: &BTreeMap<String, i64>, b: &BTreeMap<String, i64>) -> String {
    let missing = |from: &BTreeMap<String, i64>, of: &BTreeMap<String, i64>| {
        let lines = from
            .iter()
            .filter(|(line, count)| of.get(*line) != Some(*count));
        let lines: Vec<&str> = lines.map(|(line, _)| line.as_str()).take(TOLD).collect();
        lines.join("\n    ")
    };
    format!(
        "{class}\n  only applied:\n    {}\n  only expected:\n    {}",
        missing(a, b),
        missing(b, a)
    )
}

fn each(db: &Database, text: &str, visit: &mut dyn FnMut(&str, String)) -> Result<(), String> {
    let result = db.connect().query(text, &Params::new());
    for row in result.map_err(|e| e.to_string())? {
        let row = row.map_err(|e| e.to_string())?;
        let mut values = row.into_values().into_iter();
        let class = line(&values.next().unwrap_or_default());
        let rest: Vec<String> = values.map(|value| line(&value)).collect();
        visit(&class, rest.join(" "));
    }
    Ok(())
}

fn sums(db: &Database, text: &str) -> Result<Sums, String> {
    let mut sums = Sums::new();
    each(db, text, &mut |class, line| {
        let hash = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, &line).hash(&mut hasher);
            hasher.finish()
        };
        let sum = sums.entry(class.to_owned()).or_default();
        sum.0 += 1;
        sum.1 = sum.1.wrapping_add(hash(1));
        sum.2 = sum.2.wrapping_add(hash(2));
    })?;
    Ok(sums)
}

fn lines_of(db: &Database, text: &str, wanted: &str) -> Result<BTreeMap<String, i64>, String> {
    let mut lines = BTreeMap::new();
    each(db, text, &mut |class, line| {
        if class == wanted {
            *lines.entry(line).or_default() += 1;
        }
    })?;
    Ok(lines)
}

/// A value as text; lists in one order, since neither tables nor streams give them one.
fn line(value: &Value) -> String {
    match value {
        Value::List(items) => {
            let mut items: Vec<String> = items.iter().map(line).collect();
            items.sort();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{key}: {}", line(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

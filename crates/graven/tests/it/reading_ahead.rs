//! Goal: what a thread reads ahead of an operator that writes (EX-89, EX-90) makes the same graph
//! in the same order as one thread does; errors on either side leave nothing.

use std::fmt::Write;
use std::path::Path;

use graven::{Config, Database, Params};

const NODES: usize = 5_000;
const RELATIONSHIPS: usize = 30_000;

fn open(folder: &Path, threads: usize) -> Database {
    let mut config = Config::default();
    (config.memory, config.create, config.threads) = (64 << 20, true, threads);
    let path = folder.join(format!("threads-{threads}.graven"));
    let db = Database::open(path, config).expect("opens");
    for text in [
        "CREATE NODE TABLE P(id INT64, name STRING, PRIMARY KEY(id))",
        "CREATE REL TABLE T(FROM P TO P, n INT64)",
    ] {
        ask(&db, text).expect(text);
    }
    db
}

/// The rows of a statement as texts, or its error.
fn ask(db: &Database, text: &str) -> Result<Vec<String>, String> {
    let result = db.connect().query(text, &Params::new());
    let rows = result.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let rows = rows.map_err(|error| error.to_string())?;
    let row = |row: &graven::Row| {
        let values = row.values().iter().map(ToString::to_string);
        values.collect::<Vec<_>>().join("|")
    };
    Ok(rows.iter().map(row).collect())
}

fn explained(db: &Database, text: &str) -> String {
    let result = db.connect().query(text, &Params::new());
    let mut result = result.unwrap_or_else(|error| panic!("{text}: {error}"));
    while result.next_row().expect(text).is_some() {}
    format!("{:?}", result.steps().expect("it is explained"))
}

/// Writes the tables; the last relationship has this end.
fn write(folder: &Path, last: &str) {
    let mut nodes = "id,name\n".to_owned();
    for node in 0..NODES {
        writeln!(nodes, "{node},name {node}").expect("a text grows");
    }
    let mut relationships = "from,to,n\n".to_owned();
    for at in 0..RELATIONSHIPS - 1 {
        let (from, to) = (at * 7 % NODES, at * 11 % NODES);
        writeln!(relationships, "{from},{to},{at}").expect("a text grows");
    }
    writeln!(relationships, "1,{last},{}", RELATIONSHIPS - 1).expect("a text grows");
    std::fs::write(folder.join("p.csv"), nodes).expect("written");
    std::fs::write(folder.join("t.csv"), relationships).expect("written");
}

fn copy(folder: &Path, table: &str) -> String {
    let file = format!("{}.csv", table.to_lowercase());
    format!("COPY {table} FROM '{}'", folder.join(file).display())
}

const ALL: &str = "MATCH (a:P)-[r:T]->(b:P) RETURN id(a), a.name, id(r), r.n, b.id ORDER BY id(r)";

#[test]
fn a_thread_reads_ahead_and_the_graph_is_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "2");
    let [one, two] = [1, 2].map(|threads| open(folder, threads));
    for (db, reads_ahead) in [(&one, false), (&two, true)] {
        let plan = explained(db, &format!("EXPLAIN {}", copy(folder, "T")));
        assert_eq!(plan.contains("ReadAhead"), reads_ahead, "{plan}");
        for table in ["P", "T"] {
            ask(db, &copy(folder, table)).expect(table);
        }
    }
    let all = ask(&one, ALL).expect(ALL);
    assert_eq!(all.len(), RELATIONSHIPS);
    assert_eq!(ask(&two, ALL).expect(ALL), all);
    // What changes by rows of a file, and what it profiles.
    let set = format!(
        "PROFILE LOAD FROM '{}' MATCH (p:P {{id: id}}) SET p.name = name + '!'",
        folder.join("p.csv").display()
    );
    assert!(explained(&two, &set).contains("ReadAhead"), "{set}");
    let changed = "MATCH (p:P) WHERE p.name = 'name ' + toString(p.id) + '!' RETURN count(*)";
    assert_eq!(ask(&two, changed), Ok(vec![NODES.to_string()]));
}

#[test]
fn errors_of_either_thread_leave_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "no number");
    let mut errors = Vec::new();
    for threads in [1, 2] {
        let db = open(folder, threads);
        ask(&db, &copy(folder, "P")).expect("copied");
        // The last row cannot be read.
        errors.push(ask(&db, &copy(folder, "T")).expect_err("a text is no key"));
        // Nodes that are there cannot be created, which shows while more are read.
        errors.push(ask(&db, &copy(folder, "P")).expect_err("the keys are there"));
        let counts =
            "MATCH (p:P) WITH count(p) AS p OPTIONAL MATCH ()-[t:T]->() RETURN p, count(t)";
        assert_eq!(ask(&db, counts), Ok(vec![format!("{NODES}|0")]));
    }
    let (one, two) = errors.split_at(2);
    assert_eq!(one, two);
}

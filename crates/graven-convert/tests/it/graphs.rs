//! Graphs with values of all types and names of all sorts, and what of them must come back.

use graven::{Config, Connection, Database, Params};

/// Literals of all types a property can have.
pub(crate) const VALUES: &[&str] = &[
    "1",
    "-9223372036854775807 - 1",
    "1.5",
    "-0.0",
    "1e300",
    "0.0 / 0.0",
    "-1.0 / 0.0",
    "true",
    "'a,b;c|d'",
    "'say \"hi\" <&>'",
    "'line\\r\\nfeed;\\n'",
    "' blank '",
    "'007'",
    "'null'",
    "'\\u0001 control'",
    "'\\uFFFE no character'",
    "'gr\u{fc}n \u{1F600}'",
    "date('2024-02-29')",
    "date('-0044-03-15')",
    "localtime('10:00:00.000000001')",
    "time('10:00+01:00')",
    "localdatetime('2024-01-01T10:00')",
    "datetime('2024-01-01T10:00Z')",
    "datetime('2024-07-01T10:00+02:00[Europe/Berlin]')",
    "duration('P1Y2M3DT4.5S')",
    "point({x: 1, y: 2.5})",
    "point({longitude: 1, latitude: 2, height: 3})",
    "[1, 2]",
    "['a', 'it\\'s']",
    "[date('2024-01-01')]",
    "[1.5, 2.5]",
    "[true, false]",
];

/// Those that tables cannot hold.
pub(crate) const NOT_IN_TABLES: &[&str] = &[
    "''",
    "[]",
    "['']",
    "[1, 'a']",
    "vector([-9223372036854775807 - 1, 1], 2, INTEGER)",
    "vector([0.1, -3.4e38], 2, FLOAT32)",
    "[vector([0.1], 1, FLOAT), vector([-0.0, 2], 2, FLOAT)]",
];

pub(crate) fn database() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let db = Database::open(folder.path().join("it.graven"), config).expect("opened");
    (folder, db)
}

pub(crate) fn run(connection: &Connection, text: &str) -> Vec<String> {
    let rows = connection.query(text, &Params::new());
    let rows = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows.iter()
        .map(|row| format!("{:?}", row.values()))
        .collect()
}

/// All of a graph, in an order that does not depend on ids.
pub(crate) fn contents(connection: &Connection) -> Vec<String> {
    let nodes = "MATCH (n) \
         RETURN COLLECT { UNWIND labels(n) AS l RETURN l ORDER BY l }, properties(n)";
    let mut all = run(connection, nodes);
    all.extend(run(
        connection,
        "MATCH (a)-[r]->(b) RETURN a.nr, type(r), properties(r), b.nr",
    ));
    all.sort();
    all
}

/// Constraints and indexes.
pub(crate) fn schema(connection: &Connection) -> Vec<String> {
    let mut all = run(
        connection,
        "SHOW CONSTRAINTS YIELD createStatement RETURN createStatement",
    );
    all.extend(run(
        connection,
        "SHOW INDEXES YIELD createStatement RETURN createStatement",
    ));
    all
}

/// A graph with each of the values at a node and at a relationship, under a key that holds values
/// of one type and under one that holds all.
pub(crate) fn fill(connection: &Connection, values: &[&str]) {
    run(
        connection,
        "CREATE CONSTRAINT unique_nr FOR (n:A) REQUIRE n.nr IS UNIQUE",
    );
    run(
        connection,
        "CREATE INDEX by_name FOR (n:`B c`) ON (n.`a key`)",
    );
    let labels = ["", ":A", ":`B c`", ":A:`B c`", ":Exported", ":A:`d``e`"];
    for (nr, value) in values.iter().enumerate() {
        let label = labels[nr % labels.len()];
        run(
            connection,
            &format!(
                "CREATE (n{label} {{nr: {nr}, labels: 'x', v{nr}: {value}, `a key`: {value}, \
                    exported_id: \
                    {nr}}})"
            ),
        );
    }
    run(connection, "CREATE (n:A {nr: 1000})");
    for (nr, value) in values.iter().enumerate() {
        let name = ["KNOWS", "`of kind`"][nr % 2];
        let other = (nr * 7 + 3) % values.len();
        run(
            connection,
            &format!(
                "MATCH (a {{nr: {nr}}}), (b {{nr: {other}}}) \
                 CREATE (a)-[:{name} {{w: {value}, `q``uote`: {nr}, label: 'y'}}]->(b)"
            ),
        );
    }
    run(connection, "MATCH (n {nr: 3}) DETACH DELETE n");
}

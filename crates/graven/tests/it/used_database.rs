//! Goal: `USE` takes each name of the database wherever a query begins, and no other one.

use graven::Params;

use crate::graph::social;
use crate::neo4j_compat::{refused, rows};

#[test]
fn use_takes_each_name_of_the_database() {
    let social = social();
    let name = social.db.path().file_stem().expect("a name");
    let name = name.to_string_lossy();
    for used in [
        "neo4j".to_owned(),
        "NEO4J".to_owned(),
        "system".to_owned(),
        format!("`{name}`"),
        format!("`{}`", name.to_uppercase()),
        "graph.byName('Neo4j')".to_owned(),
        "graph.byName('neo' + '4j')".to_owned(),
        "graph.byName($name)".to_owned(),
    ] {
        let params = Params::new().with("name", "neo4j");
        for text in [
            format!("USE {used} RETURN 1 AS x"),
            format!("CALL {{ USE {used} RETURN 1 AS x }} RETURN x"),
            format!("WITH 1 AS y CALL {{ USE {used} WITH y RETURN y AS x }} RETURN x"),
            format!("WITH 1 AS y CALL (y) {{ USE {used} RETURN y AS x }} RETURN x"),
            format!("USE {used} RETURN 1 AS x UNION USE {used} RETURN 1 AS x"),
        ] {
            let mut rows = social.db.connect().query(&text, &params).expect(&text);
            let row = rows.next_row().expect(&text).expect("a row");
            assert_eq!(row.values()[0].to_string(), "1", "{text}");
            assert!(rows.next_row().expect(&text).is_none(), "{text}");
        }
    }
    assert!(!rows(&social, "USE neo4j SHOW DATABASES").is_empty());
    let not_found = "NotAvailable.DatabaseNotFound";
    for text in [
        "USE other RETURN 1",
        "USE other SHOW DATABASES",
        "USE other CREATE INDEX FOR (n:N) ON (n.x)",
        "USE graph.byName('other') RETURN 1",
        "USE graph.byName('oth' + 'er') RETURN 1",
        "RETURN 1 AS x UNION USE other RETURN 1 AS x",
        "CALL { USE other RETURN 1 AS x } RETURN x",
    ] {
        refused(text, &[not_found, "`other`", "SHOW DATABASES"]);
    }
    refused(
        "USE graph.byElementId('x') RETURN 1",
        &["NotAvailable.FeatureNotAvailable", "graph.byElementId"],
    );
    refused(
        "USE graph.byName(1 + 1) RETURN 1",
        &["InvalidArgumentType", "name"],
    );
    refused(
        "MATCH (n) USE neo4j RETURN n",
        &["SyntaxError.InvalidClauseComposition", "at the beginning"],
    );
    refused("USE neo4j", &["SyntaxError.UnexpectedSyntax", "a clause"]);
}

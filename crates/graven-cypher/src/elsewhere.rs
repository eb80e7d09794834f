//! Functions and procedures of libraries that this build does not have: what to write in their
//! place.
//!
//! # How it works
//! A table of the beginnings of names; the longest one that fits tells. Names that it does not know
//! are compared with those that there are.

/// Beginnings of names, in lower case, and what to do instead.
const INSTEAD: &[(&str, &str)] = &[
    (
        "apoc.config.",
        "`SHOW SETTINGS` lists the settings of the database",
    ),
    (
        "apoc.custom.",
        "`CREATE MACRO name(a) AS expression` names an expression",
    ),
    (
        "apoc.cypher.mapparallel",
        "write `CALL (x) { ... }`: a statement uses several threads by itself",
    ),
    (
        "apoc.cypher.parallel",
        "write `CALL (x) { ... }`: a statement uses several threads by itself",
    ),
    (
        "apoc.cypher.runfile",
        "`graven query --file` runs the statements of a file",
    ),
    (
        "apoc.cypher.runschemafile",
        "`graven query --file` runs the statements of a file",
    ),
    (
        "apoc.dv.",
        "`LOAD FROM 'file' RETURN ...` reads a source when it is asked",
    ),
    (
        "apoc.export.arrow",
        "write `COPY (MATCH ... RETURN ...) TO 'file.arrow'`",
    ),
    (
        "apoc.export.xls",
        "write `COPY (MATCH ... RETURN ...) TO 'file.csv'`",
    ),
    ("apoc.import.arrow", "write `COPY Label FROM 'file.arrow'`"),
    (
        "apoc.import.csv",
        "`COPY Label FROM 'file.csv'` reads a table; `graven import` makes a new database of tables \
            with such headers",
    ),
    (
        "apoc.import.xml",
        "`apoc.load.xml('file')` gives the elements as maps, of which `CREATE` makes nodes",
    ),
    (
        "apoc.index.",
        "a `MATCH` with a condition on the property uses its index",
    ),
    (
        "apoc.load.arrow",
        "write `LOAD FROM 'file.arrow' RETURN ...`",
    ),
    (
        "apoc.load.csv",
        "write `LOAD FROM 'file.csv' RETURN ...`, or `LOAD CSV WITH HEADERS FROM 'file.csv' \
            AS row`",
    ),
    (
        "apoc.load.jdbc",
        "export the table to a file of CSV or Parquet, then `LOAD FROM 'file'`",
    ),
    (
        "apoc.load.parquet",
        "write `LOAD FROM 'file.parquet' RETURN ...`",
    ),
    (
        "apoc.load.",
        "`LOAD FROM 'file'` reads CSV, Parquet, JSON, Arrow and NumPy files: convert the source to \
            one of them",
    ),
    (
        "apoc.meta.stats.",
        "`CALL apoc.meta.stats()` counts the whole graph",
    ),
    (
        "apoc.monitor.",
        "`CALL graven.info()`, `graven.cache.stats()` and `graven.log.stats()` tell of the \
            database",
    ),
    (
        "apoc.periodic.rock_n_roll",
        "`apoc.periodic.iterate(statement, action, {batchSize: 1000})` does the same",
    ),
    (
        "apoc.spatial.",
        "look up places in the program; `point.distance(a, b)` compares them",
    ),
    (
        "apoc.static.",
        "give such values as parameters of the statement",
    ),
    (
        "apoc.systemdb.",
        "`SHOW USERS` and `SHOW DATABASES` list what there is",
    ),
    (
        "apoc.trigger.",
        "there are no triggers: write what follows a change in the statement that makes it",
    ),
    (
        "apoc.ttl.",
        "`apoc.periodic.repeat` runs a statement that deletes what has expired",
    ),
    ("apoc.uuid.", "write `randomUUID()` where a node is made"),
    (
        "apoc.warmup.",
        "`CALL graven.cache.load(file)` reads into memory what `graven.cache.save(file)` noted",
    ),
    ("db.createindex", "write `CREATE INDEX`"),
    (
        "dbms.cluster.",
        "one server has all databases: `SHOW SERVERS`, `SHOW DATABASES`",
    ),
    ("dbms.database.", "write `SHOW DATABASES`"),
    ("dbms.functions", "write `SHOW FUNCTIONS`"),
    (
        "dbms.killquer",
        "write `TERMINATE TRANSACTIONS 'id'`, with an id of `SHOW TRANSACTIONS`",
    ),
    (
        "dbms.killtransaction",
        "write `TERMINATE TRANSACTIONS 'id'`, with an id of `SHOW TRANSACTIONS`",
    ),
    ("dbms.listactivelocks", "transactions hold no locks"),
    ("dbms.listpools", "`CALL graven.info()` tells of the memory"),
    ("dbms.listquer", "write `SHOW TRANSACTIONS`"),
    ("dbms.listtransactions", "write `SHOW TRANSACTIONS`"),
    ("dbms.procedures", "write `SHOW PROCEDURES`"),
    (
        "dbms.security.",
        "write `SHOW USERS`, `CREATE USER`, `ALTER USER`, `GRANT ROLE`",
    ),
    (
        "dbms.setconfigvalue",
        "`SHOW SETTINGS` names the procedures that change a setting; others are options of the \
            program",
    ),
    (
        "dbms.upgrade",
        "`graven upgrade` makes a file of the newest format",
    ),
    (
        "gds.",
        "`apoc.algo.*`, `SHORTEST` paths and `apoc.path.*` search; `get_as_networkx` and \
            `get_as_torch_geometric` of the Python package hand the graph to other libraries",
    ),
    (
        "algo.",
        "`apoc.algo.*`, `SHORTEST` paths and `apoc.path.*` search",
    ),
];

/// What to write instead of a function or procedure of this name.
pub(crate) fn instead_of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let fits = INSTEAD.iter().filter(|(start, _)| name.starts_with(start));
    let longest = fits.max_by_key(|(start, _)| start.len());
    longest.map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    //! Goal: the longest beginning tells, in any letter case; no row is about what there is.

    use super::*;
    use crate::functions;

    #[test]
    fn the_longest_beginning_tells() {
        assert_ne!(instead_of("apoc.load.CSV"), instead_of("apoc.load.driver"));
        assert_eq!(instead_of("apoc.text.join"), None);
        let all = functions::FUNCTIONS.iter().map(|f| f.display);
        for known in all.chain(functions::BY_PROCEDURE.iter().map(|f| f.display)) {
            assert_eq!(instead_of(known), None, "{known}");
        }
    }
}

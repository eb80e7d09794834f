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
        "apoc.create.clonepath",
        "return the path; `apoc.create.vNode` and `apoc.create.vRelationship` make copies of its \
            parts",
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
    (
        "apoc.graph.fromdocument",
        "`apoc.convert.fromJsonMap(text)` reads the document, `MERGE` makes its nodes",
    ),
    (
        "apoc.graph.validatedocument",
        "`apoc.convert.fromJsonMap(text)` reads the document",
    ),
    (
        "apoc.import.",
        "`graven import --neo4j-export FILE` reads what APOC exports, `COPY Label FROM 'file'` \
            tables",
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
        "apoc.load.jsonparams",
        "`apoc.load.json('file')` reads a file of the folder of the server",
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
    (
        "apoc.xml.",
        "convert the file to JSON, then `apoc.load.json('file')`",
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

//! Goal: procedures of APOC give what APOC gives, within the transaction, the rights and the memory
//! of the statement that calls them.

use std::time::Duration;

use graven::{Access, Config, Connection, Database, Error, Node, Params, Role, Row, Value};

/// An empty database that lives as long as the test.
struct Empty {
    _folder: tempfile::TempDir,
    db: Database,
}

fn empty() -> Empty {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    let db = Database::open(folder.path().join("g.graven"), config).expect("a database");
    Empty {
        _folder: folder,
        db,
    }
}

fn ask(connection: &Connection, text: &str) -> Result<Vec<Row>, Error> {
    connection.query(text, &Params::new())?.collect()
}

impl Empty {
    fn rows(&self, text: &str) -> Vec<Row> {
        ask(&self.db.connect(), text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// The first value of each row as text.
    fn texts(&self, text: &str) -> Vec<String> {
        let rows = self.rows(text);
        let first = |row: &Row| row.values().first().map_or(String::new(), Value::to_string);
        rows.iter().map(first).collect()
    }

    fn code(&self, text: &str) -> String {
        let done = ask(&self.db.connect(), text);
        done.expect_err(text).code().to_owned()
    }
}

fn node(row: &Row) -> &Node {
    match row.values().first() {
        Some(Value::Node(node)) => node,
        other => panic!("a node, not {other:?}"),
    }
}

#[test]
fn nodes_and_relationships_are_made_with_computed_names() {
    let g = empty();
    let made = g.rows("CALL apoc.create.node(['A', 'B'], {x: 1}) YIELD node RETURN node");
    assert_eq!(node(&made[0]).labels.len(), 2);
    let text = "MATCH (n:A) CALL apoc.create.addLabels(n, ['C']) YIELD node \
        CALL apoc.create.setProperty([node], 'y', 2) YIELD node AS m RETURN labels(m), m.y";
    let rows = g.rows(text);
    assert_eq!(rows[0].values()[0].to_string(), "[\"A\", \"B\", \"C\"]");
    assert_eq!(rows[0].values()[1], Value::Integer(2));
    g.rows("MATCH (n:A) CALL apoc.create.setLabels(n, ['A', 'D']) YIELD node RETURN node");
    assert_eq!(g.texts("MATCH (n) RETURN labels(n)"), ["[\"A\", \"D\"]"]);
    g.rows("MATCH (n:A) CALL apoc.create.removeLabels([n], ['D']) YIELD node RETURN node");
    assert_eq!(g.texts("MATCH (n) RETURN labels(n)"), ["[\"A\"]"]);
    g.rows("CALL apoc.create.nodes(['P'], [{i: 1}, {i: 2}]) YIELD node RETURN node");
    let text = "MATCH (a:P {i: 1}), (b:P {i: 2}) \
        CALL apoc.create.relationship(a, 'KNOWS', {since: 3}, b) YIELD rel \
        CALL apoc.create.setRelProperty(rel, 'w', 4) YIELD rel AS r \
        RETURN type(r) + toString(r.since) + toString(r.w)";
    assert_eq!(g.texts(text), ["\"KNOWS34\""]);
    let text = "MATCH ()-[r:KNOWS]->() CALL apoc.create.removeRelProperties(r, ['w']) YIELD rel \
        RETURN keys(rel)";
    assert_eq!(g.texts(text), ["[\"since\"]"]);
    assert_eq!(
        g.rows("CALL apoc.create.uuids(3) YIELD uuid RETURN uuid")
            .len(),
        3
    );
}

#[test]
fn merging_finds_or_makes() {
    let g = empty();
    let text = "CALL apoc.merge.node(['P'], {id: 1}, {made: true}, {met: true}) YIELD node \
        RETURN node.made, node.met";
    assert_eq!(
        g.rows(text)[0].values(),
        [Value::Boolean(true), Value::Null]
    );
    let again = [Value::Boolean(true), Value::Boolean(true)];
    assert_eq!(g.rows(text)[0].values(), again);
    assert_eq!(g.texts("MATCH (n:P) RETURN count(n)"), ["1"]);
    g.rows("CALL apoc.merge.node.eager(['P', 'Q'], {id: 2}) YIELD node RETURN node");
    let text = "MATCH (a:P {id: 1}), (b:Q) \
        CALL apoc.merge.relationship(a, 'R', {k: 1}, {c: 2}, b, {}) YIELD rel RETURN rel.c";
    assert_eq!(g.texts(text), ["2"]);
    assert_eq!(g.texts(text), ["2"]);
    assert_eq!(g.texts("MATCH ()-[r]->() RETURN count(r)"), ["1"]);
    // Names are names, whatever they hold.
    g.rows("CALL apoc.merge.node(['a`b'], {`x}y`: 1}) YIELD node RETURN node");
    assert_eq!(g.texts("MATCH (n:`a``b`) RETURN n.`x}y`"), ["1"]);
    assert_eq!(
        g.code("CALL apoc.merge.node([''], {})"),
        "ProcedureError.ProcedureFailed"
    );
}

/// What a procedure writes belongs to the transaction of its caller.
#[test]
fn what_is_written_is_undone_with_the_transaction() {
    let g = empty();
    let connection = g.db.connect();
    let mut transaction = connection.begin().expect("a transaction");
    let none = Params::new();
    let made = "CALL apoc.create.node(['A'], {x: 1})";
    transaction.query(made, &none).expect("made");
    let met = "CALL apoc.cypher.run('MATCH (n:A) RETURN count(n) AS met', {}) YIELD value \
        RETURN value.met";
    let row = transaction.query(met, &none).expect("asked").next_row();
    assert_eq!(
        row.expect("a row").expect("one").values(),
        [Value::Integer(1)]
    );
    transaction.rollback();
    assert_eq!(g.texts("MATCH (n) RETURN count(n)"), ["0"]);
    // A failure after the call undoes it, too.
    let text = "CALL apoc.create.node(['A'], {}) YIELD node WITH node RETURN 1 / 0";
    assert!(ask(&connection, text).is_err());
    assert_eq!(g.texts("MATCH (n) RETURN count(n)"), ["0"]);
}

#[test]
fn statements_within_statements_have_the_rights_of_the_caller() {
    let g = empty();
    g.rows("CREATE (:A)");
    let write = "CALL apoc.cypher.run('CREATE (:B)', {})";
    assert_eq!(g.code(write), "ProcedureError.ProcedureFailed");
    let reader =
        g.db.connect()
            .with_access(Access::without_files(Role::Reader));
    for text in [
        "CALL apoc.cypher.doIt('CREATE (:B)', {})",
        "CALL apoc.create.node(['B'], {})",
        "MATCH (n) CALL apoc.create.addLabels(n, ['B']) YIELD node RETURN node",
        "CALL apoc.periodic.iterate('MATCH (n) RETURN n', 'SET n.x = 1', {})",
        "CALL apoc.do.when(true, 'CREATE (:B)', '', {})",
    ] {
        let refused = ask(&reader, text).expect_err(text);
        assert_eq!(refused.code(), "Security.Forbidden", "{text}");
    }
    let reads = "CALL apoc.cypher.run('MATCH (n) RETURN n', {}) YIELD value RETURN value";
    assert_eq!(ask(&reader, reads).expect("rows").len(), 1);
    let only = Access::default().reading_only(true);
    let refused = ask(
        &g.db.connect().with_access(only),
        "CALL apoc.create.node(['B'], {})",
    );
    assert_eq!(refused.expect_err("read mode").code(), "Security.ReadMode");
    assert_eq!(g.texts("MATCH (n) RETURN count(n)"), ["1"]);
}

#[test]
fn statements_call_each_other_only_so_deep() {
    let g = empty();
    let text = "CALL apoc.cypher.run($text, {text: $text}) YIELD value RETURN value";
    let params = Params::new().with("text", text);
    let rows: Result<Vec<Row>, Error> =
        g.db.connect()
            .query(text, &params)
            .and_then(Iterator::collect);
    let error = rows.expect_err("no end");
    assert!(error.message().contains("deep"), "{error}");
}

#[test]
fn what_runs_within_is_cancelled_and_timed_with_its_caller() {
    let g = empty();
    let long = "CALL apoc.cypher.run('UNWIND range(1, 1000000000) AS x \
        WITH x WHERE x < 0 RETURN x', {}) YIELD value RETURN value";
    let connection = g.db.connect().with_timeout(Some(Duration::from_millis(50)));
    let error = ask(&connection, long).expect_err("no time");
    assert_eq!(error.code(), "Statement.TimedOut");
    let error = ask(&connection, "CALL apoc.util.sleep(600000)").expect_err("no time");
    assert_eq!(error.code(), "Statement.TimedOut");
    // Rows are made when they are wanted: the first ones come at once.
    let first = "CALL apoc.cypher.run('UNWIND range(1, 1000000000) AS x RETURN x', {}) \
        YIELD value RETURN value.x LIMIT 2";
    assert_eq!(g.texts(first), ["1", "2"]);
}

#[test]
fn what_is_kept_is_charged() {
    let g = empty();
    let text = "CALL apoc.cypher.doIt('UNWIND range(1, 3000000) AS x \
        RETURN toString(x) + \"0123456789012345678901234567890123456789\" AS s', {}) \
        YIELD value WITH collect(value.s) AS all RETURN size(all)";
    let code = g.code(text);
    assert!(code.starts_with("Memory."), "{code}");
}

#[test]
fn conditions_choose_the_statement() {
    let g = empty();
    let text = "UNWIND [1, 2, 3] AS x \
        CALL apoc.case([x = 1, 'RETURN \"one\" AS t', x = 2, 'RETURN \"two\" AS t'], \
            'RETURN \"many\" AS t', {x: x}) YIELD value RETURN value.t";
    assert_eq!(g.texts(text), ["\"one\"", "\"two\"", "\"many\""]);
    let text = "CALL apoc.do.when(true, 'CREATE (n:W {x: $x}) RETURN n', '', {x: 5}) \
        YIELD value RETURN value.n.x";
    assert_eq!(g.texts(text), ["5"]);
    assert_eq!(
        g.texts("CALL apoc.when(false, 'RETURN 1 AS x') YIELD value RETURN value"),
        ["{}"]
    );
}

#[test]
fn nodes_become_one() {
    let g = empty();
    g.rows(
        "CREATE (a:A {k: 1, x: 1}), (b:B {k: 2, y: 2}), (c:C {k: 3}), \
            (a)-[:R {w: 1}]->(c), (b)-[:R {w: 2}]->(c), (c)-[:S]->(b)",
    );
    g.rows("CREATE CONSTRAINT one_y FOR (n:B) REQUIRE n.y IS UNIQUE");
    let text = "MATCH (a:A), (b:B) CALL apoc.refactor.mergeNodes([a, b], \
        {properties: 'combine', mergeRels: true}) YIELD node RETURN labels(node), node.k, node.y";
    let rows = g.rows(text);
    assert_eq!(rows[0].values()[0].to_string(), "[\"A\", \"B\"]");
    assert_eq!(rows[0].values()[1].to_string(), "[1, 2]");
    assert_eq!(rows[0].values()[2], Value::Integer(2));
    assert_eq!(g.texts("MATCH (n) RETURN count(n)"), ["2"]);
    let text = "MATCH (a)-[r]->(b) RETURN labels(a)[0] + type(r) + labels(b)[0] AS t ORDER BY t";
    assert_eq!(g.texts(text), ["\"ARC\"", "\"CSA\""]);
}

#[test]
fn names_types_and_ends_change() {
    let g = empty();
    g.rows("CREATE (:A {i: 1})-[:R {w: 1}]->(:B {i: 2}), (:C {i: 3})");
    let text = "MATCH ()-[r:R]->() CALL apoc.refactor.setType(r, 'T') YIELD output \
        RETURN type(output) + toString(output.w)";
    assert_eq!(g.texts(text), ["\"T1\""]);
    g.rows("MATCH ()-[r:T]->() CALL apoc.refactor.invert(r) YIELD output RETURN output");
    assert_eq!(g.texts("MATCH (a)-[:T]->() RETURN a.i"), ["2"]);
    let text = "MATCH ()-[r:T]->(), (c:C) CALL apoc.refactor.to(r, c) YIELD output RETURN output";
    g.rows(text);
    assert_eq!(g.texts("MATCH (a)-[:T]->(b) RETURN a.i * 10 + b.i"), ["23"]);
    let text = "MATCH ()-[r:T]->(), (a:A) CALL apoc.refactor.from(r, a) YIELD output RETURN output";
    g.rows(text);
    assert_eq!(g.texts("MATCH (a)-[:T]->(b) RETURN a.i * 10 + b.i"), ["13"]);
    let renamed = |text: &str| assert_eq!(g.texts(text), ["1"], "{text}");
    renamed("CALL apoc.refactor.rename.label('A', 'Z') YIELD total RETURN total");
    renamed("CALL apoc.refactor.rename.type('T', 'U') YIELD total RETURN total");
    renamed("CALL apoc.refactor.rename.typeProperty('w', 'v') YIELD total RETURN total");
    let text = "MATCH (z:Z) CALL apoc.refactor.rename.nodeProperty('i', 'j', [z]) YIELD total \
        RETURN total";
    renamed(text);
    assert_eq!(g.texts("MATCH (z:Z)-[u:U]->() RETURN z.j + u.v"), ["2"]);
    let text = "MATCH (z:Z) CALL apoc.refactor.cloneNodes([z], true) YIELD output \
        MATCH (output)-[u:U]->(c) RETURN output.j + u.v + c.i";
    assert_eq!(g.texts(text), ["5"]);
}

#[test]
fn paths_are_searched_by_filters() {
    let g = empty();
    g.rows(
        "CREATE (a:P {n: 'a'})-[:K]->(b:P {n: 'b'})-[:K]->(c:Q {n: 'c'})-[:K]->(a), \
            (b)-[:L]->(d:R {n: 'd'})",
    );
    let names = |call: &str| {
        let text = format!("MATCH (a {{n: 'a'}}) {call} AS t ORDER BY t");
        g.texts(&text).join(" ")
    };
    let all = "CALL apoc.path.subgraphNodes(a, {}) YIELD node RETURN node.n";
    assert_eq!(names(all), "\"a\" \"b\" \"c\" \"d\"");
    let near = "CALL apoc.path.subgraphNodes(a, {maxLevel: 1, relationshipFilter: 'K>'}) \
        YIELD node RETURN node.n";
    assert_eq!(names(near), "\"a\" \"b\"");
    let without = "CALL apoc.path.subgraphNodes(a, {labelFilter: '-Q', minLevel: 1}) YIELD node \
        RETURN node.n";
    assert_eq!(names(without), "\"b\" \"d\"");
    let ends = "CALL apoc.path.expandConfig(a, {labelFilter: '>R', relationshipFilter: 'K>|L>'}) \
        YIELD path RETURN reduce(t = '', n IN nodes(path) | t + n.n)";
    assert_eq!(names(ends), "\"abd\"");
    let expand = "CALL apoc.path.expand(a, 'K>', '', 1, 3) YIELD path \
        RETURN reduce(t = '', n IN nodes(path) | t + n.n)";
    assert_eq!(names(expand), "\"ab\" \"abc\" \"abca\"");
    let tree = "CALL apoc.path.spanningTree(a, {minLevel: 1, relationshipFilter: 'K>|L>'}) \
        YIELD path RETURN reduce(t = '', n IN nodes(path) | t + n.n)";
    assert_eq!(names(tree), "\"ab\" \"abc\" \"abd\"");
    let whole = "CALL apoc.path.subgraphAll(a, {}) YIELD nodes, relationships \
        RETURN size(nodes) * 10 + size(relationships)";
    assert_eq!(names(whole), "44");
    let hop = "CALL apoc.neighbors.athop(a, 'K>', 2) YIELD node RETURN node.n";
    assert_eq!(names(hop), "\"c\"");
    let first = "CALL apoc.path.expandConfig(a, {limit: 2}) YIELD path RETURN length(path)";
    assert_eq!(names(first), "0 1");
    let wrong = "MATCH (a) CALL apoc.path.expandConfig(a, {depth: 2}) YIELD path RETURN path";
    assert_eq!(g.code(wrong), "ProcedureError.ProcedureFailed");
}

#[test]
fn batches_have_transactions_of_their_own() {
    let g = empty();
    let text = "CALL apoc.periodic.iterate('UNWIND range(1, $most) AS x RETURN x', \
        'CREATE (:N {x: x})', {batchSize: 10, params: {most: 25}}) \
        YIELD batches, total, committedOperations, failedOperations, updateStatistics AS made \
        RETURN [batches, total, committedOperations, failedOperations, made.nodesCreated]";
    assert_eq!(g.texts(text), ["[3, 25, 25, 0, 25]"]);
    let text = "CALL apoc.periodic.iterate('MATCH (n:N) RETURN n ORDER BY n.x', \
        'SET n.y = 1 / (n.x - 15)', {batchSize: 10}) \
        YIELD batches, failedBatches, failedOperations, errorMessages \
        RETURN [batches, failedBatches, failedOperations, size(keys(errorMessages))]";
    assert_eq!(g.texts(text), ["[3, 1, 10, 1]"]);
    assert_eq!(
        g.texts("MATCH (n:N) WHERE n.y IS NOT NULL RETURN count(n)"),
        ["15"]
    );
    // What an action returns, under names of the first statement too, is not counted.
    let text = "CALL apoc.periodic.iterate('MATCH (n:N) RETURN n, n.x AS x', \
        'UNWIND range(1, x) AS i WITH n, i WHERE i > 1 SET n.z = i RETURN n', {batchSize: 10}) \
        YIELD batches, total, failedOperations RETURN [batches, total, failedOperations]";
    assert_eq!(g.texts(text), ["[3, 25, 0]"]);
    assert_eq!(g.texts("MATCH (n:N) RETURN sum(n.z)"), ["324"]);
    let text = "CALL apoc.periodic.commit('MATCH (n:N) WITH n LIMIT $limit DELETE n \
        RETURN count(*)', {limit: 10}) YIELD updates, executions RETURN [updates, executions]";
    assert_eq!(g.texts(text), ["[25, 3]"]);
}

#[test]
fn a_schema_is_drawn_of_virtual_nodes() {
    let g = empty();
    g.rows("CREATE (:A {x: 1})-[:R {w: 1.5}]->(:B {y: 'b'}), (:A {x: 2})");
    g.rows("CALL graven.checkpoint()");
    g.rows("CREATE CONSTRAINT one FOR (n:A) REQUIRE n.x IS UNIQUE");
    for call in [
        "db.schema.visualization()",
        "apoc.meta.graph()",
        "apoc.meta.subGraph({})",
    ] {
        let text = format!("CALL {call} YIELD nodes, relationships RETURN nodes, relationships");
        let rows = g.rows(&text);
        let [Value::List(nodes), Value::List(relationships)] = rows[0].values() else {
            panic!("lists, not {rows:?}");
        };
        let (Value::Node(a), Value::Relationship(r)) = (&nodes[0], &relationships[0]) else {
            panic!("a node and a relationship, not {rows:?}");
        };
        assert_eq!((&*a.labels[0], &*r.rel_type), ("A", "R"), "{call}");
        assert_eq!(r.start, a.id, "{call}");
        assert!(a.id.cast_signed() < 0, "{call}");
        let text = format!(
            "CALL {call} YIELD relationships UNWIND relationships AS r \
                RETURN type(r) + startNode(r).name + labels(endNode(r))[0] + toString(id(r) < 0)"
        );
        assert_eq!(g.texts(&text), ["\"RABtrue\""], "{call}");
    }
    // What stands for something survives being sorted, told apart and collected.
    let text = "UNWIND ['b', 'a'] AS x CALL apoc.create.vNode(['V'], {x: x}) YIELD node \
        WITH DISTINCT node ORDER BY node.x WITH collect(node) AS all \
        RETURN [n IN all | labels(n)[0] + n.x], [n IN all | properties(n)]";
    let row = &g.rows(text)[0];
    assert_eq!(row.values()[0].to_string(), "[\"Va\", \"Vb\"]");
    assert_eq!(row.values()[1].to_string(), "[{x: \"a\"}, {x: \"b\"}]");
    let text = "MATCH (a:A {x: 1}), (b:B) CALL apoc.create.vRelationship(a, 'S', {n: 1}, b) \
        YIELD rel RETURN startNode(rel).x * 10 + rel.n, rel";
    let row = &g.rows(text)[0];
    assert_eq!(row.values()[0], Value::Integer(11));
    assert!(matches!(row.values()[1], Value::Relationship(_)));
}

#[test]
fn a_schema_is_described() {
    let g = empty();
    g.rows("CREATE (:A {x: 1})-[:R {w: 1.5}]->(:B {y: 'b'}), (:A {x: 2})");
    g.rows("CREATE INDEX on_x FOR (n:A) ON (n.x)");
    g.rows("CREATE INDEX on_w FOR ()-[r:R]-() ON (r.w)");
    g.rows("CALL graven.checkpoint()");
    let text = "CALL apoc.meta.schema() YIELD value RETURN \
        [value.A.type, value.A.count, value.A.properties.x.type, value.A.properties.x.indexed, \
            value.A.relationships.R.direction, value.R.type, value.R.properties.w.type]";
    let expected = "[\"node\", 2, \"INTEGER\", true, \"out\", \"relationship\", \"FLOAT\"]";
    assert_eq!(g.texts(text), [expected]);
    let text = "CALL apoc.meta.stats() YIELD labelCount, relTypeCount, propertyKeyCount, nodeCount, \
        relCount, labels, relTypesCount \
        RETURN [labelCount, relTypeCount, propertyKeyCount, nodeCount, relCount, labels.A, \
            relTypesCount.R]";
    assert_eq!(g.texts(text), ["[2, 1, 3, 3, 1, 2, 1]"]);
    let text = "CALL apoc.meta.nodeTypeProperties() \
        YIELD nodeType, propertyName, propertyTypes, mandatory, totalObservations \
        RETURN nodeType + propertyName + propertyTypes[0] + toString(totalObservations) AS t \
        ORDER BY t";
    assert_eq!(g.texts(text), ["\":`A`xLong2\"", "\":`B`yString1\""]);
    let text = "CALL apoc.meta.relTypeProperties() YIELD relType, sourceNodeLabels AS a, \
        targetNodeLabels AS b, propertyName RETURN relType + a[0] + b[0] + propertyName";
    assert_eq!(g.texts(text), ["\":`R`ABw\""]);
    let text = "CALL apoc.schema.properties.distinct('A', 'x') YIELD value RETURN value";
    assert_eq!(g.texts(text), ["[1, 2]"]);
    let text = "CALL apoc.schema.properties.distinctCount('A') YIELD key, value, count \
        RETURN key + toString(value) + toString(count) AS t ORDER BY t";
    assert_eq!(g.texts(text), ["\"x11\"", "\"x21\""]);
    let text = "CALL apoc.schema.relationships() YIELD name, relationshipType \
        RETURN name + relationshipType";
    assert_eq!(g.texts(text), ["\"on_wR\""]);
    // Keys of which nothing is left are not in use.
    g.rows("MATCH (b:B) SET b.y = null");
    let text = "CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey";
    assert_eq!(g.texts(text), ["\"w\"", "\"x\""]);
    let text = "CALL db.stats.retrieve('GRAPH COUNTS') YIELD data \
        RETURN [data.nodes[0].count, size(data.nodes), data.relationships[0].count]";
    assert_eq!(g.texts(text), ["[3, 3, 1]"]);
    assert_eq!(g.rows("CALL db.stats.retrieveAllAnonymized('t')").len(), 3);
    assert_eq!(g.rows("CALL db.stats.status()").len(), 1);
}

#[test]
fn the_rest_does_what_it_says() {
    let g = empty();
    let error = ask(
        &g.db.connect(),
        "CALL apoc.util.validate(true, 'no %s here', ['luck'])",
    );
    let error = error.expect_err("it holds");
    assert!(error.message().contains("no luck here"), "{error}");
    assert_eq!(
        g.rows("CALL apoc.util.validate(false, 'x', []) RETURN 1")
            .len(),
        1
    );
    let help = "CALL apoc.help('mergenodes') YIELD name, writes RETURN name + toString(writes)";
    assert_eq!(g.texts(help), ["\"apoc.refactor.mergeNodestrue\""]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.json");
    std::fs::write(&file, "[{\"a\": 1}, {\"a\": 2}]").expect("written");
    let text = format!(
        "CALL apoc.load.json('{}') YIELD value RETURN value.a",
        file.display().to_string().replace('\\', "/")
    );
    assert_eq!(g.texts(&text), ["1", "2"]);
    let closed =
        g.db.connect()
            .with_access(Access::without_files(Role::Admin));
    let refused = ask(&closed, &text).expect_err("no files");
    assert_eq!(refused.code(), "Security.Forbidden");
    let mut transaction = g.db.connect().begin().expect("a transaction");
    let none = Params::new();
    transaction
        .query("CALL tx.setMetaData({app: 'x'})", &none)
        .expect("said");
    let said = "CALL tx.getMetaData() YIELD metadata RETURN metadata.app";
    let row = transaction.query(said, &none).expect("asked").next_row();
    assert_eq!(
        row.expect("a row").expect("one").values(),
        [Value::from("x")]
    );
    let shown = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.app = 'x' RETURN count(*)";
    assert_eq!(g.texts(shown), ["1"]);
}

#[test]
fn several_commands_are_one_statement() {
    let g = empty();
    g.rows("CREATE INDEX one FOR (n:A) ON (n.x)");
    let text = "SHOW INDEXES YIELD name AS index SHOW SETTINGS YIELD name AS setting \
        WHERE setting = 'graven.policy' RETURN index + setting";
    assert_eq!(g.texts(text), ["\"onegraven.policy\""]);
    let text = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery WHERE currentQuery = '' \
        TERMINATE TRANSACTIONS id YIELD message RETURN id, message";
    assert_eq!(g.rows(text).len(), 0);
    assert_eq!(
        g.code("SHOW INDEXES SHOW SETTINGS"),
        "SyntaxError.UnexpectedSyntax"
    );
    let text = "SHOW INDEXES YIELD name SHOW SETTINGS YIELD value";
    assert_eq!(g.code(text), "SyntaxError.UnexpectedSyntax");
}

#[test]
fn what_graph_stores_call_is_there() {
    let g = empty();
    g.rows("CREATE (:A {x: 1})");
    let text = "MATCH (n:A) CALL db.create.setNodeVectorProperty(n, 'e', [1, 2.5]) \
        RETURN apoc.any.property(n, 'e')";
    assert_eq!(g.texts(text), ["[1.0, 2.5]"]);
    let text = "MATCH (n:A) RETURN apoc.meta.cypher.types(n), apoc.any.properties(n, ['x'])";
    let row = &g.rows(text)[0];
    assert_eq!(
        row.values()[0].to_string(),
        "{e: \"LIST OF FLOAT\", x: \"INTEGER\"}"
    );
    assert_eq!(row.values()[1].to_string(), "{x: 1}");
    assert_eq!(g.texts("RETURN size(apoc.create.uuid())"), ["36"]);
}

/// A batch that calls itself ends with an error, not with the process.
#[test]
fn batches_call_each_other_only_so_deep() {
    let graph = empty();
    let statement = "CALL apoc.periodic.commit($s, {s: $s}) YIELD updates RETURN updates";
    let params = Params::new().with("s", statement);
    let rows = graph.db.connect().query(statement, &params);
    let failed = rows.and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
    let error = failed.expect_err("it never ends");
    assert!(error.message().contains("deep"), "{error}");
}

/// What has committed batches must not run again on a conflict.
#[test]
fn batches_are_no_part_of_statements_that_write() {
    let graph = empty();
    graph.rows("CREATE (:P {n: 0})");
    for text in [
        "MATCH (p:P) SET p.s = 1 WITH p \
         CALL apoc.periodic.commit('MATCH (p:P) SET p.n = p.n + 1 RETURN 0') YIELD updates \
         RETURN updates",
        "CALL apoc.cypher.doIt('CALL apoc.periodic.commit(\"RETURN 0\") YIELD updates RETURN 1', {}) \
         YIELD value RETURN value",
    ] {
        graph.code(text);
    }
    assert_eq!(graph.texts("MATCH (p:P) RETURN p.n"), ["0"]);
}

#[test]
fn nodes_that_are_not_there_name_none() {
    let graph = empty();
    graph.rows("CREATE (:Q {k: 1}), (:Q {k: 2})");
    for nodes in ["[n]", "n"] {
        graph.rows(&format!(
            "OPTIONAL MATCH (n:Old) CALL apoc.refactor.rename.label('Q', 'New', {nodes}) \
             YIELD total RETURN total"
        ));
    }
    assert_eq!(graph.texts("MATCH (n:New) RETURN count(n)"), ["0"]);
}

/// Nodes and what stands for nodes have one order.
#[test]
fn virtual_nodes_are_sorted_among_nodes() {
    let graph = empty();
    graph.rows("UNWIND range(1, 40) AS i CREATE (:S {i: i})");
    let sorted = "MATCH (s:S) WITH collect(s) AS all \
         UNWIND range(1, 10) AS i CALL apoc.create.vNode(['V'], {i: i}) YIELD node \
         WITH all, collect(node) AS made \
         UNWIND all[0..13] + made + all[13..] AS x WITH x ORDER BY rand() \
         WITH apoc.coll.sort(collect(x)) AS xs RETURN size(xs)";
    for _ in 0..10 {
        assert_eq!(graph.texts(sorted), ["50"]);
    }
}

/// A procedure that makes rows of a table and the statement around it number them together.
#[test]
fn serial_numbers_of_procedures_and_statements_differ() {
    let graph = empty();
    graph.rows("CREATE NODE TABLE T(id SERIAL, v INT64, PRIMARY KEY(id))");
    graph.rows(
        "UNWIND [1, 2] AS i CALL (i) { CREATE (t:T {v: i}) WITH i \
         CALL apoc.cypher.doIt('CREATE (t:T {v: 10}) RETURN t.id AS id', {}) YIELD value \
         RETURN value } RETURN value",
    );
    assert_eq!(
        graph.texts("MATCH (t:T) RETURN t.id ORDER BY t.id"),
        ["0", "1", "2", "3"]
    );
}

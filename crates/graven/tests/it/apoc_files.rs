//! Goal: procedures of APOC that read files make what the files say, all of it or nothing, within
//! the rights and the memory of the statement that calls them.

use std::path::Path;

use graven::{Access, Config, Connection, Database, Error, Params, Role, Row, Value};

fn database(folder: &Path, name: &str) -> Database {
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    Database::open(folder.join(name), config).expect("a database")
}

fn ask(connection: &Connection, text: &str) -> Result<Vec<Vec<Value>>, Error> {
    let rows = connection.query(text, &Params::new())?;
    rows.map(|row| row.map(Row::into_values)).collect()
}

/// The rows as texts.
fn texts(db: &Database, text: &str) -> Vec<String> {
    let rows = ask(&db.connect(), text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let row = |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>();
    rows.iter().map(|it| row(it).join(" | ")).collect()
}

fn code(connection: &Connection, text: &str) -> (String, String) {
    let error = ask(connection, text).expect_err(text);
    (error.code().to_owned(), error.message().to_owned())
}

const GRAPH: &str = "UNWIND range(1, 1500) AS i CREATE (a:A:B {i: i, t: 'ab'})-[:R {w: i}]->(:C) \
    WITH a, i WHERE i = 7 SET a.list = [1, 2], a.x = 1.5, a.p = point({x: 1, y: 2}) \
    CREATE (a)-[:LOOP]->(a)";
const COUNTS: &str = "MATCH (n) OPTIONAL MATCH (n)-[r]->() \
    RETURN labels(n), count(DISTINCT n), sum(r.w), count(r) ORDER BY labels(n)";
const ONE: &str = "MATCH (a:A {i: 7}) RETURN a.list, a.x, a.t";

#[test]
fn what_an_export_wrote_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = database(folder.path(), "from.graven");
    texts(&from, GRAPH);
    for (form, config) in [("json", "{}"), ("graphml", "{readLabels: true}")] {
        let file = folder.path().join(format!("all.{form}"));
        let file = file.display();
        texts(
            &from,
            &format!("CALL apoc.export.{form}.all('{file}', {{useTypes: true}})"),
        );
        let to = database(folder.path(), &format!("{form}.graven"));
        let told = texts(
            &to,
            &format!(
                "CALL apoc.import.{form}('{file}', {config}) YIELD format, nodes, relationships, \
                    rows, done RETURN format, nodes, relationships, rows, done"
            ),
        );
        assert_eq!(told, [format!("\"{form}\" | 3000 | 1501 | 4501 | true")]);
        assert_eq!(texts(&to, COUNTS), texts(&from, COUNTS), "{form}");
        assert_eq!(texts(&to, ONE), texts(&from, ONE), "{form}");
        assert_eq!(texts(&to, "SHOW CONSTRAINTS"), [""; 0]);
    }
}

#[test]
fn an_import_is_of_the_transaction_of_its_statement() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = database(folder.path(), "g.graven");
    let file = folder.path().join("bad.json");
    std::fs::write(
        &file,
        "{\"type\":\"node\",\"id\":\"1\",\"labels\":[\"A\"],\"properties\":{\"born\":\"1815-12-10\"}}\n\
            {\"type\":\"relationship\",\"label\":\"R\",\"start\":{\"id\":\"1\"},\"end\":{\"id\":\"2\"}}\n",
    )
    .expect("written");
    let text = format!("CALL apoc.import.json('{}')", file.display());
    let (own, message) = code(&db.connect(), &text);
    assert_eq!(own, "ProcedureError.ProcedureFailed");
    assert!(
        message.contains("line 2: no node before it has the id 2"),
        "{message}"
    );
    assert_eq!(texts(&db, "MATCH (n) RETURN count(*)"), ["0"]);
    // Nothing is read without the right to read files, and nothing made by a reader.
    let closed = db.connect().with_access(Access::without_files(Role::Admin));
    assert_eq!(code(&closed, &text).0, "Security.Forbidden");
    let reader = Access::without_files(Role::Reader).with_files_below(folder.path());
    let reader = db.connect().with_access(reader);
    assert_eq!(code(&reader, &text).0, "Security.Forbidden");
    let whole = "{\"type\":\"node\",\"id\":\"1\",\"labels\":[\"A\"],\
        \"properties\":{\"born\":\"1815-12-10\",\"n\":null}}";
    std::fs::write(&file, whole).expect("written");
    let typed = format!(
        "CALL apoc.import.json('{}', {{nodePropertyMappings: {{A: {{born: 'LocalDate'}}}}}}) \
            YIELD nodes RETURN nodes",
        file.display()
    );
    assert_eq!(texts(&db, &typed), ["1"]);
    assert_eq!(
        texts(&db, "MATCH (a:A) RETURN a.born.year, keys(a)"),
        ["1815 | [\"born\"]"]
    );
    let wrong = format!("CALL apoc.import.json('{}', {{nodes: 1}})", file.display());
    assert!(
        code(&db.connect(), &wrong)
            .1
            .contains("there is no option nodes")
    );
    // A part that does not fit ends the statement, whatever the rest is.
    std::fs::write(&file, vec![b'x'; 20 << 20]).expect("written");
    assert_eq!(code(&db.connect(), &text).0, "Memory.Limit");
}

#[test]
fn graphml_of_others_is_read_as_apoc_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = database(folder.path(), "g.graven");
    let file = folder.path().join("g.graphml");
    std::fs::write(
        &file,
        "<graphml><key id='name' for='node' attr.name='name' attr.type='string'/><graph>\
            <node id='n0' labels=':P'><data key='name'>Ada &amp; Bo</data></node><node id='n1' \
            labels=':P:Q'/><edge source='n0' target='n1'/></graph></graphml>",
    )
    .expect("written");
    let import = |config: &str| format!("CALL apoc.import.graphml('{}', {config})", file.display());
    texts(
        &db,
        &import("{storeNodeIds: true, defaultRelationshipType: 'KNOWS'}"),
    );
    let all = "MATCH (a)-[r]->(b) RETURN labels(a), a.name, a.id, type(r), b.labels";
    let told = "[] | \"Ada & Bo\" | \"n0\" | \"KNOWS\" | \":P:Q\"";
    assert_eq!(texts(&db, all), [told]);
    texts(&db, "MATCH (n) DETACH DELETE n");
    texts(&db, &import("{readLabels: true}"));
    assert_eq!(
        texts(&db, all),
        ["[\"P\"] | \"Ada & Bo\" | null | \"RELATED\" | null"]
    );
    std::fs::write(&file, "<graphml><graph><node").expect("written");
    assert_eq!(
        code(&db.connect(), &import("{}")).0,
        "ProcedureError.ProcedureFailed"
    );
}

#[test]
fn files_of_json_and_xml_are_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = database(folder.path(), "g.graven");
    let file = folder.path().join("a.xml");
    std::fs::write(
        &file,
        "<?xml version='1.0'?>\n<catalog>\n <book id='1'><title>A &lt; B</title></book>\n \
            <book id='2'><title>C</title><price>5</price></book>\n</catalog>",
    )
    .expect("written");
    let load = |more: &str| {
        format!(
            "CALL apoc.load.xml('{}'{more}) YIELD value RETURN value",
            file.display()
        )
    };
    assert_eq!(
        texts(&db, &load(", \"/catalog/book[@id='1']\"")),
        ["{_children: [{_text: \"A < B\", _type: \"title\"}], _type: \"book\", id: \"1\"}"]
    );
    assert_eq!(texts(&db, &load(", '//title'")).len(), 2);
    let simple = texts(&db, &load(", '/', {}, true"));
    assert!(
        simple[0].contains("_catalog: [{_book: [{_text"),
        "{simple:?}"
    );
    let closed = db.connect().with_access(Access::without_files(Role::Admin));
    assert_eq!(code(&closed, &load("")).0, "Security.Forbidden");
    assert!(
        code(&db.connect(), &load(", '/a[b'"))
            .1
            .contains("is no path")
    );
    let json = folder.path().join("a.json");
    std::fs::write(&json, "[{\"a\": 1}]").expect("written");
    let params = |headers: &str| {
        format!(
            "CALL apoc.load.jsonParams('{}', {headers}, null) YIELD value RETURN value.a",
            json.display()
        )
    };
    assert_eq!(texts(&db, &params("{}")), ["1"]);
    let (_, message) = code(&db.connect(), &params("{method: 'POST'}"));
    assert!(message.contains("only files are read"), "{message}");
}

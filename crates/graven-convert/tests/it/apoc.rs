//! Goal: files as APOC writes them are taken, and what is wrong with one is said with its line.

use std::path::PathBuf;

use graven_convert::import_neo4j;

use crate::graphs::{database, run};

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    path
}

/// The graph of the examples in APOC's manual: a user with values of several types knows another.
fn check(name: &str, text: &str, born: &str) {
    let (folder, db) = database();
    let path = file(&folder, name, text);
    let made = import_neo4j(&db.connect(), &path).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!((made.nodes, made.relationships), (3, 1), "{name}");
    let rows = run(
        &db.connect(),
        "MATCH (a:User)-[r:KNOWS]->(b:User) RETURN a.name, a.age, a.male, a.kids, r.since, b.name, \
         keys(b) = ['age', 'name'] OR keys(b) = ['name', 'age']",
    );
    let text = format!("{rows:?}").replace("\\\"", "\"");
    assert!(
        text.contains("String(\"Adam\"), Integer(42), Boolean(true)"),
        "{name}: {text}"
    );
    assert!(
        text.contains("[String(\"Sam\"), String(\"Anna\")]"),
        "{name}: {text}"
    );
    assert!(
        text.contains(born) && text.contains("Boolean(true)]"),
        "{name}: {text}"
    );
    let plain = "MATCH (n) WHERE size(labels(n)) = 0 RETURN count(*)";
    assert_eq!(run(&db.connect(), plain), ["[Integer(1)]"], "{name}");
}

#[test]
fn json_lines_and_arrays() {
    let lines = [
        r#"{"type":"node","id":"0","labels":["User"],"properties":{"name":"Adam","age":42,"male":true,"kids":["Sam","Anna"],"place":{"crs":"wgs-84","latitude":13.1,"longitude":33.46789,"height":null}}}"#,
        r#"{"type":"node","id":"1","labels":["User"],"properties":{"name":"Jim","age":42}}"#,
        r#"{"type":"node","id":"2"}"#,
        r#"{"id":"0","type":"relationship","label":"KNOWS","properties":{"since":1993},"start":{"id":"0","labels":["User"]},"end":{"id":"1","labels":["User"]}}"#,
    ];
    check("all.json", &lines.join("\n"), "Integer(1993)");
    check(
        "array.json",
        &format!("[{}]", lines.join(",\n ")),
        "Integer(1993)",
    );
}

#[test]
fn csv_of_all() {
    let text = "\"_id\",\"_labels\",\"age\",\"kids\",\"male\",\"name\",\"_start\",\"_end\",\"_type\",\"since\"\n\
        \"0\",\":User\",\"42\",\"[\"\"Sam\"\",\"\"Anna\"\"]\",\"true\",\"Adam\",,,,\n\
        \"1\",\":User\",\"42\",\"\",\"\",\"Jim\",,,,\n\
        \"2\",\"\",\"\",\"\",\"\",\"\",,,,\n\
        ,,,,,,\"0\",\"1\",\"KNOWS\",\"007\"\n";
    // A text of digits that an integer would not give back stays a text.
    check("all.csv", text, "String(\"007\")");
}

#[test]
fn graphml_of_apoc_and_of_others() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="age" for="node" attr.name="age" attr.type="long"/>
<key id="male" for="node" attr.name="male" attr.type="boolean"/>
<key id="kids" for="node" attr.name="kids" attr.type="string" attr.list="string"/>
<key id="labels" for="node" attr.name="labels" attr.type="string"/>
<key id="name" for="node" attr.name="name"/>
<key id="since" for="edge" attr.name="since" attr.type="int"/>
<key id="label" for="edge" attr.name="label"/>
<graph id="G" edgedefault="directed">
<node id="n0" labels=":User"><data key="labels">:User</data><data key="age">42</data><data key="name">Adam</data><data key="male">true</data><data key="kids">["Sam","Anna"]</data></node>
<node id="n1" labels=":User"><data key="labels">:User</data><data key="age">42</data><data key="name">Jim</data></node>
<node id="n2"/>
<edge id="e0" source="n0" target="n1" label="KNOWS"><data key="label">KNOWS</data><data key="since">1993</data></edge>
</graph></graphml>"#;
    check("all.graphml", text, "Integer(1993)");
    let (folder, db) = database();
    let plain = r#"<graphml><key id="d0" for="node" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected"><node id="a &amp; b"><data key="d0">1.5</data></node>
<node id="c"/><edge source="a &amp; b" target="c"/></graph></graphml>"#;
    let path = file(&folder, "other.xml", plain);
    import_neo4j(&db.connect(), &path).expect("imported");
    let rows = run(
        &db.connect(),
        "MATCH (a)-[r:RELATED]->(b) RETURN a.id, a.weight, b.id",
    );
    assert_eq!(rows, ["[String(\"a & b\"), Float(1.5), String(\"c\")]"]);
}

#[test]
fn scripts_of_neo4j_shells() {
    let text = "\
:begin
CREATE CONSTRAINT UNIQUE_IMPORT_NAME FOR (node:`UNIQUE IMPORT LABEL`) REQUIRE (node.`UNIQUE IMPORT \
ID`) IS UNIQUE;
:commit
CALL db.awaitIndexes(300);
:begin
UNWIND [{_id:0, properties:{age:42, name:\"Adam\", male:true, kids:[\"Sam\", \"Anna\"]}}, {_id:1, \
properties:{age:42, name:\"Jim\"}}] AS row
CREATE (n:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row._id}) SET n += row.properties SET n:User;
UNWIND [{_id:2, properties:{}}] AS row
CREATE (n:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row._id}) SET n += row.properties;
:commit
:param rows => [{start: {_id:0}, end: {_id:1}, properties:{since:1993}}]
:begin
UNWIND $rows AS row
MATCH (start:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row.start._id})
MATCH (end:`UNIQUE IMPORT LABEL`{`UNIQUE IMPORT ID`: row.end._id})
CREATE (start)-[r:KNOWS]->(end) SET r += row.properties;
:commit
:begin
MATCH (n:`UNIQUE IMPORT LABEL`)  WITH n LIMIT 20000 REMOVE n:`UNIQUE IMPORT LABEL` REMOVE \
n.`UNIQUE IMPORT ID`;
:commit
:begin
DROP CONSTRAINT UNIQUE_IMPORT_NAME;
:commit
";
    check("all.cypher", text, "Integer(1993)");
}

/// A node that comes late is there for the relationships after it, however many these are.
#[test]
fn nodes_may_come_after_relationships() {
    let mut text = String::new();
    let mut add = |line: String| text.push_str(&(line + "\n"));
    let node = |id: u64| format!(r#"{{"type":"node","id":"{id}","labels":["N{id}"]}}"#);
    let edge = |start: u64, end: u64| {
        format!(
            r#"{{"type":"relationship","label":"K","start":{{"id":"{start}"}},"end":{{"id":"{end}"}}}}"#
        )
    };
    add(node(0));
    add(edge(0, 0));
    add(node(1));
    (0..1500).for_each(|_| add(edge(0, 1)));
    let (folder, db) = database();
    let path = file(&folder, "late.json", &text);
    let made = import_neo4j(&db.connect(), &path).expect("imported");
    assert_eq!((made.nodes, made.relationships), (2, 1501));
}

#[test]
fn what_is_wrong_is_said_with_the_line() {
    let node = r#"{"type":"node","id":"0","labels":["A"]}"#;
    let missing =
        r#"{"id":"0","type":"relationship","label":"K","start":{"id":"0"},"end":{"id":"9"}}"#;
    let cases: &[(&str, String, &str)] = &[
        (
            "a.json",
            format!("{node}\n{{\"type\":"),
            "line 2: is no JSON object",
        ),
        (
            "b.json",
            format!("{node}\n{node}"),
            "line 2: at or before this line",
        ),
        (
            "c.json",
            format!("{node}\n{missing}"),
            "an end with id \"9\"",
        ),
        (
            "d.json",
            r#"{"type":"node","id":"0","properties":{"m":{"a":1}}}"#.into(),
            "the property m is a map",
        ),
        (
            "d2.json",
            r#"{"type":"node","id":"0","properties":{"m":9223372036854775808}}"#.into(),
            "the property m is a whole number of more than 63 bits",
        ),
        (
            "e.graphml",
            "<graphml><graph><node/></graph></graphml>".into(),
            "line 1: <node> has no id",
        ),
        (
            "f.graphml",
            "<graphml>\n<graph>\n<node id='a'>".into(),
            "line 3",
        ),
        ("g.graphml", "<html></html>".into(), "is no GraphML"),
        ("h.csv", "a,b\n1,2\n".into(), "has no column _id"),
        ("i.cypher", "CREATE (:A);\nCREATE (:B;\n".into(), "line 2"),
        (
            "j.cypher",
            "CREATE (:A);\nCREATE (:B)\n".into(),
            "line 2: the last statement has no semicolon",
        ),
        ("k.dump", "x".into(), "apoc.export.json.all"),
        ("l", "x".into(), "give it the ending"),
        ("m.json", "\u{1f}\u{8b}".into(), "is no JSON object"),
    ];
    for (name, text, expected) in cases {
        let (folder, db) = database();
        let path = file(&folder, name, text);
        let error = import_neo4j(&db.connect(), &path)
            .expect_err(name)
            .to_string();
        assert!(error.contains(expected), "{name}: {error}");
        assert!(error.contains(name), "{name}: {error}");
    }
    let (folder, db) = database();
    let path = folder.path().join("packed.json");
    std::fs::write(&path, [0x1f, 0x8b, 8, 0]).expect("written");
    let error = import_neo4j(&db.connect(), &path)
        .expect_err("packed")
        .to_string();
    assert!(error.contains("unpack it first"), "{error}");
    let error = import_neo4j(&db.connect(), &folder.path().join("none.json"));
    assert!(
        error
            .expect_err("no file")
            .to_string()
            .contains("none.json")
    );
}

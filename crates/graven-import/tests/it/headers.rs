// Goal: Neo4j's header convention is read in full, and everything that can be wrong with a table is
// said with file, line, column, value and remedy, or reported and skipped when asked.
use std::fs::write;
use std::io::Write;
use std::path::{Path, PathBuf};

use graven_import::{CsvFormat, ImportError, ImportOptions, ImportSource, TableSource};
use graven_storage::{Direction, PropertyValue};

use crate::{find, neighbours, open, property, run, strings};

fn source(nodes: &[String], relationships: &[String]) -> ImportSource {
    let parse = |list: &[String]| list.iter().map(|a| a.parse().unwrap()).collect();
    ImportSource::Tables(TableSource {
        nodes: parse(nodes),
        relationships: parse(relationships),
        format: CsvFormat::default(),
    })
}

fn argument(name: &str, files: &[&Path]) -> String {
    let files: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    format!("{name}={}", files.join(","))
}

struct Case {
    dir: tempfile::TempDir,
    nodes: PathBuf,
    rels: PathBuf,
}

fn case(nodes: &str, relationships: &str) -> Case {
    let dir = tempfile::tempdir().unwrap();
    let (n, r) = (dir.path().join("nodes.csv"), dir.path().join("rels.csv"));
    write(&n, nodes).unwrap();
    write(&r, relationships).unwrap();
    Case {
        nodes: n,
        rels: r,
        dir,
    }
}

impl Case {
    fn source(&self) -> ImportSource {
        source(
            &[argument("P", &[&self.nodes])],
            &[argument("KNOWS", &[&self.rels])],
        )
    }

    fn target(&self) -> PathBuf {
        self.dir.path().join("db.graven")
    }

    fn fail(&self) -> String {
        let error = run(&self.target(), &self.source(), &ImportOptions::default()).unwrap_err();
        let left: Vec<_> = std::fs::read_dir(self.dir.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "nothing is left beside the tables: {left:?}");
        error.to_string()
    }
}

/// Blanks between separators are no label.
#[test]
fn labels_are_trimmed_and_never_empty() {
    let case = case("id:ID|:LABEL\n1| A ; ;B;\n2| \n", ":START_ID|:END_ID\n");
    let report = run(
        &case.target(),
        &source(
            &[case.nodes.display().to_string()],
            &[argument("KNOWS", &[&case.rels])],
        ),
        &ImportOptions::default(),
    )
    .unwrap();
    let labels: Vec<&str> = report.labels.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(labels, ["A", "B"]);
}

#[test]
fn the_convention_in_full() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    // Header in a file of its own, data compressed, byte order mark, quotes, two lines in a value.
    let (header, data) = (file("person-header.csv"), file("person.csv.gz"));
    write(
        &header,
        "\u{feff}id:ID(Person)|name|age:int|score:double|ok:boolean|tags:string[]|born:date|\
         seen:datetime|local:localdatetime|old:IGNORE|:LABEL\n",
    )
    .unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(
        b"1|\"Ann \"\"A\"\"\ntwo lines\"|42|1.5|true|a;b|2012-11-29|2012-11-29T12:00:00+01:00|\
          2012-11-29T12:00:00|x|Admin;User\r\n2|Bob|||false|||||y|\n",
    )
    .unwrap();
    write(&data, gzip.finish().unwrap()).unwrap();
    let item = file("item.csv");
    write(&item, "sku:ID(Item),price:float\nA-1,9.5\n7,1\n").unwrap();
    let (bought, any) = (file("bought.csv.zst"), file("any.csv"));
    let text = b":START_ID(Person);:END_ID(Item);on:date\n1;A-1;2020-02-29\n1;7;\n1;A-1;\n";
    write(&bought, zstd::encode_all(&text[..], 1).unwrap()).unwrap();
    write(
        &any,
        ":START_ID(Person)\t:END_ID(Person)\t:TYPE\n1\t2\tKNOWS\n2\t2\tLIKES\n",
    )
    .unwrap();
    let source = source(
        &[
            argument("Person", &[&header, &data]),
            argument("Item:Thing", &[&item]),
        ],
        &[argument("", &[&any]), argument("BOUGHT", &[&bought])],
    );
    // The array delimiter asked for is the field delimiter of one file; where none is asked for,
    // another is taken there.
    let mut asked = source.clone();
    if let ImportSource::Tables(tables) = &mut asked {
        tables.format.array_delimiter = Some(b';');
    }
    let error = run(&file("db"), &asked, &ImportOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("array delimiter"), "{error}");
    let report = run(&file("db"), &source, &ImportOptions::default()).unwrap();
    assert_eq!((report.nodes, report.relationships), (4, 5));
    let graph = open(&file("db"));
    let ann = find(&graph, "Person", "id", &PropertyValue::Integer(1)).unwrap();
    let value = |key| property(&graph, ann, key);
    assert_eq!(value("name"), PropertyValue::from("Ann \"A\"\ntwo lines"));
    assert_eq!(value("age"), PropertyValue::Integer(42));
    assert_eq!(value("score"), PropertyValue::Float(1.5));
    assert_eq!(value("ok"), PropertyValue::Boolean(true));
    assert_eq!(value("tags"), strings(&["a", "b"]));
    assert_eq!(value("born"), PropertyValue::Date(15_673));
    assert_eq!(value("old"), PropertyValue::Null);
    let PropertyValue::DateTime(seen) = value("seen") else {
        panic!()
    };
    assert_eq!((seen.seconds, seen.offset_seconds), (1_354_186_800, 3600));
    let PropertyValue::LocalDateTime(local) = value("local") else {
        panic!()
    };
    assert_eq!(local.seconds, 1_354_190_400);
    assert_eq!(graph.labels_of(ann).unwrap().len(), 3);
    // Ids of a space with one that is no number are text, all of them.
    let seven = find(&graph, "Thing", "sku", &PropertyValue::from("7")).unwrap();
    assert!(find(&graph, "Item", "sku", &PropertyValue::from("A-1")).is_some());
    assert_eq!(property(&graph, seven, "price"), PropertyValue::Float(1.0));
    let bought = neighbours(&graph, ann, "BOUGHT", Direction::Out, "on");
    assert_eq!(bought.len(), 3, "parallel relationships stay");
    assert_eq!(
        bought
            .iter()
            .filter(|b| b.1 == PropertyValue::Date(18_321))
            .count(),
        1
    );
    assert_eq!(
        neighbours(&graph, ann, "KNOWS", Direction::Out, "").len(),
        1
    );
}

#[test]
fn bad_rows_are_named() {
    let rels = ":START_ID|:END_ID\n1|2\n";
    let nodes = "id:ID|age:int\n1|5\n2|\n";
    for (n, r, parts) in [
        (
            "id:ID|age:int\n1|x\n",
            rels,
            vec!["nodes.csv, line 2", "'age:int'", "'x'", "whole number"],
        ),
        (
            "id:ID|age:int\n1|1|2\n",
            rels,
            vec!["line 2", "has 3 fields", "1|1|2"],
        ),
        (
            "id:ID|age:int\n1|99999999999\n",
            rels,
            vec!["32 bits", "use the type long"],
        ),
        (
            "id:ID|age:int\n1|1\n1|2\n",
            rels,
            vec!["line 3", "'id:ID'", "'1'", "occurs twice"],
        ),
        ("id:ID|age:int\n|1\n", rels, vec!["line 2", "id is empty"]),
        (
            nodes,
            ":START_ID|:END_ID\n1|2\n1|9\n",
            vec!["rels.csv, line 3", ":END_ID", "'9'", "no node"],
        ),
        (
            nodes,
            ":START_ID|:END_ID(Q)\n1|2\n",
            vec!["column 2", "space 'Q'"],
        ),
        (
            nodes,
            ":START_ID|since:year\n1|2\n",
            vec!["unknown type 'year'"],
        ),
        (nodes, ":START_ID|x\n1|2\n", vec!["no :END_ID"]),
        ("id:ID|\"b\n1|2\n", rels, vec!["quote"]),
        (
            "id:ID|name\n1|\"a\"b\n",
            rels,
            vec!["nodes.csv, line 2", "name", "'ab'", "closing quote"],
        ),
        ("", rels, vec!["nodes.csv", "empty", "header"]),
        (
            "name|id|age:int\na|1|5\n",
            rels,
            vec!["nodes.csv", "no :ID column", "'id:ID'"],
        ),
        (
            "id:ID|d:date\n1|2010-02-30\n",
            rels,
            vec!["'d:date'", "2010-02-30", "no date"],
        ),
    ] {
        let error = case(n, r).fail();
        for part in parts {
            assert!(error.contains(part), "'{part}' is not in: {error}");
        }
    }
}

#[test]
fn bad_rows_are_skipped_and_reported() {
    let case = case(
        "id:ID|age:int\n1|5\n2|x\n3|7\n1|8\n4|1|1\n",
        ":START_ID|:END_ID|w:int\n1|3|1\n1|2|1\n3|1|y\n3|1|2\n",
    );
    let bad = case.dir.path().join("bad.csv");
    let options = ImportOptions {
        skip_bad_rows: Some(bad.clone()),
        ..ImportOptions::default()
    };
    let report = run(&case.target(), &case.source(), &options).unwrap();
    assert_eq!(
        (report.nodes, report.relationships, report.skipped_rows),
        (2, 2, 5)
    );
    let text = std::fs::read_to_string(bad).unwrap();
    assert_eq!(text.lines().count(), 6);
    assert!(text.contains("nodes.csv\",3,\"age:int\",\"x\""), "{text}");
    assert!(text.contains("rels.csv\",3,\":END_ID\",\"2\""), "{text}");
    let graph = open(&case.target());
    let one = find(&graph, "P", "id", &PropertyValue::Integer(1)).unwrap();
    assert_eq!(property(&graph, one, "age"), PropertyValue::Integer(5));
}

/// Goal: rows that are looked up together are each taken or reported as if they came alone. Method:
/// a long table of relationships between numbers and texts; every 97th row is bad, in four ways.
#[test]
fn bad_rows_of_a_long_table_are_reported_in_its_order() {
    let name = |i: usize| {
        if i.is_multiple_of(5) {
            format!("n{i}")
        } else {
            i.to_string()
        }
    };
    let mut nodes = String::from("id:ID|age:int\n");
    (0..1000).for_each(|i| nodes += &format!("{}|{i}\n", name(i)));
    let mut rels = String::from(":START_ID|:END_ID|w:int\n");
    let (mut bad_lines, mut good) = (Vec::new(), 0);
    for row in 0..3000 {
        let (start, end) = (name(row % 1000), name(row * 7 % 1000));
        if row % 97 != 96 {
            rels += &format!("{start}|{end}|{row}\n");
            good += 1;
            continue;
        }
        bad_lines.push(row + 2);
        rels += &match row / 97 % 4 {
            0 => format!("5000|{end}|1\n"),
            1 => format!("{start}|1001|1\n"),
            2 => format!("{start}|{end}|x\n"),
            _ => format!("{start}|n1001|1\n"),
        };
    }
    let case = case(&nodes, &rels);
    let bad = case.dir.path().join("bad.csv");
    let skips = ImportOptions {
        skip_bad_rows: Some(bad.clone()),
        ..ImportOptions::default()
    };
    let report = run(&case.target(), &case.source(), &skips).unwrap();
    assert_eq!((report.nodes, report.relationships), (1000, good));
    let text = std::fs::read_to_string(bad).unwrap();
    let line = |row: &str| row.split(',').nth(1).unwrap().parse::<usize>().unwrap();
    let lines: Vec<usize> = text.lines().skip(1).map(line).collect();
    assert_eq!(lines, bad_lines);
    std::fs::remove_file(case.target()).unwrap();
    let told = run(&case.target(), &case.source(), &ImportOptions::default()).unwrap_err();
    let told = told.to_string();
    assert!(told.contains(&format!("line {}", bad_lines[0])), "{told}");
}

#[test]
fn tables_of_one_space_keep_their_own_id_names() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b, r) = (
        dir.path().join("a"),
        dir.path().join("b"),
        dir.path().join("r"),
    );
    write(&a, "id:ID\n1\n2\n").unwrap();
    write(&b, "sku:ID|:LABEL\n3|X\n").unwrap();
    write(&r, ":START_ID|:END_ID\n1|3\n").unwrap();
    let source = source(
        &[argument("P", &[&a]), argument("Item", &[&b])],
        &[argument("BOUGHT", &[&r])],
    );
    run(&dir.path().join("db"), &source, &ImportOptions::default()).unwrap();
    let graph = open(&dir.path().join("db"));
    let three = find(&graph, "Item", "sku", &PropertyValue::Integer(3)).unwrap();
    let one = find(&graph, "P", "id", &PropertyValue::Integer(1)).unwrap();
    assert_eq!(property(&graph, three, "id"), PropertyValue::Null);
    assert_eq!(
        neighbours(&graph, one, "BOUGHT", Direction::Out, "").len(),
        1
    );
}

#[test]
fn a_missing_file_is_named() {
    let mut case = case("id:ID\n1\n", ":START_ID|:END_ID\n1|1\n");
    case.rels = case.dir.path().join("absent.csv");
    let error = run(&case.target(), &case.source(), &ImportOptions::default()).unwrap_err();
    assert!(matches!(error, ImportError::Io { .. }), "{error}");
    assert!(error.to_string().contains("absent.csv"), "{error}");
}

#[test]
fn bad_rows_are_named_when_ids_do_not_fit_in_memory() {
    // 150,000 ids take more than the share of 8 MiB that is theirs.
    let mut nodes = String::from("id:ID\n");
    for i in 0..150_000 {
        nodes += &format!("n{}\n", i * 7);
    }
    let options = ImportOptions {
        memory: ImportOptions::MEMORY_MIN,
        ..ImportOptions::default()
    };
    let good = case(&nodes, ":START_ID|:END_ID\nn7|n14\nn1049993|n0\n");
    let report = run(&good.target(), &good.source(), &options).unwrap();
    assert_eq!((report.nodes, report.relationships), (150_000, 2));
    let graph = open(&good.target());
    let last = find(&graph, "P", "id", &PropertyValue::from("n1049993")).unwrap();
    let zero = find(&graph, "P", "id", &PropertyValue::from("n0")).unwrap();
    let found = neighbours(&graph, last, "KNOWS", Direction::Out, "");
    assert_eq!(found, [(zero, PropertyValue::Null)]);

    let unresolved = case(&nodes, ":START_ID|:END_ID\nn7|n14\nn0|n5\n");
    let error = run(&unresolved.target(), &unresolved.source(), &options).unwrap_err();
    let error = error.to_string();
    for part in ["rels.csv, line 3", ":END_ID", "'n5'", "no node"] {
        assert!(error.contains(part), "{error}");
    }
    let twice = case(&format!("{nodes}n21\n"), ":START_ID|:END_ID\nn7|n14\n");
    let error = run(&twice.target(), &twice.source(), &options)
        .unwrap_err()
        .to_string();
    for part in ["nodes.csv, line 150002", "'n21'", "occurs twice"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_property_named_twice_is_refused() {
    let case = case("id:ID|name|name:int\n1|a|2\n", ":START_ID|:END_ID\n");
    let error = case.fail();
    for part in ["nodes.csv", "column 3", "column 2 again"] {
        assert!(error.contains(part), "{error}");
    }
}

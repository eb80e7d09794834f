// Goal: databases made from the shared LDBC sets hold what the files say: counts as in the READMEs,
// values of every date form, lists, both ends of relationships, unique indexes; the same whatever
// memory and threads.
use graven_import::{ImportOptions, ImportSource, NodeOrder};
use graven_storage::{Direction, PropertyValue};

use crate::{dump, find, neighbours, open, property, run, shared, strings};

fn integer(value: i64) -> PropertyValue {
    PropertyValue::Integer(value)
}

#[test]
fn tiny_holds_what_its_files_say() {
    let Some(folder) = shared("ldbc-snb-tiny") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny.graven");
    let report = run(
        &path,
        &ImportSource::Ldbc(folder),
        &ImportOptions::default(),
    )
    .unwrap();
    assert_eq!((report.nodes, report.relationships), (34_735, 70_842));
    assert!(report.created_by_reference.is_empty() && report.skipped_rows == 0);
    let graph = open(&path);
    let catalog = graph.catalog();
    for count in &report.labels {
        let label = catalog.label(&count.name).unwrap();
        assert_eq!(catalog.label_count(label), count.count, "{}", count.name);
    }
    for label in [
        "Person", "Forum", "Post", "Comment", "Message", "Tag", "Place", "City",
    ] {
        let index = catalog.index(catalog.label(label).unwrap(), catalog.key("id").unwrap());
        assert!(
            index.is_some_and(|i| i.unique && i.distinct == i.entries),
            "{label}"
        );
    }
    let person = find(&graph, "Person", "id", &integer(8_796_093_022_220)).unwrap();
    assert_eq!(
        property(&graph, person, "firstName"),
        PropertyValue::from("Jose")
    );
    assert_eq!(
        property(&graph, person, "birthday"),
        integer(558_921_600_000)
    );
    assert_eq!(
        property(&graph, person, "creationDate"),
        integer(1_284_620_040_602)
    );
    let PropertyValue::List(emails) = property(&graph, person, "email") else {
        panic!()
    };
    assert_eq!(
        emails[0],
        PropertyValue::from("Jose8796093022220@gmail.com")
    );
    assert_eq!(property(&graph, person, "place"), PropertyValue::Null);
    let city = neighbours(&graph, person, "IS_LOCATED_IN", Direction::Out, "");
    assert_eq!(property(&graph, city[0].0, "id"), integer(1_073));
    let labels = graph.labels_of(city[0].0).unwrap();
    let labels: Vec<&str> = labels
        .iter()
        .map(|l| &**catalog.label_name(*l).unwrap())
        .collect();
    assert!(labels.contains(&"Place") && labels.contains(&"City") && labels.len() == 2);
    // 150 joined forum 274877906944 on 2010-09-19T05:25:47.521Z.
    let forum = find(&graph, "Forum", "id", &integer(274_877_906_944)).unwrap();
    let member = find(&graph, "Person", "id", &integer(150)).unwrap();
    let members = neighbours(&graph, forum, "HAS_MEMBER", Direction::Out, "joinDate");
    assert!(members.contains(&(member, integer(1_284_873_947_521))));
    let forums = neighbours(&graph, member, "HAS_MEMBER", Direction::In, "joinDate");
    assert!(forums.contains(&(forum, integer(1_284_873_947_521))));
    // Post 343597383680 has an image, no language and no content.
    let post = find(&graph, "Message", "id", &integer(343_597_383_680)).unwrap();
    let image = PropertyValue::from("photo343597383680.jpg");
    assert_eq!(property(&graph, post, "imageFile"), image);
    assert_eq!(property(&graph, post, "content"), PropertyValue::Null);
    assert_eq!(property(&graph, post, "length"), integer(0));
    let container = neighbours(&graph, post, "CONTAINER_OF", Direction::In, "");
    assert_eq!(
        property(&graph, container[0].0, "id"),
        integer(343_597_383_682)
    );
}

#[test]
fn memory_and_threads_do_not_change_the_graph() {
    let Some(folder) = shared("ldbc-snb-tiny") else {
        return;
    };
    let source = ImportSource::Ldbc(folder);
    let dir = tempfile::tempdir().unwrap();
    let mut expected = None;
    for (name, memory, threads) in [("a", 1 << 30, 2), ("b", 8 << 20, 1), ("c", 8 << 20, 2)] {
        let path = dir.path().join(name);
        let options = ImportOptions {
            memory,
            threads,
            ..ImportOptions::default()
        };
        let report = run(&path, &source, &options).unwrap();
        let dump = dump(&open(&path));
        assert_eq!(dump.len() as u64, report.nodes);
        assert!(
            *expected.get_or_insert_with(|| dump.clone()) == dump,
            "{name}"
        );
    }
    let path = dir.path().join("file-order");
    let options = ImportOptions {
        order: NodeOrder::File,
        ..ImportOptions::default()
    };
    run(&path, &source, &options).unwrap();
    let graph = open(&path);
    // The first person of the file is the first node; by degree it is not.
    let first = find(&graph, "Person", "id", &integer(8_796_093_022_220)).unwrap();
    assert_eq!(first.0, 0);
}

#[test]
fn bi_lists_and_offsets() {
    let Some(folder) = shared("ldbc-snb-sf0.003-bi") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bi.graven");
    let report = run(
        &path,
        &ImportSource::Ldbc(folder),
        &ImportOptions::default(),
    )
    .unwrap();
    assert_eq!(
        report.ignored_files.len(),
        18,
        "inserts and deletes are no bulk data"
    );
    let graph = open(&path);
    let person = find(&graph, "Person", "id", &integer(14)).unwrap();
    assert_eq!(
        property(&graph, person, "speaks"),
        strings(&["fa", "ku", "en"])
    );
    assert_eq!(
        property(&graph, person, "email"),
        strings(&["Hossein14@hotmail.com"])
    );
    assert_eq!(
        property(&graph, person, "creationDate"),
        integer(1_262_531_431_499)
    );
    let forum = find(&graph, "Forum", "id", &integer(0)).unwrap();
    let members = neighbours(&graph, forum, "HAS_MEMBER", Direction::Out, "joinDate");
    assert!(
        members
            .iter()
            .any(|(_, date)| *date == integer(1_349_551_490_381))
    );
}

#[test]
fn sf10_degrees_and_spilling() {
    // Degrees of the question's starts, from an independent program; 16 MiB forces sorted runs.
    let Some(folder) = shared("ldbc-snb-sf10-knows") else {
        return;
    };
    let expected = std::fs::read_to_string(folder.join("three-hop-expected.csv")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sf10.graven");
    let options = ImportOptions {
        memory: 16 << 20,
        ..ImportOptions::default()
    };
    let report = run(&path, &ImportSource::Ldbc(folder), &options).unwrap();
    assert!(report.spilled_bytes > 50 << 20, "{}", report.spilled_bytes);
    assert_eq!(report.relationships, 1_933_943 + 65_645);
    let graph = open(&path);
    for line in expected.lines().skip(1) {
        let fields: Vec<i64> = line.split(',').map(|f| f.parse().unwrap()).collect();
        let person = find(&graph, "Person", "id", &integer(fields[1])).unwrap();
        let mut degree = 0;
        for direction in [Direction::Out, Direction::In] {
            let friends = neighbours(&graph, person, "KNOWS", direction, "");
            degree += friends.len() as i64;
            for (friend, _) in friends.iter().take(20) {
                let PropertyValue::Integer(id) = property(&graph, *friend, "id") else {
                    panic!()
                };
                assert_eq!(
                    id > fields[1],
                    direction == Direction::Out,
                    "smaller id to larger"
                );
            }
        }
        assert_eq!(degree, fields[2], "person {}", fields[1]);
    }
}

// Goal: every layout of the shared data sets is recognised by its files and headers, and every row
// arrives: nodes per label and relationships per type as the data's READMEs (and line counts) say,
// every reference resolved.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::options::ImportOptions;
use crate::progress::Meter;
use crate::scan::{Scan, Scanned};
use crate::scratch::Scratch;

fn data(set: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = shared.join("data").join(set);
    if !path.exists() {
        eprintln!("SKIPPED: {} is absent", path.display());
        return None;
    }
    Some(path)
}

fn scan(path: &std::path::Path) -> (crate::plan::Plan, Scanned) {
    scan_within(path, ImportOptions::default().memory)
}

/// Scans with `memory` for everything, however little.
fn scan_within(path: &std::path::Path, memory: u64) -> (crate::plan::Plan, Scanned) {
    let plan = super::plan(path).unwrap();
    let options = ImportOptions {
        memory,
        ..ImportOptions::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let scratch: Arc<Scratch> = Scratch::create(dir.path().join("s"), 1 << 30).unwrap();
    let mut sink = |_: crate::Progress<'_>| std::ops::ControlFlow::Continue(());
    let mut meter = Meter::new(&mut sink);
    let scan = Scan::new(&plan, &options, &scratch, &mut meter).unwrap();
    let scanned = scan.run().unwrap();
    (plan, scanned)
}

/// `Label count` and `TYPE count` pairs of a data set, and the nodes created by reference.
fn counts(set: &str) -> Option<(BTreeMap<String, u64>, BTreeMap<String, u64>)> {
    let (plan, scanned) = scan(&data(set)?);
    let staged = &scanned.staged;
    let mut counts = BTreeMap::new();
    let mut runs = staged.label_runs.reader();
    while let Some((set, count, _)) = runs.next().unwrap() {
        for label in &staged.label_sets[set as usize] {
            *counts
                .entry(staged.labels.get(*label).to_owned())
                .or_insert(0) += count;
        }
    }
    for (number, spool) in staged.relationships.iter().enumerate() {
        if spool.records() > 0 {
            counts.insert(staged.types.get(number).to_owned(), spool.records());
        }
    }
    let total: u64 = scanned.degrees.iter().map(|d| u64::from(*d)).sum();
    let relationships: u64 = staged.relationships.iter().map(|s| s.records()).sum();
    assert_eq!(total, 2 * relationships);
    let created = plan
        .spaces
        .iter()
        .zip(&scanned.created)
        .filter(|(_, n)| **n > 0);
    Some((counts, created.map(|(s, n)| (s.name.clone(), *n)).collect()))
}

fn expect(set: &str, expected: &str, created: &[(&str, u64)]) {
    let Some((counts, made)) = counts(set) else {
        return;
    };
    let wanted: BTreeMap<String, u64> = expected
        .split(',')
        .map(|pair| {
            let (name, count) = pair.trim().split_once(' ').unwrap();
            (name.to_owned(), count.parse().unwrap())
        })
        .collect();
    assert_eq!(counts, wanted, "{set}");
    let created: BTreeMap<String, u64> = created.iter().map(|(n, c)| ((*n).into(), *c)).collect();
    assert_eq!(made, created, "{set}: created by reference");
}

const STATIC: &str = "Organisation 7955, University 6380, Company 1575, Place 1460, City 1343, \
    Country 111, Continent 6, Tag 16080, TagClass 71, IS_PART_OF 1454, HAS_TYPE 16080, \
    IS_SUBCLASS_OF 70";

#[test]
fn interactive_sf01_complete() {
    // Nodes located: persons, organisations, posts and comments.
    let located = 1_528 + 7_955 + 136_800 + 168_161;
    let expected = format!(
        "{STATIC}, Person 1528, Forum 13751, Post 136800, Comment 168161, Message 304961, \
         KNOWS 14031, HAS_INTEREST 35475, STUDY_AT 1209, WORK_AT 3313, HAS_MEMBER 122710, \
         HAS_TAG {}, LIKES {}, HAS_MODERATOR 13751, CONTAINER_OF 136800, HAS_CREATOR 304961, \
         REPLY_OF 168161, IS_LOCATED_IN {located}",
        47_698 + 58_139 + 219_596,
        48_406 + 68_207,
    );
    expect("ldbc-snb-sf0.1", &expected, &[]);
}

#[test]
fn interactive_tiny_with_text_dates() {
    let located = 222 + 7_955 + 5_924 + 2_218;
    let expected = format!(
        "{STATIC}, Person 222, Forum 805, Post 5924, Comment 2218, Message 8142, KNOWS 825, \
         HAS_INTEREST 4777, STUDY_AT 180, WORK_AT 485, HAS_MEMBER 3584, HAS_TAG {}, LIKES {}, \
         HAS_MODERATOR 805, CONTAINER_OF 5924, HAS_CREATOR 8142, REPLY_OF 2218, \
         IS_LOCATED_IN {located}",
        5_360 + 683 + 2_553,
        759 + 624,
    );
    expect("ldbc-snb-tiny", &expected, &[]);
}

#[test]
fn interactive_sf1_without_comments() {
    let located = 9_892 + 7_955 + 1_003_768;
    let expected = format!(
        "{STATIC}, Person 9892, Forum 90563, Post 1003768, Message 1003768, KNOWS 181240, \
         HAS_INTEREST 229166, STUDY_AT 7949, WORK_AT 21654, HAS_MEMBER 1615080, HAS_TAG {}, \
         LIKES 746549, HAS_MODERATOR 90563, CONTAINER_OF 1003768, HAS_CREATOR 1003768, \
         IS_LOCATED_IN {located}",
        309_837 + 714_588,
    );
    expect("ldbc-snb-sf1-core", &expected, &[]);
}

#[test]
fn official_sf01_with_tables_missing() {
    // Posts and comments exist only in relationship tables.
    let expected = format!(
        "{STATIC}, Person 1528, Forum 13750, Post 135701, Comment 151043, Message 286744, \
         KNOWS 14073, HAS_INTEREST 35475, STUDY_AT 1209, WORK_AT 3313, HAS_TAG {}, LIKES {}, \
         HAS_MODERATOR 13750, CONTAINER_OF 135701, HAS_CREATOR 286744, REPLY_OF {}, \
         IS_LOCATED_IN {}",
        47_697 + 51_118 + 191_303,
        47_215 + 62_225,
        76_787 + 74_256,
        1_528 + 7_955 + 286_744,
    );
    let created = [("Post", 135_701), ("Comment", 151_043)];
    expect("ldbc-snb-sf0.1-official-partial", &expected, &created);
}

#[test]
fn bi_sf0003_initial_snapshot() {
    let likes = 364 + 128;
    for set in [
        "ldbc-snb-sf0.003-bi",
        "ldbc-snb-sf0.003-bi/initial_snapshot",
    ] {
        let Some((counts, created)) = counts(set) else {
            return;
        };
        assert!(created.is_empty());
        for (name, count) in [
            ("Person", 50),
            ("KNOWS", 83),
            ("Forum", 381),
            ("HAS_MEMBER", 1_253),
            ("Post", 3_189),
            ("Comment", 471),
            ("Message", 3_660),
            ("LIKES", likes),
            ("HAS_CREATOR", 3_660),
            ("REPLY_OF", 471),
            ("CONTAINER_OF", 3_189),
            ("City", 1_343),
            ("University", 6_380),
        ] {
            assert_eq!(counts.get(name), Some(&count), "{set} {name}");
        }
    }
}

#[test]
fn sf10_persons_and_knows() {
    let Some((counts, created)) = counts("ldbc-snb-sf10-knows") else {
        return;
    };
    assert_eq!(counts["Person"], 65_645);
    assert_eq!(counts["KNOWS"], 1_933_943);
    assert_eq!(counts["IS_LOCATED_IN"], 65_645);
    // The cities are named by the persons' rows only.
    assert_eq!(created.get("City"), Some(&counts["City"]));
}

#[test]
fn lsqb_edges_only() {
    let expected = "City 1343, Country 111, Continent 6, Place 1460, Company 1575, \
        University 6380, Organisation 7955, Comment 1112, Post 4314, Message 5426, Forum 482, \
        Person 50, Tag 16080, TagClass 71, IS_PART_OF 1454, HAS_CREATOR 5426, HAS_TAG 3323, \
        IS_LOCATED_IN 13431, REPLY_OF 1112, CONTAINER_OF 4314, HAS_MEMBER 1643, \
        HAS_MODERATOR 482, HAS_INTEREST 1256, KNOWS 88, LIKES 856, STUDY_AT 42, WORK_AT 103, \
        IS_SUBCLASS_OF 70, HAS_TYPE 16080";
    expect("lsqb/sf0.003", expected, &[]);
    let expected = "City 1343, Country 111, Continent 6, Place 1460, Company 1575, \
        University 6380, Organisation 7955, Comment 215488, Post 172438, Message 387926, \
        Forum 17043, Person 1700, Tag 16080, TagClass 71, IS_PART_OF 1454, HAS_TAG 120859, \
        IS_LOCATED_IN 397581, REPLY_OF 215488, HAS_MODERATOR 17043, HAS_INTEREST 39170, \
        KNOWS 18135, LIKES 162402, STUDY_AT 1374, WORK_AT 3637, IS_SUBCLASS_OF 70, HAS_TYPE 16080";
    expect("lsqb/sf0.1-partial", expected, &[]);
    let Some((counts, _)) = counts("lsqb/example") else {
        return;
    };
    assert_eq!(
        (counts["Person"], counts["KNOWS"], counts["REPLY_OF"]),
        (5, 6, 6)
    );
}

#[test]
fn several_data_sets_and_none_are_errors() {
    let Some(lsqb) = data("lsqb") else { return };
    let error = super::plan(&lsqb).unwrap_err().to_string();
    assert!(error.contains("several data sets"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = super::plan(empty.path()).unwrap_err().to_string();
    assert!(error.contains("no table"), "{error}");
}

/// Relationships per type as (start, end, properties), sorted.
fn relationships(scanned: &Scanned) -> Vec<Vec<(u64, u64, Vec<u8>)>> {
    let all = scanned.staged.relationships.iter().map(|spool| {
        let mut reader = spool.reader();
        let mut rows = Vec::new();
        while let Some((start, end, properties)) = reader.next().unwrap() {
            rows.push((start, end, properties.to_vec()));
        }
        rows.sort();
        rows
    });
    all.collect()
}

#[test]
fn ids_that_do_not_fit_in_memory_resolve_alike() {
    let Some(folder) = data("ldbc-snb-tiny") else {
        return;
    };
    let (_, resident) = scan(&folder);
    for memory in [1 << 20, 1_000] {
        let (plan, partitioned) = scan_within(&folder, memory);
        assert!(
            relationships(&resident) == relationships(&partitioned),
            "{memory}"
        );
        assert!(resident.degrees == partitioned.degrees);
        let spaces = plan.spaces.len();
        for (a, b) in (0..spaces).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert_eq!(resident.overlap(a, b), partitioned.overlap(a, b), "{a} {b}");
        }
        let elements = |s: &Scanned| s.staged.columns.iter().map(|c| c.elements.records()).sum();
        let (all, found): (u64, u64) = (elements(&resident), elements(&partitioned));
        assert_eq!(all, found);
    }
}

#[test]
fn nodes_are_created_by_reference_in_partitions_too() {
    // Persons and their cities exist only by reference; the id 3 is a person and a city.
    let dir = tempfile::tempdir().unwrap();
    let mut tags = String::from("id|name|url|hasType\n");
    for i in 0..2_000 {
        tags += &format!("{i}|t{i}|u|{}\n", i % 7 + 5_000);
    }
    std::fs::write(dir.path().join("tag.csv"), tags).unwrap();
    let mut interests = String::from("Person.id|Tag.id\n");
    for i in 0..3_000 {
        interests += &format!("{}|{}\n", i % 500 + 10, i % 2_000);
    }
    std::fs::write(dir.path().join("person_hasInterest_tag.csv"), interests).unwrap();
    let (_, resident) = scan(dir.path());
    let (plan, partitioned) = scan_within(dir.path(), 1_000);
    assert_eq!(resident.created, partitioned.created);
    assert_eq!(resident.created.iter().sum::<u64>(), 500 + 7);
    let sorted = |scanned: &Scanned| {
        let mut degrees = scanned.degrees.clone();
        degrees.sort_unstable();
        degrees
    };
    assert!(sorted(&resident) == sorted(&partitioned));
    let space = |name: &str| plan.spaces.iter().position(|s| s.name == name).unwrap();
    let (tag, person) = (space("Tag"), space("Person"));
    assert!(resident.overlap(tag, person) && partitioned.overlap(tag, person));
    let class = space("TagClass");
    assert!(!resident.overlap(class, person) && !partitioned.overlap(class, person));
}

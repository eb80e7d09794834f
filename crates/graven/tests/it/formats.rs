//! Goal: files of every released format are read, written to and found sound by this build: what
//! `tests/formats/N/` holds was written by the release that brought format `N`, and never changes.
//!
//! Method: each database is unpacked, asked what its `answers.txt` asks, checked, written to,
//! folded and asked again. `cargo xtask format` writes the folder of this build's format where
//! there is none ([`write_the_folder_of_this_format`]).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use graven::{Config, Database, Params};
use graven_storage::superblock::FORMAT;

/// Bytes of a folder, so that the repository stays small.
const FOLDER_BYTES_MAX: u64 = 200 << 10;

const MADE: [&str; 14] = [
    "CREATE INDEX person_name FOR (p:Person) ON (p.name)",
    "CREATE CONSTRAINT person_id FOR (p:Person) REQUIRE p.id IS UNIQUE",
    "CREATE CONSTRAINT thing_n FOR (t:Thing) REQUIRE t.n IS NOT NULL",
    "CREATE USER ada SET PASSWORD 'a password' SET ROLE writer",
    "UNWIND range(1, 400) AS i CREATE (:Person {id: i, name: 'person ' + (i % 40), score: i * \
        0.25, even: i % 2 = 0})",
    "UNWIND range(1, 60) AS i CREATE (:Post:Message {id: i, at: date('2026-01-01') + \
        duration({days: i}), text: 'text ' + i})",
    "CREATE (:Values {i: -9223372036854775807, f: 1.5e300, t: true, s: '\u{e4}\u{20ac}\u{1d11e}', \
        l: [1, 2, 3], ls: ['a', 'b'], lf: [0.5], lb: [true, false]})",
    "CREATE (:Values {d: date('1815-12-10'), lt: localtime('12:31:14.645876123'), zt: \
        time('12:31:14+02:00'), ldt: localdatetime('2026-11-23T01:02:03'), \
     zdt: datetime('2026-11-23T01:02:03[Europe/Berlin]'), du: duration('P1Y2M3DT4H5M6.5S'), p2: \
     point({x: 1.0, y: 2.0}), p3: point({longitude: 13.4, latitude: 52.5, height: 34.0})})",
    "MATCH (a:Person), (b:Person) WHERE b.id IN [a.id + 1, a.id * 3 % 400] CREATE (a)-[:KNOWS \
        {since: a.id, at: date('2020-01-01')}]->(b)",
    "MATCH (a:Person), (p:Post) WHERE p.id = a.id % 60 + 1 CREATE (a)-[:LIKES]->(p)",
    "MATCH (h:Person {id: 7}) UNWIND range(1, 3000) AS i CREATE (h)-[:SAW {n: i}]->(:Thing {n: i})",
    "CREATE (:Long {short: reduce(t = '', i IN range(1, 2000) | t + 'long text '), long: reduce(t \
        = '', i IN range(1, 12000) | t + 'long text ')})",
    "MATCH (p:Person) WHERE p.id % 37 = 0 DETACH DELETE p",
    "MATCH (p:Person) WHERE p.id % 41 = 0 SET p:Later, p.name = null, p.new = 'new'",
];

/// After the checkpoint: what the log alone has.
const LATER: [&str; 4] = [
    "MATCH (p:Person) WHERE p.id % 11 = 0 SET p.name = 'in the log', p:Logged",
    "MATCH (p:Person {id: 50}) DETACH DELETE p",
    "CREATE (:Person {id: 1000, name: 'new'})-[:KNOWS {since: 5}]->(:Post {id: 2000})",
    "CREATE INDEX post_text FOR (p:Post) ON (p.text)",
];

const ASKED: [&str; 16] = [
    "MATCH (n) RETURN count(n), count(n.name), sum(n.id), max(n.score)",
    "MATCH (n) UNWIND labels(n) AS l RETURN l, count(*) ORDER BY l",
    "MATCH ()-[r]->() RETURN type(r), count(*), sum(r.since), max(r.n), min(r.at) ORDER BY type(r)",
    "MATCH (p:Person {id: 7})-[r]-(q) RETURN count(r), min(q.id)",
    "MATCH (p:Person) WHERE p.id > 20 AND p.id < 60 RETURN p.id, p.name, p.score, p.even, p.new \
        ORDER BY p.id DESC",
    "MATCH (p:Person {name: 'person 3'}) RETURN count(*), sum(p.id)",
    "MATCH (p:Post) WHERE p.text STARTS WITH 'text 1' RETURN p.at, p.id, p.text ORDER BY p.id",
    "MATCH (v:Values) WHERE v.i IS NOT NULL RETURN v.i, v.f, v.t, v.s, v.l, v.ls, v.lf, v.lb",
    "MATCH (v:Values) WHERE v.d IS NOT NULL RETURN v.d, v.lt, v.zt, v.ldt, v.zdt, v.du, v.p2, v.p3",
    "MATCH (l:Long) RETURN size(l.short), size(l.long), left(l.long, 30), right(l.long, 30)",
    "MATCH (a:Person {id: 1})-[:KNOWS*1..3]->(b) RETURN count(DISTINCT b)",
    "MATCH p = shortestPath((a:Person {id: 1})-[:KNOWS*]-(b:Person {id: 90})) RETURN length(p)",
    "MATCH (a:Person)-[:LIKES]->(p:Post)<-[:LIKES]-(b:Person) WHERE a.id < b.id RETURN count(*)",
    "SHOW INDEXES YIELD name, entityType, labelsOrTypes, properties \
        RETURN entityType, labelsOrTypes, name, properties ORDER BY name",
    "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties \
        RETURN labelsOrTypes, name, properties, type ORDER BY name",
    "SHOW USERS YIELD user, roles, suspended RETURN roles, suspended, user ORDER BY user",
];

fn folder_of(format: u32) -> PathBuf {
    formats().join(format.to_string())
}

fn formats() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

fn open(path: &Path, memory: u64, create: bool) -> Database {
    let mut config = Config::default();
    (config.memory, config.threads, config.create) = (memory, 2, create);
    Database::open(path, config).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The rows of a statement, a line each.
fn rows(db: &Database, text: &str) -> String {
    let connection = db.connect();
    let ran = connection.query(text, &Params::new());
    let mut lines = String::new();
    for row in ran.unwrap_or_else(|e| panic!("{text}: {e}")) {
        let row = row.unwrap_or_else(|e| panic!("{text}: {e}"));
        let values: Vec<String> = row.values().iter().map(ToString::to_string).collect();
        let _ = writeln!(lines, "{}", values.join(" | "));
    }
    lines
}

/// Questions and answers as they stand in `answers.txt`.
fn asked(db: &Database) -> String {
    let mut text = String::new();
    for question in ASKED {
        let _ = write!(text, "> {question}\n{}", rows(db, question));
    }
    text
}

fn pack(from: &Path, to: &Path) {
    let bytes = std::fs::read(from).expect("read");
    let packed = zstd::encode_all(bytes.as_slice(), 19).expect("packed");
    std::fs::write(to, packed).expect("written");
}

fn unpack(from: &Path, to: &Path) {
    let packed = std::fs::read(from).unwrap_or_else(|e| panic!("{}: {e}", from.display()));
    std::fs::write(to, zstd::decode_all(packed.as_slice()).expect("unpacked")).expect("written");
}

fn log_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

/// `closed`: one file; `killed`: a data file and its log.
fn write_the_folder_of_this_format() {
    let folder = folder_of(FORMAT);
    assert!(
        !folder.exists(),
        "{} is there: what a release wrote does not change",
        folder.display()
    );
    std::fs::create_dir_all(&folder).expect("a folder");
    let scratch = tempfile::tempdir().expect("a folder");
    for name in ["closed", "killed"] {
        let path = scratch.path().join(format!("{name}.graven"));
        let db = open(&path, 64 << 20, true);
        MADE.iter().for_each(|text| drop(rows(&db, text)));
        db.checkpoint().expect("folded");
        if name == "killed" {
            LATER.iter().for_each(|text| drop(rows(&db, text)));
        }
        std::fs::write(folder.join(format!("{name}.txt")), asked(&db)).expect("written");
        if name == "closed" {
            db.close().expect("closed");
        } else {
            pack(&log_of(&path), &folder.join("killed.log.zst"));
        }
        pack(&path, &folder.join(format!("{name}.data.zst")));
    }
}

#[test]
fn files_of_every_format_are_read_and_written_to() {
    // `cargo xtask format` says so, once for a format.
    if std::env::var_os("GRAVEN_WRITE_FORMAT").is_some() {
        write_the_folder_of_this_format();
    }
    let scratch = tempfile::tempdir().expect("a folder");
    for format in 1..=FORMAT {
        let folder = folder_of(format);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|e| {
            panic!(
                "{}: {e}; `cargo xtask format` writes the files of this format",
                folder.display()
            )
        });
        let bytes: u64 = files
            .map(|file| file.and_then(|f| f.metadata()).expect("a file").len())
            .sum();
        assert!(bytes < FOLDER_BYTES_MAX, "format {format}: {bytes} bytes");
        for name in ["closed", "killed"] {
            let answers = folder.join(format!("{name}.txt"));
            let answers = std::fs::read_to_string(answers).expect("answers");
            for memory in [1 << 20, 64 << 20] {
                let path = scratch
                    .path()
                    .join(format!("{format}-{name}-{memory}.graven"));
                unpack(&folder.join(format!("{name}.data.zst")), &path);
                if name == "killed" {
                    unpack(&folder.join("killed.log.zst"), &log_of(&path));
                }
                let told = |when: &str| format!("format {format}, {name}, {memory} bytes, {when}");
                let sound = |db: &Database, when: &str| {
                    let report = db.check(&mut |_| ()).expect("checked");
                    assert!(
                        report.problems.is_empty(),
                        "{}: {:?}",
                        told(when),
                        report.problems
                    );
                };
                let db = open(&path, memory, false);
                sound(&db, "as it is");
                assert_eq!(asked(&db), answers, "{}", told("as it is"));
                assert!(
                    db.is_user("ada", "a password").expect("asked"),
                    "{}",
                    told("users")
                );
                rows(
                    &db,
                    "MATCH (p:Person {id: 7}) SET p.score = -1.5 CREATE (p)-[:MADE]->(:New {id: \
                        1})",
                );
                db.checkpoint().expect("folded");
                rows(
                    &db,
                    "MATCH (p:Person {id: 7})-[m:MADE]->(n:New) SET p.score = 1.75 DELETE m, n",
                );
                db.close().expect("closed");
                let db = open(&path, memory, false);
                sound(&db, "written to");
                assert_eq!(asked(&db), answers, "{}", told("written to"));
            }
        }
    }
}

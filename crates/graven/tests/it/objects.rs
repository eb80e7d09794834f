//! Goal: a database that was published is read as the file was, through URL, page cache and disk
//! tier; publishing sends what changed, and from a running owner too; a reader's snapshot stays
//! whole, and `refresh` goes on with the next one.

use std::path::Path;
use std::time::Duration;

use graven::{Config, Database, Error, Params, collect_garbage};

pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.threads = 2;
    config.create = true;
    config
}

fn url(folder: &Path) -> String {
    format!("file://{}/published/", folder.display())
}

pub(crate) fn run(db: &Database, text: &str) -> Result<Vec<String>, Error> {
    let mut result = db.connect().query(text, &Params::new())?;
    let mut rows = Vec::new();
    while let Some(row) = result.next_row()? {
        let values = row.values().iter().map(ToString::to_string);
        rows.push(values.collect::<Vec<_>>().join(" "));
    }
    Ok(rows)
}

/// A graph of some megabytes: rings of persons that know each other.
pub(crate) fn fill(db: &Database, persons: i64) {
    let connection = db.connect();
    let params = Params::new().with("n", persons);
    let ok = |text: &str| drop(connection.query(text, &params).unwrap());
    ok(
        "UNWIND range(1, $n) AS id CREATE (:Person {id: id, name: 'person number ' + toString(id), \
        about: toString(id * 7919) + ' likes ' + toString(id % 91)})",
    );
    ok("CREATE INDEX person_id FOR (p:Person) ON (p.id)");
    ok("MATCH (a:Person) MATCH (b:Person {id: 1 + (a.id * 31 + 7) % $n}) CREATE (a)-[:KNOWS]->(b)");
}

pub(crate) const QUESTIONS: [&str; 5] = [
    "MATCH (p:Person) RETURN count(p), min(p.name), max(p.about)",
    "MATCH (p:Person {id: 77}) RETURN p.name, labels(p)",
    "MATCH (:Person {id: 5})-[:KNOWS*1..4]->(f) RETURN count(DISTINCT f)",
    "MATCH (a:Person)-[:KNOWS]->(b) WHERE a.id > b.id RETURN count(*)",
    "MATCH (p:Person) WHERE p.id % 1000 = 3 RETURN p.id, p.about ORDER BY p.id",
];

fn answers(db: &Database) -> Vec<Vec<String>> {
    QUESTIONS
        .iter()
        .map(|question| run(db, question).unwrap())
        .collect()
}

#[test]
fn a_published_database_answers_as_the_file_does() {
    let folder = tempfile::tempdir().unwrap();
    let (path, url) = (folder.path().join("a.graven"), url(folder.path()));
    let db = Database::open(&path, config()).unwrap();
    fill(&db, 20_000);
    let published = db.publish(&url, Some(1 << 20)).unwrap();
    assert!(
        published.chunks > 1 && published.sent_chunks == published.chunks,
        "{published:?}"
    );
    let wanted = answers(&db);
    let mut tiered = config();
    tiered.disk_cache = Some(folder.path().join("tier"));
    for (round, config) in [config(), tiered.clone(), tiered].into_iter().enumerate() {
        let reader = Database::open(&url, config).unwrap();
        assert_eq!(answers(&reader), wanted);
        let report = reader.check(&mut |_| ()).unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        let info = reader.info().unwrap();
        assert_eq!(info.reading.mode, "object storage");
        assert_eq!(info.file_bytes, published.length);
        let refused = run(&reader, "CREATE (:Person)").unwrap_err();
        assert_eq!(refused.code(), "Database.ReadOnly", "{refused}");
        let traffic = reader.traffic().unwrap();
        // The second time with the tier nothing but pointer and manifest is asked for.
        assert_eq!(traffic.requests == 2, round == 2, "{traffic:?}");
        assert_eq!(traffic.tier_bytes > 0, round > 0, "{traffic:?}");
    }
    // A copy of a snapshot is a database.
    let copy = folder.path().join("copy.graven");
    Database::open(&url, config())
        .unwrap()
        .backup(&copy)
        .unwrap();
    let copy = Database::open(&copy, config()).unwrap();
    assert_eq!(answers(&copy), wanted);
    assert_eq!(
        run(&copy, "CREATE (p:Person {id: -1}) RETURN p.id").unwrap(),
        ["-1"]
    );
}

#[test]
fn a_reader_keeps_its_snapshot_until_it_asks_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (path, url) = (folder.path().join("a.graven"), url(folder.path()));
    let db = Database::open(&path, config()).unwrap();
    fill(&db, 5_000);
    db.publish(&url, Some(1 << 20)).unwrap();
    let reader = Database::open(&url, config()).unwrap();
    assert!(!reader.refresh().unwrap(), "there is no newer one");
    let names = "MATCH (p:Person) RETURN p.name ORDER BY p.id";
    let before = run(&db, names).unwrap();
    let mut running = reader.connect().query(names, &Params::new()).unwrap();
    let mut seen = vec![running.next_row().unwrap().unwrap().values()[0].to_string()];
    run(&db, "MATCH (p:Person) SET p.name = 'changed', p.extra = 1").unwrap();
    run(
        &db,
        "CREATE (:City {name: 'Uppsala'})-[:IN]->(:Country {name: 'Sweden'})",
    )
    .unwrap();
    assert!(!db.publish(&url, None).unwrap().unchanged);
    assert!(reader.refresh().unwrap());
    while let Some(row) = running.next_row().unwrap() {
        seen.push(row.values()[0].to_string());
    }
    assert_eq!(seen, before, "OB-14");
    for read in [&reader, &Database::open(&url, config()).unwrap()] {
        assert_eq!(
            run(read, "MATCH (p:Person) RETURN DISTINCT p.name, p.extra").unwrap(),
            ["\"changed\" 1"]
        );
        let place = "MATCH (c:City)-[:IN]->(n) RETURN c.name, n.name";
        assert_eq!(run(read, place).unwrap(), ["\"Uppsala\" \"Sweden\""]);
        // In a transaction of its own, too: it knows the new names.
        let mut transaction = read.connect().begin().unwrap();
        let mut rows = transaction.query(place, &Params::new()).unwrap();
        assert!(rows.next_row().unwrap().is_some());
    }
    assert_eq!(answers(&reader), answers(&db));
    // What was collected is gone for readers behind, and said so; not for those that went on.
    let collected = collect_garbage(&url, Duration::ZERO, false).unwrap();
    assert!(collected.deleted_chunks > 0, "{collected:?}");
    assert_eq!(answers(&reader), answers(&db));
    let file = db.refresh().unwrap_err();
    assert_eq!(file.code(), "Request.Invalid", "{file}");
}

#[test]
fn the_owner_publishes_for_a_process_that_is_attached() {
    let folder = tempfile::tempdir().unwrap();
    let (path, url) = (folder.path().join("a.graven"), url(folder.path()));
    let db = Database::open(&path, config()).unwrap();
    fill(&db, 1_000);
    let text = format!("CALL graven.publish('{url}') YIELD sentChunks, unchanged RETURN *");
    assert_eq!(run(&db, &text).unwrap(), ["1 false"]);
    assert_eq!(run(&db, &text).unwrap(), ["0 true"]);
    let wrong = run(&db, "CALL graven.publish('s4://x/y')").unwrap_err();
    assert!(
        wrong.message().contains("no store has this scheme"),
        "{wrong}"
    );
    // One that may only be read publishes what its log holds, too.
    db.close().unwrap();
    drop(db);
    let mut reading = config();
    reading.read_only = true;
    let reader = Database::open(&path, reading).unwrap();
    assert!(reader.publish(&url, None).unwrap().sent_chunks <= 1);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path());
    let missing = Database::open(&url, config()).unwrap_err();
    assert_eq!(missing.code(), "Database.NotFound", "{missing}");
    assert!(missing.message().contains("graven publish"), "{missing}");
    let scheme = Database::open("s4://bucket/graph", config()).unwrap_err();
    assert_eq!(scheme.code(), "Config.Invalid", "{scheme}");
    assert!(!folder.path().join("published").exists());
    let mut small = config();
    small.disk_cache = Some(folder.path().join("tier"));
    small.disk_budget = 5;
    let small = Database::open(&url, small).unwrap_err();
    assert_eq!(small.code(), "Config.Invalid", "{small}");
    let none = collect_garbage(&url, Duration::ZERO, false).unwrap_err();
    assert_eq!(none.code(), "Database.NotFound", "{none}");
}

/// Every byte that a reader uses is proven: wrong bytes in a chunk are an error, never an answer.
#[test]
fn a_changed_chunk_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, url) = (folder.path().join("a.graven"), url(folder.path()));
    let db = Database::open(&path, config()).unwrap();
    fill(&db, 2_000);
    db.publish(&url, Some(1 << 20)).unwrap();
    let wanted = answers(&db);
    let chunks = folder.path().join("published/chunks");
    let mut found = 0;
    for entry in std::fs::read_dir(chunks).unwrap() {
        let chunk = entry.unwrap().path();
        let good = std::fs::read(&chunk).unwrap();
        for step in 0..12 {
            let mut bad = good.clone();
            let at = (step * 7919 * 131) % bad.len();
            // A stretch of bytes that moves on, as of a wrong answer.
            let end = bad.len().min(at + 20_000);
            bad[at..end].rotate_left(1);
            std::fs::write(&chunk, &bad).unwrap();
            let Ok(reader) = Database::open(&url, config()) else {
                found += 1;
                continue;
            };
            for (question, wanted) in QUESTIONS.iter().zip(&wanted) {
                match run(&reader, question) {
                    Ok(rows) => assert_eq!(&rows, wanted),
                    Err(error) => {
                        assert_eq!(error.code(), "Database.Damaged", "{error}");
                        found += 1;
                    }
                }
            }
        }
        std::fs::write(&chunk, &good).unwrap();
    }
    assert!(found > 5, "{found}");
    // And one that the source has is not published.
    let reader = Database::open(&url, config()).unwrap();
    assert_eq!(answers(&reader), wanted);
}

/// What a question costs, cold and warm: `cargo test -p graven --test it what_a_question --
/// --nocapture` prints the numbers of the guide.
#[test]
fn what_a_question_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let (path, url) = (folder.path().join("a.graven"), url(folder.path()));
    let db = Database::open(&path, config()).unwrap();
    fill(&db, 200_000);
    let first = db.publish(&url, Some(1 << 20)).unwrap();
    eprintln!("first publish: {first:?}");
    run(&db, "MATCH (p:Person {id: 99}) SET p.name = 'changed'").unwrap();
    let second = db.publish(&url, None).unwrap();
    eprintln!("one property changed: {second:?}");
    assert!(second.sent_bytes < first.sent_bytes, "{second:?}");
    let mut roomy = config();
    roomy.memory = 64 << 20;
    for question in QUESTIONS {
        let reader = Database::open(&url, roomy.clone()).unwrap();
        let opened = reader.traffic().unwrap();
        run(&reader, question).unwrap();
        let cold = reader.traffic().unwrap();
        run(&reader, question).unwrap();
        let warm = reader.traffic().unwrap();
        eprintln!(
            "opening {} requests {} bytes, cold {} requests {} bytes, warm {} requests: {question}",
            opened.requests,
            opened.bytes,
            cold.requests - opened.requests,
            cold.bytes - opened.bytes,
            warm.requests - cold.requests
        );
        assert_eq!(warm, cold, "what is in memory is not asked for: {question}");
        assert!(cold.bytes < first.length * 2, "{cold:?}");
        if question == QUESTIONS[0] {
            // Whole columns are read ahead: requests are far larger than pages.
            let (requests, bytes) = (cold.requests - opened.requests, cold.bytes - opened.bytes);
            assert!(bytes / requests > 128 << 10, "{requests} for {bytes} bytes");
        }
        if question == QUESTIONS[4] {
            // Leaves of the index are read ahead, and rows that are few wait for each other.
            let requests = cold.requests - opened.requests;
            assert!(requests < 60, "{requests} requests");
        }
    }
}

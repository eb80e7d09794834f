//! Goal: a URL stands wherever a statement reads a file, with the same rows; only what is needed
//! is asked for; what goes wrong is named, and what is closed to a client is never asked.

mod stores;
mod web;

use std::io::Write;
use std::time::{Duration, Instant};

use graven::{Access, Config, Connection, Database, Error, Params, Role};

use web::Web;

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) db: Database,
}

impl Place {
    pub(crate) fn with_memory(memory: u64) -> Place {
        Place::with(memory, Config::default().disk_budget)
    }

    fn with(memory: u64, disk_budget: u64) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::default();
        config.create = true;
        (config.memory, config.disk_budget) = (memory, disk_budget);
        let db = Database::open(folder.path().join("urls.graven"), config).unwrap();
        Place { folder, db }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes the rows of a query to a local file, which the server has then, too.
    fn copy(&self, web: &Web, query: &str, name: &str) {
        let path = self.path(name);
        rows(&self.db.connect(), &format!("COPY ({query}) TO '{path}'")).unwrap();
        web.put(name, std::fs::read(path).unwrap());
    }
}

/// The rows of a statement as text.
pub(crate) fn rows(connection: &Connection, text: &str) -> Result<Vec<String>, Error> {
    let result = connection.query(text, &Params::new())?;
    let row = |row: graven::Row| {
        let values = row.values().iter().map(ToString::to_string);
        values.collect::<Vec<_>>().join("|").replace('"', "")
    };
    result.map(|found| found.map(row)).collect()
}

/// The message of a statement that fails.
fn fault(connection: &Connection, text: &str) -> String {
    match rows(connection, text) {
        Ok(rows) => panic!("{text}: {rows:?}"),
        Err(error) => error.to_string(),
    }
}

fn packed(content: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let level = flate2::Compression::default();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), level);
    gzip.write_all(content).unwrap();
    (
        gzip.finish().unwrap(),
        zstd::encode_all(content, 3).unwrap(),
    )
}

const ROWS: &str = "UNWIND range(1, 30000) AS i RETURN i, 'name ' + i AS name, i * 0.5 AS half, \
                    date('2026-01-01') AS day";

#[test]
fn every_format_is_read_from_a_web_server() {
    let (place, web) = (Place::with_memory(64 << 20), Web::serve());
    for ending in ["csv", "json", "parquet", "arrow"] {
        place.copy(&web, ROWS, &format!("a.{ending}"));
    }
    let csv = std::fs::read(place.path("a.csv")).unwrap();
    let (gzip, zstd) = packed(&csv);
    web.put("a.csv.gz", gzip);
    web.put("a.csv.zst", zstd);
    let connection = place.db.connect();
    let question =
        |source: &str| format!("LOAD FROM {source} RETURN count(*), sum(i), max(name), sum(half)");
    let wanted = rows(
        &connection,
        &question(&format!("'{}'", place.path("a.csv"))),
    )
    .unwrap();
    assert_eq!(wanted[0], "30000|450015000|name 9999|225007500.0");
    let names = ["csv", "csv.gz", "csv.zst", "json", "parquet", "arrow"];
    for name in names.map(|ending| format!("a.{ending}")) {
        for how in ["ranged", "tagged", "plain", "flaky"] {
            let url = web.url(how, &name);
            let found = rows(&connection, &question(&format!("'{url}'")));
            let found = found.unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(found, wanted, "{url}");
        }
    }
    // A list of both kinds, a URL with a query, a query that hides the format.
    let (one, other) = (web.url("ranged", "a.parquet"), place.path("a.parquet"));
    let both = format!("LOAD FROM ['{one}', '{other}'] RETURN count(*)");
    assert_eq!(rows(&connection, &both).unwrap(), ["60000"]);
    let pages = format!("LOAD FROM ['{one}?page=1', '{one}?page=2'] RETURN count(*)");
    assert_eq!(rows(&connection, &pages).unwrap(), ["60000"]);
    let asked = web.asked().join(" ");
    assert!(asked.contains("?page=1") && asked.contains("?page=2"));
    // An empty file, and one of one byte.
    web.put("none.csv", "");
    web.put("one.csv", "x");
    for (name, count) in [("none.csv", "0"), ("one.csv", "1")] {
        let url = web.url("ranged", name);
        let text = format!("LOAD FROM '{url}' (HEADER = false) RETURN count(*)");
        assert_eq!(rows(&connection, &text).unwrap(), [count], "{name}");
    }
}

#[test]
fn statements_that_load_take_urls() {
    let (place, web) = (Place::with_memory(64 << 20), Web::serve());
    web.put("people.csv", "id,name\n1,Ada\n2,Bo\n");
    web.put("knows.csv", "a,b,since\n1,2,2020\n");
    let connection = place.db.connect();
    let run = |text: &str| rows(&connection, text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let (people, knows) = (
        web.url("ranged", "people.csv"),
        web.url("plain", "knows.csv"),
    );
    run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE");
    run(&format!("COPY Person FROM '{people}'"));
    run(&format!(
        "COPY KNOWS FROM '{knows}' (from = 'Person', to = 'Person')"
    ));
    let found = run("MATCH (a)-[k:KNOWS]->(b) RETURN a.name, k.since, b.name");
    assert_eq!(found, ["Ada|2020|Bo"]);
    let csv = format!(
        "LOAD CSV WITH HEADERS FROM '{people}' AS row RETURN row.name, linenumber(), file()"
    );
    let found = run(&csv);
    assert_eq!(found, [format!("Ada|2|{people}"), format!("Bo|3|{people}")]);
    let params = Params::new().with("url", people.as_str());
    let text = "LOAD FROM $url (id INT64, name STRING) RETURN count(*)";
    let counted = connection.query(text, &params).unwrap().next_row();
    assert_eq!(counted.unwrap().unwrap().values()[0].to_string(), "2");
    // What is no file for reading in a statement is refused with what to do.
    for (text, part) in [
        (
            format!("COPY (RETURN 1 AS x) TO '{people}'"),
            "web servers are read, not written",
        ),
        (
            "EXPORT DATABASE 's3://bucket/all'".to_owned(),
            "copy the folder",
        ),
        (
            "CALL graven.backup('s3://bucket/a.graven')".to_owned(),
            "only a file of this machine",
        ),
    ] {
        let said = fault(&connection, &text);
        assert!(said.contains(part), "{text}: {said}");
    }
    assert!(!std::path::Path::new("s3:").exists());
}

#[test]
fn of_a_parquet_file_only_what_is_needed_is_asked_for() {
    let (place, web) = (Place::with_memory(64 << 20), Web::serve());
    let columns = (0..8).map(|c| format!("toString(i * {} % 1000003) + 'x' AS c{c}", c * 7 + 3));
    let query = format!(
        "UNWIND range(1, 260000) AS i RETURN i AS id, {}",
        columns.collect::<Vec<_>>().join(", ")
    );
    place.copy(&web, &query, "wide.parquet");
    let size = std::fs::metadata(place.path("wide.parquet")).unwrap().len() as usize;
    assert!(size > 3 << 20, "{size}");
    let connection = place.db.connect();
    let url = web.url("tagged", "wide.parquet");
    let ask = |text: &str| {
        let local = text.replace("FILE", &place.path("wide.parquet"));
        let wanted = rows(&connection, &local).unwrap();
        web.sent();
        let found = rows(&connection, &text.replace("FILE", &url)).unwrap();
        assert_eq!(found, wanted, "{text}");
        let (requests, bytes) = web.sent();
        eprintln!("{requests} requests, {bytes} of {size} bytes: {text}");
        (requests, bytes)
    };
    let (_, all) = ask("LOAD FROM 'FILE' RETURN count(id + c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7)");
    assert!(
        all >= size * 9 / 10 && all < size * 5 / 4,
        "{all} of {size}"
    );
    let (_, one) = ask("LOAD FROM 'FILE' RETURN count(DISTINCT c3)");
    assert!(one < size / 5, "{one} of {size}");
    let (_, some) = ask("LOAD FROM 'FILE' WHERE id < 1000 RETURN count(c0 + c1)");
    // Three of nine columns, of one row group of several.
    assert!(some < size / 5, "{some} of {size}");
    let (requests, none) = ask("LOAD FROM 'FILE' RETURN count(*)");
    assert!(
        none < size / 20 && requests <= 12,
        "{none} of {size}, {requests}"
    );
}

#[test]
fn memory_stays_bounded() {
    let (place, web) = (Place::with_memory(8 << 20), Web::serve());
    let rows_of = "UNWIND range(1, 150000) AS i RETURN i, 'a text that is so long that it takes \
                   some room, number ' + i AS t";
    for ending in ["csv", "parquet", "json"] {
        let name = format!("x.{ending}");
        place.copy(&web, rows_of, &name);
        let url = web.url("ranged", &name);
        let text = format!("LOAD FROM '{url}' RETURN count(t), sum(i)");
        let found = rows(&place.db.connect(), &text).unwrap();
        assert_eq!(found, ["150000|11250075000"], "{ending}");
    }
}

#[test]
fn what_goes_wrong_is_named() {
    let (place, web) = (Place::with_memory(64 << 20), Web::serve());
    web.put("a.csv", "id,name\n1,Ada\n2,Bo\nx,Cy\n");
    web.put(
        "long.csv",
        format!("id,name\n{}", "1,Ada\n".repeat(100_000)),
    );
    web.put("a.parquet", "PAR1 and nothing else PAR1");
    let connection = place.db.connect();
    let secret = web.url("signed", "none.csv?sig=SECRET");
    let port = web.port;
    for (url, options, parts) in [
        (
            web.url("ranged", "none.csv"),
            "",
            vec!["no such file (404)"],
        ),
        (web.url("forbidden", "a.csv"), "", vec!["denies access"]),
        (
            web.url("broken", "a.csv"),
            "",
            vec!["reading failed", "500"],
        ),
        (web.url("truncated", "a.csv"), "", vec!["broke off"]),
        (
            web.url("changing", "long.csv"),
            "",
            vec!["changed while it was read"],
        ),
        (
            web.url("ranged", "*.csv"),
            "",
            vec!["a web server lists no files"],
        ),
        (
            web.url("ranged", "a.csv"),
            "(id INT64, name STRING) (HEADER = true)",
            vec!["line 4", "column id", "'x'"],
        ),
        (web.url("ranged", "a.parquet"), "", vec!["Parquet"]),
        (
            "ftp://host/a.csv".to_owned(),
            "",
            vec!["no store has this scheme"],
        ),
        (
            format!("http://eve:SECRET@127.0.0.1:{port}/a.csv"),
            "",
            vec!["no user name or password"],
        ),
        (secret, "", vec!["/signed/none.csv?...", "404"]),
        (
            "http://127.0.0.1:1/a.csv".to_owned(),
            "",
            vec!["check the host, its port"],
        ),
        (
            "http://no-such-host.invalid/a.csv".to_owned(),
            "",
            vec!["check"],
        ),
    ] {
        let text = format!("LOAD FROM '{url}' {options} RETURN max(id), count(name)");
        let said = fault(&connection, &text);
        let at = url.split(['?', '@']).next_back().unwrap_or_default();
        let at = if url.contains('?') {
            "none.csv?..."
        } else {
            at
        };
        assert!(said.contains(at), "{url}: {said}");
        for part in parts {
            assert!(said.contains(part), "{url}: {said}");
        }
        assert!(!said.contains("SECRET"), "{said}");
        eprintln!("{said}\n");
    }
    // The file with a signature is read with it.
    let url = web.url("signed", "a.csv?sig=SECRET");
    let text = format!("LOAD FROM '{url}' RETURN count(*)");
    assert_eq!(rows(&connection, &text).unwrap(), ["3"]);
}

#[test]
fn copies_of_whole_files_stay_within_the_disk_budget() {
    let (place, web) = (Place::with(64 << 20, 16 << 20), Web::serve());
    let line = "1,a text of some length so that there are fewer lines\n";
    web.put("small.csv", format!("id,name\n{}", line.repeat(200_000)));
    web.put("large.csv", format!("id,name\n{}", line.repeat(600_000)));
    let connection = place.db.connect();
    let count = |url: &str| format!("LOAD FROM '{url}' RETURN count(*)");
    for how in ["plain", "unsized"] {
        let small = web.url(how, "small.csv");
        assert_eq!(rows(&connection, &count(&small)).unwrap(), ["200000"]);
        web.sent();
        let large = web.url(how, "large.csv");
        let said = fault(&connection, &count(&large));
        for part in [&*large, "bytes", "--disk-budget", "another program"] {
            assert!(said.contains(part), "{how}: {said}");
        }
        eprintln!("{said}");
    }
    // What is read by ranges needs no copy.
    let large = web.url("ranged", "large.csv");
    assert_eq!(rows(&connection, &count(&large)).unwrap(), ["600000"]);
}

#[test]
fn a_statement_ends_when_its_time_is_over() {
    let (place, web) = (Place::with_memory(64 << 20), Web::serve());
    web.put("a.csv", "id\n1\n");
    let url = web.url("slow", "a.csv");
    let hurried = place
        .db
        .connect()
        .with_timeout(Some(Duration::from_millis(200)));
    for text in [
        format!("LOAD FROM '{url}' RETURN count(*)"),
        format!("LOAD CSV FROM '{url}' AS row RETURN count(*)"),
        format!("COPY N FROM '{url}'"),
    ] {
        let begun = Instant::now();
        let error = rows(&hurried, &text).unwrap_err();
        assert_eq!(error.code(), "Statement.TimedOut", "{text}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
    let connection = place.db.connect();
    let handle = connection.cancel_handle();
    let cancels = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        handle.cancel();
    });
    let text = format!("LOAD FROM '{url}' RETURN count(*)");
    let error = rows(&connection, &text).unwrap_err();
    assert_eq!(error.code(), "Statement.Cancelled", "{error}");
    cancels.join().unwrap();
}

#[test]
fn clients_name_the_urls_that_are_opened_to_them_and_no_others() {
    let (place, web) = (Place::with_memory(64 << 20), Web::serve());
    web.put("open/a.csv", "id\n1\n");
    web.put("secret/a.csv", "id\n2\n");
    std::fs::create_dir(place.folder.path().join("files")).unwrap();
    std::fs::write(place.path("files/b.csv"), "id\n3\n").unwrap();
    std::fs::write(place.path("c.csv"), "id\n4\n").unwrap();
    let base = format!("http://127.0.0.1:{}", web.port);
    let opened = [
        format!("{base}/ranged/open/"),
        format!("{base}/elsewhere/open/"),
    ];
    let of = |role| {
        let access = Access::without_files(role)
            .with_urls_below(&opened)
            .unwrap();
        let access = access.with_files_below(&place.folder.path().join("files"));
        place.db.connect().with_access(access)
    };
    let forbidden = |connection: &Connection, url: &str| {
        for text in [
            format!("LOAD FROM '{url}' RETURN id"),
            format!("LOAD CSV FROM '{url}' AS row RETURN row"),
            format!("COPY N FROM '{url}'"),
            format!("EXPLAIN LOAD FROM '{url}' RETURN id"),
        ] {
            let error = rows(connection, &text).unwrap_err();
            assert_eq!(error.code(), "Security.Forbidden", "{text}: {error}");
        }
    };
    let client = of(Role::Reader);
    let load = |url: &str| format!("LOAD FROM '{url}' RETURN id");
    let url = format!("{base}/ranged/open/a.csv");
    assert_eq!(rows(&client, &load(&url)).unwrap(), ["1"]);
    assert_eq!(rows(&client, &load("file:///b.csv")).unwrap(), ["3"]);
    assert_eq!(rows(&client, &load("b.csv")).unwrap(), ["3"]);
    web.asked();
    let writer = of(Role::Writer);
    for path in [
        "ranged/secret/a.csv",
        "ranged/opened/a.csv",
        "ranged/open/../secret/a.csv",
        "ranged/open/%2e%2e/secret/a.csv",
        "ranged/open/..%2fsecret/a.csv",
    ] {
        forbidden(&writer, &format!("{base}/{path}"));
    }
    let none = place
        .db
        .connect()
        .with_access(Access::without_files(Role::Admin));
    for url in [
        &*url,
        "s3://bucket/a.csv",
        "s3://bucket/*.csv",
        "https://127.0.0.1/a.csv",
    ] {
        forbidden(&none, url);
    }
    assert_eq!(web.asked(), [""; 0], "nothing that is closed is asked");
    let copy = "COPY (RETURN 1 AS x) TO 's3://bucket/x.csv'";
    for connection in [&of(Role::Admin), &none] {
        let error = rows(connection, copy).unwrap_err();
        assert_eq!(error.code(), "Security.Forbidden", "{error}");
    }
    // A server that is opened leads nowhere else.
    let place_of_c = format!("file://{}", place.path("c.csv"));
    let secret = format!("{base}/ranged/secret/a.csv");
    for to in [
        &secret,
        "http://169.254.169.254/latest/meta-data/",
        &place_of_c,
    ] {
        let leads = format!("{base}/elsewhere/open/a.csv?{to}");
        let said = fault(&client, &load(&leads));
        assert!(said.contains("elsewhere/open/a.csv"), "{said}");
        let asked = web.asked();
        assert!(
            asked.iter().all(|path| path.starts_with("/elsewhere/")),
            "{asked:?}"
        );
        eprintln!("{said}");
    }
    let leads = format!("{base}/elsewhere/open/a.csv?{url}");
    assert_eq!(rows(&client, &load(&leads)).unwrap(), ["1"]);
    // A program's own statements follow.
    let leads = format!("{base}/elsewhere/open/a.csv?{secret}");
    assert_eq!(rows(&place.db.connect(), &load(&leads)).unwrap(), ["2"]);
}

//! Goal: objects in stores are read and written as files are, with settings from the environment;
//! an object appears as a whole, and a statement that fails leaves nothing of it.

use std::process::{Command, Stdio};

use super::{Place, rows};
use crate::s3::store;

/// Says to a process of its own which statements it runs there, one a line.
const TASK: &str = "GRAVEN_URLS_TASK";

/// What is run in a process of its own, as settings of a store are those of a whole process.
#[test]
fn what_a_client_does() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let memory = std::env::var("GRAVEN_URLS_MEMORY").map_or(64, |it| it.parse().unwrap());
    let place = Place::with_memory(memory << 20);
    let connection = place.db.connect();
    for statement in task.lines() {
        let said = match rows(&connection, statement) {
            Ok(rows) => rows.join(" "),
            Err(error) => format!("error {} {error}", error.code()).replace('\n', " "),
        };
        println!("@{said}");
    }
}

/// Settings for a store on this port.
fn settings(port: u16) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
        ("AWS_ACCESS_KEY_ID", "tester".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
    ]
}

/// What a process says to each of these statements.
fn client(settings: &[(&str, String)], statements: &[&str]) -> Vec<String> {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own)
        .args(["--exact", "urls::stores::what_a_client_does", "--nocapture"])
        .env(TASK, statements.join("\n"))
        .envs(settings.iter().map(|(name, value)| (*name, value)))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{statements:?}: {told}");
    let out = String::from_utf8_lossy(&output.stdout);
    let lines = out.lines().filter_map(|line| line.strip_prefix('@'));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert_eq!(lines.len(), statements.len(), "{out}");
    lines
}

const MANY: &str = "UNWIND range(1, 200000) AS i RETURN i, 'a text that is so long that it takes \
                    some room, number ' + i AS t";

/// Statements whose answers do not depend on the store.
fn statements_and_answers() -> Vec<(String, &'static str)> {
    let large = format!("COPY ({MANY}) TO 's3://bucket/out/large.csv'");
    let read = "LOAD FROM 's3://bucket/out/large.csv' RETURN count(*), sum(i)";
    let small = |at: &str| format!("COPY (UNWIND [1, 2] AS x RETURN x) TO 's3://bucket/{at}'");
    let of = |from: &str| format!("LOAD FROM {from} RETURN count(*), sum(x)");
    vec![
        (small("in/a 1.parquet"), ""),
        (small("in/a 2.parquet"), ""),
        (small("in/b.json"), ""),
        (small("in/deep/a 3.parquet"), ""),
        (small("in/deep/er/a 4.parquet"), ""),
        (of("'s3://bucket/in/*.parquet'"), "4|6"),
        (of("'s3://bucket/in/a [2-9].parquet'"), "2|3"),
        (of("'s3://bucket/in/d*/*.parquet'"), "2|3"),
        (of("'s3://bucket/*/*/*/*.parquet'"), "2|3"),
        (
            of("['s3://bucket/in/a 2.parquet', 's3a://bucket/in/a 1.parquet']"),
            "4|6",
        ),
        (of("'s3://bucket/in/b.json'"), "2|3"),
        (
            of("'s3://bucket/in/x*.parquet'"),
            "error ArgumentError.InvalidSource",
        ),
        (of("'s3://bucket/in/'"), "error ArgumentError.InvalidSource"),
        (
            of("'s3://bucket/in/c.parquet'"),
            "error ArgumentError.InvalidSource",
        ),
        (large, ""),
        (read.to_owned(), "200000|20000100000"),
        (
            "COPY (RETURN 1 AS x) TO 's3://bucket/out/large.csv'".to_owned(),
            "",
        ),
        (
            "LOAD FROM 's3://bucket/out/large.csv' RETURN sum(x)".to_owned(),
            "1",
        ),
    ]
}

fn check(settings: &[(&str, String)]) {
    let expected = statements_and_answers();
    let texts: Vec<&str> = expected.iter().map(|(text, _)| text.as_str()).collect();
    for (said, (text, wanted)) in client(settings, &texts).iter().zip(&expected) {
        let is_it = match wanted.starts_with("error") {
            true => said.starts_with(wanted) && said.contains("s3://bucket/in/"),
            false => said == wanted,
        };
        assert!(is_it, "{text}: {said}");
    }
}

#[test]
fn objects_are_read_and_written() {
    let store = store::serve();
    check(&settings(store.port));
    let kept = store.kept.lock().unwrap();
    let keys: Vec<&str> = kept.objects.keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 6, "{keys:?}");
    assert!(kept.uploads.is_empty());
}

#[test]
fn a_copy_that_fails_leaves_nothing() {
    let store = store::serve();
    let refused = format!("COPY ({MANY}) TO 's3://bucket/refused.csv'");
    let wrong = "COPY (UNWIND [1, 0] AS x RETURN 1 / x AS y) TO 's3://bucket/wrong.csv'";
    let said = client(&settings(store.port), &[&refused, wrong]);
    assert!(said[0].contains("s3://bucket/refused.csv"), "{said:?}");
    assert!(said[0].contains("access is denied"), "{said:?}");
    assert!(said[1].starts_with("error"), "{said:?}");
    let kept = store.kept.lock().unwrap();
    assert!(kept.objects.is_empty(), "nothing appeared");
    assert!(kept.uploads.is_empty(), "no parts were left");
    drop(kept);
    // With little memory there are smaller parts, or an error that says so.
    let mut little = settings(store.port);
    little.push(("GRAVEN_URLS_MEMORY", "16".to_owned()));
    let copy = format!("COPY ({MANY}) TO 's3://bucket/little.csv'");
    let said = client(&little, &[&copy]);
    let kept = store.kept.lock().unwrap();
    assert!(kept.uploads.is_empty(), "no parts were left");
    match said[0].is_empty() {
        true => assert_eq!(kept.objects.len(), 1),
        false => {
            assert!(said[0].contains("Memory.Limit"), "{said:?}");
            assert!(kept.objects.is_empty(), "nothing appeared");
        }
    }
}

#[test]
fn settings_that_cannot_work_are_named() {
    let store = store::serve();
    let with = |name: &'static str, value: Option<&str>| {
        let mut all = settings(store.port);
        all.retain(|(known, _)| *known != name);
        all.extend(value.map(|value| (name, value.to_owned())));
        all
    };
    let text = "LOAD FROM 's3://bucket/a.csv' RETURN count(*)";
    let other = "LOAD FROM 's3://other/a.csv' RETURN count(*)";
    for (settings, text, part) in [
        (
            with("AWS_ACCESS_KEY_ID", Some("mallory")),
            text,
            "check AWS_ACCESS_KEY_ID",
        ),
        (
            with("AWS_ALLOW_HTTP", None),
            text,
            "set AWS_ALLOW_HTTP=true",
        ),
        (
            with("AWS_ENDPOINT_URL", Some("http://127.0.0.1:1")),
            text,
            "check AWS_ENDPOINT_URL",
        ),
        (settings(store.port), other, "there is no bucket other"),
        (
            settings(store.port),
            "LOAD FROM 'az://container/a.csv' RETURN count(*)",
            "AZURE_STORAGE_ACCOUNT_NAME",
        ),
    ] {
        let said = client(&settings, &[text]);
        assert!(said[0].contains(part), "{said:?}");
        assert!(!said[0].contains("secret"), "{said:?}");
    }
}

/// A server of another project, which speaks more of the protocol, and checks signatures.
#[test]
fn another_store_takes_the_same_statements() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let server = Command::new("moto_server")
        .args(["-p", &port.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut server) = server else {
        eprintln!("SKIPPED: moto_server is not installed (pip install 'moto[server]')");
        return;
    };
    let made = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(200));
        make_bucket(port).is_ok()
    });
    let checked = std::panic::catch_unwind(|| {
        assert!(made, "moto makes a bucket");
        check(&settings(port));
    });
    server.kill().unwrap();
    server.wait().unwrap();
    checked.unwrap();
}

fn make_bucket(port: u16) -> std::io::Result<()> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
    let head = "PUT /bucket HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\
                Authorization: AWS4-HMAC-SHA256 \
                Credential=tester/20260101/us-east-1/s3/aws4_request\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.contains(" 200 ") {
        true => Ok(()),
        false => Err(std::io::Error::other(answer)),
    }
}

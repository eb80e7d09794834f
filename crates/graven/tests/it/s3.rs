//! Goal: over the protocol of S3 itself, with settings from the environment, what a store answers
//! late, never, in part or wrongly never becomes an answer: requests are repeated, and where that
//! does not help the error names URL, object and range.

pub(crate) mod http;
mod proxy;
pub(crate) mod store;

use std::process::{Command, Stdio};

use graven::{Database, Error};

use crate::objects::{QUESTIONS, config, fill, run};
use proxy::{Fault, Plan, Proxy};

/// Where the database is published.
const URL: &str = "s3://bucket/graph/";

/// Says to a process of its own what it does there: `publish N`, `calm`, `ask` or `tier
/// FOLDER`.
const TASK: &str = "GRAVEN_S3_TASK";

/// How many persons the graph has.
const PERSONS: i64 = 20_000;

fn said(outcome: Result<Vec<String>, Error>) -> String {
    match outcome {
        Ok(rows) => rows.join(" | "),
        Err(error) => format!("error {} {error}", error.code()).replace('\n', " "),
    }
}

/// What is run in a process of its own, as settings of a store are those of a whole process.
#[test]
fn what_a_client_does() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let (what, with) = task.split_once(' ').unwrap_or((&task, ""));
    if what == "publish" {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("a.graven"), config()).unwrap();
        fill(&db, PERSONS);
        for round in 0..with.parse().unwrap() {
            run(
                &db,
                &format!("MATCH (p:Person {{id: 77}}) SET p.name = 'round {round}'"),
            )
            .unwrap();
            let published = db.publish(URL, Some(1 << 20));
            let published = published.map(|it| vec![format!("{} chunks", it.chunks)]);
            println!("@{}", said(published));
        }
        for question in QUESTIONS {
            println!("@{}", said(run(&db, question)));
        }
        return;
    }
    let mut config = config();
    if what == "tier" {
        config.disk_cache = Some(with.into());
    }
    let reader = match Database::open(URL, config) {
        Ok(reader) => reader,
        Err(error) => {
            println!("@{}", said(Err(error)));
            return;
        }
    };
    let opened = reader.traffic().unwrap();
    println!(
        "opening {} requests, {} bytes",
        opened.requests, opened.bytes
    );
    for question in QUESTIONS {
        let before = reader.traffic().unwrap();
        println!("@{}", said(run(&reader, question)));
        let cold = reader.traffic().unwrap();
        println!("@{}", said(run(&reader, question)));
        let warm = reader.traffic().unwrap();
        println!(
            "cold {} requests, {} bytes, warm {} requests: {question}",
            cold.requests - before.requests,
            cold.bytes - before.bytes,
            warm.requests - cold.requests
        );
        // Where nothing goes wrong, no page is read twice.
        assert!(what != "calm" || warm == cold, "{question}");
    }
}

/// The lines that a process says which does this task through the proxy.
fn client(proxy: &Proxy, task: &str) -> Vec<String> {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own)
        .args(["--exact", "s3::what_a_client_does", "--nocapture"])
        .env(TASK, task)
        .env(
            "AWS_ENDPOINT_URL",
            format!("http://127.0.0.1:{}", proxy.port),
        )
        .env("AWS_ACCESS_KEY_ID", "tester")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ALLOW_HTTP", "true")
        .env("AWS_READ_TIMEOUT", "1 second")
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{task}: {told}");
    let out = String::from_utf8_lossy(&output.stdout);
    if task == "calm" {
        // The numbers of the guide, with `--nocapture`.
        let numbers = out.lines().filter(|line| line.contains(" requests"));
        numbers.for_each(|line| eprintln!("{line}"));
    }
    let lines = out.lines().filter_map(|line| line.strip_prefix('@'));
    lines.map(str::to_owned).collect()
}

/// Each answer twice, as a reader says them.
fn twice(answers: &[String]) -> Vec<String> {
    let all = answers.iter();
    all.flat_map(|answer| [answer.clone(), answer.clone()])
        .collect()
}

fn every(every: usize, of: &'static str, fault: Fault) -> Plan {
    Plan {
        fault: Some(fault),
        every,
        of,
    }
}

#[test]
fn what_goes_wrong_on_the_way_never_becomes_an_answer() {
    let store = store::serve().port;
    let proxy = Proxy::before(store);
    let mut lines = client(&proxy, "publish 1");
    let answers = lines.split_off(1);
    assert!(lines[0].ends_with("chunks"), "{lines:?}");
    assert_eq!(answers.len(), QUESTIONS.len());
    assert_eq!(client(&proxy, "calm"), twice(&answers));
    for fault in [
        Fault::InternalError,
        Fault::SlowDown,
        Fault::Reset,
        Fault::Truncated,
        Fault::Trickle,
        Fault::WrongBytes,
        Fault::WrongRange,
        Fault::Whole,
        Fault::StaleTag,
    ] {
        proxy.go_wrong(every(3, "", fault));
        let before = proxy.faults();
        assert_eq!(client(&proxy, "ask"), twice(&answers), "{fault:?}");
        assert!(proxy.faults() > before, "{fault:?} has happened");
    }
    proxy.go_wrong(every(12, "", Fault::Stall));
    assert_eq!(client(&proxy, "ask"), twice(&answers), "stalled");
    // What came wrong does not stay in the disk tier.
    let folder = tempfile::tempdir().unwrap();
    let tier = format!("tier {}", folder.path().display());
    proxy.go_wrong(every(3, "/chunks/", Fault::WrongBytes));
    for round in 0..2 {
        assert_eq!(client(&proxy, &tier), twice(&answers), "tier {round}");
    }
}

#[test]
fn what_does_not_stop_going_wrong_is_told_with_object_and_range() {
    let store = store::serve().port;
    let proxy = Proxy::before(store);
    client(&proxy, "publish 1");
    std::thread::scope(|scope| {
        for (fault, parts) in [
            (Fault::SlowDown, &["SlowDown", "the bytes ", "/chunks/"][..]),
            (Fault::WrongRange, &["the bytes ", "/chunks/"]),
            (Fault::Whole, &["the bytes ", "/chunks/"]),
            (Fault::WrongBytes, &["Database.Damaged"]),
        ] {
            scope.spawn(move || {
                let proxy = Proxy::before(store);
                proxy.go_wrong(every(1, "/chunks/", fault));
                let lines = client(&proxy, "ask");
                let wrong = lines.first().expect("something was said");
                assert!(wrong.starts_with("error "), "{fault:?}: {wrong}");
                for part in parts.iter().chain(&[URL]) {
                    assert!(wrong.contains(part), "{fault:?}: {part} in {wrong}");
                }
                // What did not come is no damage of the database.
                let is_damage = wrong.contains("Database.Damaged");
                assert_eq!(is_damage, fault == Fault::WrongBytes, "{fault:?}: {wrong}");
            });
        }
        // Pointer and manifest are named as well.
        for (object, fault) in [
            ("current.json", Fault::Truncated),
            ("manifests/", Fault::WrongBytes),
        ] {
            scope.spawn(move || {
                let proxy = Proxy::before(store);
                proxy.go_wrong(every(1, object, fault));
                let lines = client(&proxy, "ask");
                assert!(lines[0].starts_with("error "), "{lines:?}");
                assert!(
                    lines[0].contains(object) && lines[0].contains(URL),
                    "{lines:?}"
                );
            });
        }
    });
}

#[test]
fn a_publish_survives_what_goes_wrong() {
    for fault in [
        Fault::InternalError,
        Fault::SlowDown,
        Fault::Reset,
        Fault::WrongBytes,
        Fault::Truncated,
    ] {
        let proxy = Proxy::before(store::serve().port);
        proxy.go_wrong(every(3, "", fault));
        let mut lines = client(&proxy, "publish 3");
        let answers = lines.split_off(3);
        proxy.go_wrong(every(usize::MAX, "nothing", fault));
        // A publish may fail, and says so; what is published is whole, and the newest one.
        let done = lines.iter().filter(|line| line.ends_with("chunks")).count();
        assert!(done > 0, "{fault:?}: {lines:?}");
        if lines[2].ends_with("chunks") {
            assert_eq!(client(&proxy, "ask"), twice(&answers), "{fault:?}");
        }
        let is_retried = matches!(fault, Fault::InternalError | Fault::SlowDown);
        assert!(!is_retried || done == 3, "{fault:?}: {lines:?}");
    }
}

/// Goal: a publish of which the last answer is lost has been done, and says so.
#[test]
fn a_publish_with_a_lost_answer_is_done() {
    let proxy = Proxy::before(store::serve().port);
    proxy.go_wrong(every(2, "PUT current.json", Fault::Reset));
    let mut lines = client(&proxy, "publish 3");
    let answers = lines.split_off(3);
    assert!(
        lines.iter().all(|line| line.ends_with("chunks")),
        "{lines:?}"
    );
    proxy.go_wrong(every(usize::MAX, "nothing", Fault::Reset));
    assert_eq!(client(&proxy, "ask"), twice(&answers));
}

#[test]
fn an_old_pointer_leads_to_an_old_snapshot_that_is_whole() {
    let proxy = Proxy::before(store::serve().port);
    // The second publish reads the pointer of the first one, which comes for ever from then on.
    let newest = client(&proxy, "publish 2").split_off(2);
    assert_eq!(client(&proxy, "ask"), twice(&newest));
    proxy.go_wrong(every(1, "current.json", Fault::StalePointer));
    let older: Vec<String> = newest
        .iter()
        .map(|answer| answer.replace("round 1", "round 0"))
        .collect();
    assert_ne!(older, newest);
    assert_eq!(client(&proxy, "ask"), twice(&older));
}

//! Commits of one small statement each, a fixed number of them, for profilers:
//! `small_commits FOLDER CLIENTS COUNT`.
//!
//! # How it works
//! Makes a database in FOLDER, lets so many threads run the statement of `graven bench commit` so
//! often together, and says how long that took. What a single one takes is the difference of two
//! counts: so opening and closing are left out, as in `valgrind --tool=callgrind` or `perf stat`
//! with 1,000 and with 11,000.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use graven::{Config, Database, Error, Params};

const SINGLE: &str = "CREATE (a:Person {id: $id, firstName: $name, born: $id})-[:KNOWS {since: \
    $id}]->\
(b:Person {id: -$id, firstName: $name, born: $id})";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, clients, count] = &args[..] else {
        return Err("small_commits FOLDER CLIENTS COUNT".into());
    };
    let (clients, count): (usize, i64) = (clients.parse()?, count.parse()?);
    let mut config = Config::default();
    config.create = true;
    config.memory = 256 << 20;
    let path = std::path::Path::new(folder).join("small_commits.graven");
    let database = Database::open(&path, config)?;
    let next = AtomicI64::new(1);
    let run = || -> Result<(), Error> {
        let connection = database.connect();
        loop {
            let id = next.fetch_add(1, Relaxed);
            if id > count {
                return Ok(());
            }
            let params = Params::new().with("id", id).with("name", "Ada Lovelace");
            connection.query(SINGLE, &params)?;
        }
    };
    let begun = Instant::now();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(run)).collect();
        let mut ended = threads.into_iter().map(|it| it.join());
        ended.try_for_each(|it| it.expect("no client panics"))
    })?;
    let each = begun.elapsed().as_secs_f64() / count as f64;
    println!("{:.2} us a commit, {:.0} a second", each * 1e6, 1.0 / each);
    Ok(())
}

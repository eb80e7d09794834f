//! `graven bench statements`: measures statements that come as JSON lines, one answer a line, with
//! the database kept open; so another program can let Graven and others take turns on the same data
//! (`bench/run.py`).
//!
//! # How it works
//! A line names a statement, its sets of parameters, how many clients ask and for how long. Each
//! client prepares the statement once and asks all sets, beginning at another one than its
//! neighbours, until the time is over and every set has been asked at least once. Every row is
//! taken and dropped, with `"columns": true` as columns of many rows at a time. With
//! `"answer": true` each set is asked once and its rows come back instead.

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use clap::Args;
use graven::{Connection, Params, Prepared};
use serde::{Deserialize, Serialize};

use crate::argument;
use crate::failure::Failure;
use crate::format::json;
use crate::open::Open;

/// Measure statements given as JSON lines on standard input, an answer a line.
#[derive(Args, Debug)]
#[command(after_help = "A line of input:
  {\"text\": \"MATCH (p:Person {id: $id}) RETURN p.birthday\", \"params\": [{\"id\": \
  933}], \"clients\": 1, \"seconds\": 0.5}
\"passes\": N asks every set of parameters N times instead; \"columns\": true takes the rows as \
columns; with \"answer\": true the rows come back (at most \"rows\": 1000
of each set, and their number) and nothing is measured.")]
pub(crate) struct Statements {
    #[command(flatten)]
    open: Open,
}

/// A line of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    text: String,
    #[serde(default)]
    params: Vec<serde_json::Value>,
    #[serde(default = "one")]
    clients: usize,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    passes: u64,
    #[serde(default)]
    columns: bool,
    #[serde(default)]
    answer: bool,
    #[serde(default = "thousand")]
    rows: u64,
}

fn one() -> usize {
    1
}

fn thousand() -> u64 {
    1000
}

/// What a measurement came to.
#[derive(Default, Serialize)]
struct Measured {
    statements: u64,
    rows: u64,
    seconds: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Statements {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let db = self.open.database()?;
        let connection = db.connect();
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(Failure::failed)?;
            if line.trim().is_empty() {
                continue;
            }
            let answer = read(&line).and_then(|(ask, sets)| match ask.answer {
                true => answered(&connection, &ask, &sets),
                false => measured(&connection, &ask, &sets),
            });
            let line = answer
                .unwrap_or_else(|why| serde_json::json!({ "error": why }).to_string().into_bytes());
            let mut out = std::io::stdout().lock();
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            out.flush()?;
        }
        Ok(())
    }
}

fn read(line: &str) -> Result<(Ask, Vec<Params>), String> {
    let ask: Ask = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if ask.clients == 0 || ask.clients > 1024 {
        return Err(format!("{} clients: 1 to 1024", ask.clients));
    }
    if !(0.0..=3600.0).contains(&ask.seconds) {
        return Err(format!("{} seconds: 0 to 3600", ask.seconds));
    }
    let mut sets = Vec::new();
    for set in &ask.params {
        sets.push(argument::params_of(set)?);
    }
    if sets.is_empty() {
        sets.push(Params::new());
    }
    Ok((ask, sets))
}

/// The rows of every set.
fn answered(connection: &Connection, ask: &Ask, sets: &[Params]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let written = |e: std::io::Error| e.to_string();
    out.extend_from_slice(b"{\"answers\": ");
    json::list(&mut out, sets, |out, params| {
        let rows = rows(connection, ask, params);
        let (count, kept) = rows.map_err(|e| std::io::Error::other(e.to_string()))?;
        write!(out, "{{\"count\": {count}, \"rows\": ")?;
        json::list(out, &kept, |out, row| {
            json::list(out, row.values(), json::value)
        })?;
        out.write_all(b"}")
    })
    .map_err(written)?;
    out.push(b'}');
    Ok(out)
}

fn rows(
    connection: &Connection,
    ask: &Ask,
    params: &Params,
) -> Result<(u64, Vec<graven::Row>), graven::Error> {
    let mut kept = Vec::new();
    let mut count = 0;
    for row in connection.query(&ask.text, params)? {
        let row = row?;
        if count < ask.rows {
            kept.push(row);
        }
        count += 1;
    }
    Ok((count, kept))
}

/// Lets the clients ask, and adds up.
fn measured(connection: &Connection, ask: &Ask, sets: &[Params]) -> Result<Vec<u8>, String> {
    let statement = connection
        .prepare(&ask.text)
        .map_err(|e| e.render().to_owned())?;
    let start = Instant::now();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let ask_from = |first: usize| {
            let statement = statement.clone();
            scope.spawn(move || client(&statement, ask, sets, first))
        };
        let step = sets.len().div_ceil(ask.clients).max(1);
        let clients: Vec<_> = (0..ask.clients).map(|c| ask_from(c * step)).collect();
        clients.into_iter().map(|client| client.join()).collect()
    });
    let mut measured = Measured {
        seconds: start.elapsed().as_secs_f64(),
        ..Measured::default()
    };
    let mut times = Vec::new();
    for outcome in outcomes {
        let (took, rows) = outcome
            .map_err(|_| "a client panicked".to_owned())?
            .map_err(|e| e.render().to_owned())?;
        measured.rows += rows;
        times.extend(took);
    }
    measured.statements = times.len() as u64;
    times.sort_unstable();
    let at = |share: usize| {
        let place = (times.len() * share / 100).min(times.len().saturating_sub(1));
        times
            .get(place)
            .map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    (measured.p50_ms, measured.p99_ms) = (at(50), at(99));
    serde_json::to_vec(&measured).map_err(|e| e.to_string())
}

/// One client: the time of each statement, and the rows of all.
fn client(
    statement: &Prepared,
    ask: &Ask,
    sets: &[Params],
    first: usize,
) -> Result<(Vec<Duration>, u64), graven::Error> {
    let until = Duration::from_secs_f64(ask.seconds);
    let start = Instant::now();
    let mut times = Vec::new();
    let mut rows = 0;
    let order = || (first..first + sets.len()).map(|at| at % sets.len());
    let mut before = Duration::ZERO;
    for pass in 0_u64.. {
        for params in order().filter_map(|at| sets.get(at)) {
            let mut result = statement.query(params)?;
            if ask.columns {
                while let Some(taken) = result.next_rows()? {
                    rows += taken.len() as u64;
                }
            } else {
                while result.next_row()?.is_some() {
                    rows += 1;
                }
            }
            drop(result);
            let now = start.elapsed();
            times.push(now - before);
            before = now;
            if pass > 0 && pass >= ask.passes && now >= until {
                return Ok((times, rows));
            }
        }
        if pass + 1 >= ask.passes && before >= until {
            break;
        }
    }
    Ok((times, rows))
}

//! `graven bench reads`: how many short statements a second, prepared and in process: one node by
//! its key, and the nodes within one, two and three relationships of it.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use graven::{Config, Database, IoMode, Params, Prepared, Value};
use graven_lab::machine::processor_seconds;
use graven_lab::measurement::percentile;
use graven_lab::three_hop::Questions;
use graven_types::name::quoted;
use serde::Serialize;

use crate::argument;
use crate::failure::Failure;

/// Measure short reads through prepared statements.
#[derive(Args, Debug)]
#[command(
    after_help = "Each question is a prepared statement with one parameter; all rows are taken. \
        Starts are asked in turn, \
all of them once to warm up. Rates count statements of all threads; CPU is that of the whole \
process.

Example:
  graven bench reads social.graven --params three-hop-params.csv --question point,one-hop"
)]
pub(crate) struct Reads {
    /// The database file
    db: PathBuf,
    /// Starts: a table with the column personId; without it a sample of the nodes
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// Nodes in the sample
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,
    /// What to ask
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "point,one-hop,two-hops,three-hops"
    )]
    question: Vec<Question>,
    /// Label of the starts
    #[arg(long, default_value = "Person")]
    label: String,
    /// Their key
    #[arg(long, default_value = "id")]
    key: String,
    /// The property that the point read returns
    #[arg(long, default_value = "firstName")]
    property: String,
    /// The type of relationship that the others follow
    #[arg(long = "type", default_value = "KNOWS")]
    rel_type: String,
    /// Memory budget
    #[arg(long, alias = "cache", value_parser = argument::bytes, default_value = "256MiB")]
    memory: u64,
    /// Thread counts
    #[arg(long, value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Vec<u16>,
    /// I/O mode: direct, buffered
    #[arg(long, default_value = "direct")]
    io: IoMode,
    /// Seconds a question is asked in each round
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Rounds, of which the fastest and the median are printed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    Point,
    OneHop,
    TwoHops,
    ThreeHops,
}

/// What one question took.
#[derive(Debug, Serialize)]
struct Line {
    question: Question,
    statement: String,
    threads: u16,
    memory_bytes: u64,
    rounds: u32,
    /// Statements a second, median of the rounds and the fastest of them.
    rate: f64,
    rate_best: f64,
    p50_us: f64,
    p99_us: f64,
    /// Processor time a statement, of the fastest round.
    cpu_us: f64,
    rows_per_statement: f64,
    faults_per_statement: f64,
}

/// One thread's part of a round.
#[derive(Default)]
struct Part {
    latencies_us: Vec<f64>,
    rows: u64,
}

impl Reads {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let length = match Duration::try_from_secs_f64(self.seconds) {
            Ok(length) if !length.is_zero() => length,
            _ => return Err(Failure::usage("--seconds is more than 0")),
        };
        let mut config = Config::default();
        config.memory = self.memory;
        config.io = self.io;
        config.read_only = true;
        config.attach = false;
        let db = Database::open(&self.db, config)?;
        let starts = self.starts(&db)?;
        let mut out = std::io::stdout().lock();
        for (number, question) in self.question.iter().enumerate() {
            for threads in &self.threads {
                let line = self.measure(&db, *question, *threads, &starts, length)?;
                if self.json {
                    let json = serde_json::to_string(&line).map_err(Failure::failed)?;
                    writeln!(out, "{json}")?;
                } else {
                    if number == 0 && *threads == self.threads[0] {
                        header(&mut out, &starts)?;
                    }
                    print(&mut out, &line)?;
                }
                out.flush()?;
            }
        }
        Ok(())
    }

    /// The statement of a question, with `$id`.
    fn statement(&self, question: Question) -> String {
        let (label, key) = (quoted(&self.label), quoted(&self.key));
        let (rel_type, property) = (quoted(&self.rel_type), quoted(&self.property));
        let hops = |hops: &str| {
            format!(
                "MATCH (n:{label} {{{key}: $id}})-[:{rel_type}*1..{hops}]-(m) RETURN \
                    count(DISTINCT m)"
            )
        };
        match question {
            Question::Point => format!("MATCH (n:{label} {{{key}: $id}}) RETURN n.{property}"),
            Question::OneHop => {
                format!("MATCH (n:{label} {{{key}: $id}})-[:{rel_type}]-(m) RETURN m.{key}")
            }
            Question::TwoHops => hops("2"),
            Question::ThreeHops => hops("3"),
        }
    }

    /// Keys to ask for.
    fn starts(&self, db: &Database) -> Result<Vec<Value>, Failure> {
        let mut keys = Vec::new();
        if let Some(path) = &self.params {
            let questions = Questions::read(path, None)?;
            keys.extend(questions.starts.into_iter().map(Value::Integer));
        } else {
            let text = format!(
                "MATCH (n:{}) RETURN n.{}",
                quoted(&self.label),
                quoted(&self.key)
            );
            for row in db.connect().query(&text, &Params::new())? {
                keys.extend(
                    row?.into_values()
                        .into_iter()
                        .filter(|key| *key != Value::Null),
                );
            }
            // Evenly over the nodes, and not in their order: a stride without a common divisor.
            let (all, wanted) = (keys.len(), (self.sample as usize).min(keys.len()));
            keys = (0..wanted)
                .map(|i| keys[(i * 7919 % wanted) * all / wanted].clone())
                .collect();
        }
        if keys.is_empty() {
            let message = format!("no {} has the key {}", self.label, self.key);
            return Err(Failure::usage(message));
        }
        Ok(keys)
    }

    fn measure(
        &self,
        db: &Database,
        question: Question,
        threads: u16,
        starts: &[Value],
        length: Duration,
    ) -> Result<Line, Failure> {
        let statement = self.statement(question);
        let params: Vec<Params> = starts
            .iter()
            .map(|key| Params::new().with("id", key.clone()))
            .collect();
        let statements: Vec<Prepared> = (0..threads)
            .map(|_| db.connect().prepare(&statement))
            .collect::<Result<_, _>>()?;
        let mut result = statements[0].query(&params[0])?;
        while result.next_row()?.is_some() {}
        let notices = result.summary().notices;
        let mut unknown = notices.iter().filter(|it| it.code.starts_with("Unknown"));
        if let Some(notice) = unknown.next() {
            return Err(Failure::usage(format!("{statement}: {}", notice.message)));
        }
        drop(result);
        ask(&statements[0], &params, 0, Duration::ZERO)?;
        let mut rounds = Vec::new();
        let (mut latencies, mut rows) = (Vec::new(), 0);
        let before = db.cache()?.stats().per_kind.total().faults;
        for _ in 0..self.rounds {
            let (begun, busy) = (Instant::now(), processor_seconds());
            let parts = std::thread::scope(|scope| {
                let (params, stride) = (&params, params.len() / statements.len());
                let workers: Vec<_> = statements
                    .iter()
                    .enumerate()
                    .map(|(i, it)| scope.spawn(move || ask(it, params, i * stride, length)))
                    .collect();
                let parts = workers.into_iter().map(|worker| {
                    worker
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                });
                parts.collect::<Result<Vec<Part>, Failure>>()
            })?;
            let seconds = begun.elapsed().as_secs_f64();
            let count: usize = parts.iter().map(|part| part.latencies_us.len()).sum();
            let cpu = (processor_seconds() - busy) / count as f64;
            rounds.push((count as f64 / seconds, cpu * 1e6));
            for mut part in parts {
                latencies.append(&mut part.latencies_us);
                rows += part.rows;
            }
        }
        let faults = db.cache()?.stats().per_kind.total().faults - before;
        latencies.sort_by(f64::total_cmp);
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = rounds[rounds.len() - 1];
        Ok(Line {
            question,
            statement,
            threads,
            memory_bytes: self.memory,
            rounds: self.rounds,
            rate: rounds[rounds.len() / 2].0,
            rate_best: best.0,
            p50_us: percentile(&latencies, 0.5),
            p99_us: percentile(&latencies, 0.99),
            cpu_us: best.1,
            rows_per_statement: rows as f64 / latencies.len() as f64,
            faults_per_statement: faults as f64 / latencies.len() as f64,
        })
    }
}

/// Asks from start number `at` on, at least all starts once, until the time is over. One reading of
/// the clock a statement: the end of one is the beginning of the next.
fn ask(
    statement: &Prepared,
    params: &[Params],
    at: usize,
    length: Duration,
) -> Result<Part, Failure> {
    let mut part = Part::default();
    let begun = Instant::now();
    let mut last = begun;
    for start in params.iter().cycle().skip(at) {
        let mut result = statement.query(start)?;
        while let Some(row) = result.next_row()? {
            std::hint::black_box(row);
            part.rows += 1;
        }
        drop(result);
        let now = Instant::now();
        part.latencies_us.push((now - last).as_secs_f64() * 1e6);
        last = now;
        if part.latencies_us.len() >= params.len() && now - begun >= length {
            break;
        }
    }
    Ok(part)
}

fn header(out: &mut impl Write, starts: &[Value]) -> std::io::Result<()> {
    writeln!(
        out,
        "{} starts, prepared statements, all rows taken",
        starts.len()
    )?;
    writeln!(
        out,
        "{:12} {:>3} {:>11} {:>11} {:>10} {:>10} {:>9} {:>9} {:>9}",
        "question", "thr", "a second", "best", "p50 us", "p99 us", "CPU us", "rows", "faults"
    )
}

fn print(out: &mut impl Write, line: &Line) -> std::io::Result<()> {
    let name = line.question.to_possible_value();
    writeln!(
        out,
        "{:12} {:>3} {:>11.0} {:>11.0} {:>10.2} {:>10.2} {:>9.2} {:>9.1} {:>9.2}",
        name.as_ref().map_or("", |name| name.get_name()),
        line.threads,
        line.rate,
        line.rate_best,
        line.p50_us,
        line.p99_us,
        line.cpu_us,
        line.rows_per_statement,
        line.faults_per_statement
    )
}

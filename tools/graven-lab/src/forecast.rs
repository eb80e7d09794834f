//! What a larger graph of the same kind would answer on a machine with more memory.
//!
//! # How it works
//! Questions of one, two and three steps from nodes drawn at random are asked of the database that
//! is there, by one thread, with the share of memory that the larger graph would have. So the
//! faults of the replacement policy at that share are measured, not modelled. What is modelled is
//! how a question grows with the graph: with its nodes, and with the relationships of a node, which
//! are more in larger social networks.
//!
//! A step follows the relationships of the nodes that the steps before it have reached. If their
//! neighbours are `draws` of the `n` nodes of the graph, each as likely as any other, they are
//! `n * (1 - exp(-draws / n))` different nodes. From the nodes that were reached here follow the
//! draws of a list, and from these the nodes that are reached there. In the same way so many lists
//! lie in so many different pages of the adjacency, and accesses and faults grow like these pages.
//! Processor time grows like the draws.
//!
//! # Invariants
//! * FO-1 For a graph of the same size and the same memory the forecast is what was measured, but
//!   for half a node where a question reaches all of them.
//!
//! # Limits
//! Where a question reaches most of the graph here, it saves work that it cannot save in a larger
//! one, and the forecast is too low: begin with a graph of which three steps reach a small part.
//! Processors, their caches and the device are those of this machine.
//!
//! # Source
//! The formula is that of balls thrown into urns; database systems use it for the blocks that a
//! query touches: Cardenas, "Analysis and performance of inverted data base structures", 1975.

use std::path::Path;
use std::time::{Duration, Instant};

use graven::{Config, Database, IoMode, Params, Value};
use graven_types::name::quoted;
use graven_types::rng::SplitMix64;
use serde::Serialize;

use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series};
use crate::machine::processor_seconds;

/// Steps of the questions.
const STEPS: [u32; 3] = [1, 2, 3];

/// Least memory of a database.
const MEMORY_MIN: u64 = 1 << 20;

/// Bytes of a page, where none had to be read.
const PAGE_BYTES: f64 = (16 << 10) as f64;

/// What is asked, of which nodes and by which relationships.
#[derive(Clone, Debug)]
pub struct Questions {
    /// Label of the nodes.
    pub label: String,
    /// Type of the relationships.
    pub rel_type: String,
    /// Nodes from which the questions start.
    pub starts: usize,
    /// Seed of their draw.
    pub seed: u64,
    /// For so long each question is asked, and at least once from every start.
    pub time: Duration,
    /// Replacement policy.
    pub policy: String,
    /// How pages are read.
    pub io: IoMode,
}

/// The size of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Graph {
    /// Nodes with the label.
    pub nodes: f64,
    /// Bytes of the file.
    pub file_bytes: f64,
    /// Relationships of a node, those of both directions together.
    pub degree: f64,
    /// Bytes of the pages of the adjacency.
    pub adjacency_bytes: f64,
}

/// How a larger graph differs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// How many times as many nodes it has.
    pub nodes: f64,
    /// Relationships of a node; as many as here where it is not given.
    pub degree: Option<f64>,
}

impl Graph {
    fn grown(&self, growth: Growth) -> Self {
        let degree = growth.degree.unwrap_or(self.degree);
        let times = growth.nodes * degree / self.degree;
        Self {
            nodes: self.nodes * growth.nodes,
            file_bytes: self.file_bytes * times,
            degree,
            adjacency_bytes: self.adjacency_bytes * times,
        }
    }
}

/// A question of so many steps: means of what one takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Most steps from the start.
    pub steps: u32,
    /// Different nodes reached.
    pub reached: f64,
    /// Page accesses.
    pub accesses: f64,
    /// Accesses that read the page.
    pub faults: f64,
    /// Bytes read.
    pub bytes_read: f64,
    /// Milliseconds of a processor.
    pub processor_ms: f64,
    /// Milliseconds from the question to its answer.
    pub ms: f64,
}

impl Answer {
    /// Questions a second, one thread asking.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        1e3 / self.ms
    }
}

/// Answers of one graph in so much memory.
#[derive(Clone, Debug, Serialize)]
pub struct Answers {
    /// The graph.
    pub graph: Graph,
    /// Memory budget in bytes.
    pub memory: u64,
    /// Of one step, two steps and so on.
    pub answers: Vec<Answer>,
}

/// What a graph answers, and what a larger one would.
#[derive(Clone, Debug, Serialize)]
pub struct Forecast {
    /// How the other graph differs.
    pub growth: Growth,
    /// Measured with the same share of memory.
    pub here: Answers,
    /// The forecast.
    pub there: Answers,
    /// The larger graph itself, where it was given.
    pub measured: Option<Answers>,
}

impl Forecast {
    /// Time and bytes read of a question by its steps.
    #[must_use]
    pub fn figure(&self) -> Figure {
        let groups = [
            ("measured here", Some(&self.here)),
            ("forecast", Some(&self.there)),
            ("measured there", self.measured.as_ref()),
        ];
        let panel = |y: &str, of: fn(&Answer) -> f64| {
            let series = groups.iter().filter_map(|(name, answers)| {
                let points = answers.as_ref()?.answers.iter();
                let points = points.map(|it| (f64::from(it.steps), of(it)));
                Some(Series::new(*name, points.collect()))
            });
            Panel {
                x: Axis::linear("steps"),
                y: Axis::log(y),
                series: series.collect(),
                ..Panel::default()
            }
        };
        Figure {
            name: "forecast".to_owned(),
            title: format!("A graph of {:.4} times as many nodes", self.growth.nodes),
            columns: 2,
            panels: vec![
                panel("ms a question", |it| it.ms),
                panel("bytes read a question", |it| it.bytes_read.max(1.0)),
            ],
        }
    }
}

/// Forecasts the answers of a graph larger than `db` in `memory` bytes.
///
/// # Errors
/// The database cannot be opened, has no such nodes, or its share of the memory is below 1 MiB.
pub fn forecast(
    db: &Path,
    questions: &Questions,
    memory: u64,
    growth: Growth,
) -> Result<Forecast, LabError> {
    for (option, number) in [("--scale", Some(growth.nodes)), ("--degree", growth.degree)] {
        if number.is_some_and(|number| !(number.is_finite() && number > 0.0)) {
            return Err(LabError::Setting(format!("{option} is a number above 0")));
        }
    }
    let graph = size(db, questions)?;
    let times = graph.grown(growth).file_bytes / graph.file_bytes;
    let share = memory as f64 / times;
    if share < MEMORY_MIN as f64 {
        return Err(LabError::Setting(format!(
            "{} for a graph {times:.4} times as large is {share:.0} bytes for this one, and a \
                database needs 1 MiB: give more memory, or begin with a larger graph",
            graven::format_bytes(memory)
        )));
    }
    let here = measure(db, questions, share as u64)?;
    let there = grown(&here, memory, growth);
    Ok(Forecast {
        growth,
        here,
        there,
        measured: None,
    })
}

/// As [`forecast`] for a larger graph that is there, which is asked as well.
///
/// # Errors
/// As [`forecast`], of both graphs.
pub fn against(
    db: &Path,
    larger: &Path,
    questions: &Questions,
    memory: u64,
) -> Result<Forecast, LabError> {
    let larger_graph = size(larger, questions)?;
    let growth = Growth {
        nodes: larger_graph.nodes / size(db, questions)?.nodes,
        degree: Some(larger_graph.degree),
    };
    let forecast = forecast(db, questions, memory, growth)?;
    let measured = measure(larger, questions, memory)?;
    Ok(Forecast {
        measured: Some(measured),
        ..forecast
    })
}

/// The answers of a larger graph with the same share of memory.
fn grown(here: &Answers, memory: u64, growth: Growth) -> Answers {
    let graph = here.graph.grown(growth);
    // Nodes whose relationships the question follows, here and there: those of one step less.
    let (mut lists, mut lists_there) = (1.0, 1.0);
    let mut answers = Vec::new();
    for answer in &here.answers {
        let drawn = draws(answer.reached, here.graph.nodes);
        let drawn_there = drawn * lists_there / lists * graph.degree / here.graph.degree;
        let reached = different(drawn_there, graph.nodes);
        let page_bytes = match answer.faults > 0.0 {
            true => answer.bytes_read / answer.faults,
            false => PAGE_BYTES,
        };
        let pages = |lists: f64, graph: &Graph| {
            different(lists, (graph.adjacency_bytes / page_bytes).max(1.0))
        };
        let more_pages = pages(lists_there, &graph) / pages(lists, &here.graph);
        let more_work = match drawn > 0.0 {
            true => drawn_there / drawn,
            false => 1.0,
        };
        let waits_for_pages = answer.faults > 0.0;
        let waited = (answer.ms - answer.processor_ms).max(0.0);
        let more_waiting = if waits_for_pages {
            more_pages
        } else {
            more_work
        };
        answers.push(Answer {
            steps: answer.steps,
            reached,
            accesses: answer.accesses * more_pages,
            faults: answer.faults * more_pages,
            bytes_read: answer.bytes_read * more_pages,
            processor_ms: answer.processor_ms * more_work,
            ms: (answer.ms - waited) * more_work + waited * more_waiting,
        });
        (lists, lists_there) = (1.0 + answer.reached, 1.0 + reached);
    }
    Answers {
        graph,
        memory,
        answers,
    }
}

/// How many different ones of `all` so many draws give.
fn different(draws: f64, all: f64) -> f64 {
    -all * (-draws / all).exp_m1()
}

/// How many draws give so many different ones of `all`.
fn draws(different: f64, all: f64) -> f64 {
    // All of them, or all but the start itself, take more draws than can be told from that.
    let share = (different / all).min(1.0 - 0.5 / all.max(1.0));
    -all * (-share).ln_1p()
}

fn open(db: &Path, questions: &Questions, memory: u64) -> Result<Database, LabError> {
    let mut config = Config::default();
    config.memory = memory;
    config.policy.clone_from(&questions.policy);
    config.io = questions.io;
    config.threads = 1;
    config.read_only = true;
    config.attach = false;
    Ok(Database::open(db, config)?)
}

fn size(db: &Path, questions: &Questions) -> Result<Graph, LabError> {
    let info = open(db, questions, 64 << 20)?.info()?;
    let nodes = info
        .labels
        .iter()
        .find(|(name, _)| *name == questions.label);
    let of_type = info.types.iter().find(|it| it.name == questions.rel_type);
    let missing = |what: &str, name: &str| {
        LabError::Setting(format!("{} has no {what} {}", db.display(), quoted(name)))
    };
    let nodes = nodes.filter(|(_, nodes)| *nodes > 0);
    let of_type = of_type.filter(|it| it.relationships > 0);
    let (_, nodes) = nodes.ok_or_else(|| missing("nodes with the label", &questions.label))?;
    let of_type =
        of_type.ok_or_else(|| missing("relationships of the type", &questions.rel_type))?;
    Ok(Graph {
        nodes: *nodes as f64,
        file_bytes: info.file_bytes as f64,
        degree: 2.0 * of_type.relationships as f64 / (*nodes).max(1) as f64,
        adjacency_bytes: of_type.adjacency_bytes as f64,
    })
}

/// Asks the questions with so much memory.
fn measure(db: &Path, questions: &Questions, memory: u64) -> Result<Answers, LabError> {
    let graph = size(db, questions)?;
    let db = open(db, questions, memory)?;
    let starts = starts(&db, questions, graph.nodes)?;
    let mut answers = Vec::new();
    for steps in STEPS {
        answers.push(ask(&db, questions, &starts, steps)?);
    }
    Ok(Answers {
        graph,
        memory,
        answers,
    })
}

/// Nodes drawn from all with the label, in the order of the draw.
fn starts(db: &Database, questions: &Questions, nodes: f64) -> Result<Vec<i64>, LabError> {
    let mut random = SplitMix64::new(questions.seed);
    let mut drawn: Vec<u64> = (0..questions.starts)
        .map(|_| random.below(nodes as u64))
        .collect();
    drawn.sort_unstable();
    let statement = format!("MATCH (n:{}) RETURN id(n)", quoted(&questions.label));
    let connection = db.connect();
    let mut rows = connection.query(&statement, &Params::new())?;
    let mut starts = Vec::with_capacity(drawn.len());
    let (mut wanted, mut at) = (drawn.iter().peekable(), 0);
    while wanted.peek().is_some() {
        let Some(row) = rows.next_row()? else { break };
        while wanted.next_if(|it| **it == at).is_some() {
            starts.extend(row.get(0).and_then(Value::as_integer));
        }
        at += 1;
    }
    random.shuffle(&mut starts);
    Ok(starts)
}

/// Asks one question of all starts to warm the cache, and again while there is time.
fn ask(
    db: &Database,
    questions: &Questions,
    starts: &[i64],
    steps: u32,
) -> Result<Answer, LabError> {
    let label = quoted(&questions.label);
    let rel_type = quoted(&questions.rel_type);
    let statement = format!(
        "MATCH (p:{label})-[:{rel_type}*1..{steps}]-(f:{label}) WHERE id(p) = $id \
            RETURN count(DISTINCT f)"
    );
    let statement = db.connect().prepare(&statement)?;
    let reached = |id: i64| -> Result<i64, LabError> {
        let mut result = statement.query(&Params::new().with("id", id))?;
        let count = result.next_row()?;
        Ok(count
            .and_then(|row| row.get(0).and_then(Value::as_integer))
            .unwrap_or(0))
    };
    let mut sum = 0;
    for id in starts {
        sum += reached(*id)?;
    }
    let (pages, processor) = (db.cache()?.stats(), processor_seconds());
    let begun = Instant::now();
    let mut asked = 0_usize;
    while asked < starts.len() || begun.elapsed() < questions.time {
        reached(starts[asked % starts.len()])?;
        asked += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let processor = processor_seconds() - processor;
    let pages = db.cache()?.stats().per_kind.since(&pages.per_kind).total();
    let mean = |sum: f64| sum / asked as f64;
    Ok(Answer {
        steps,
        reached: sum as f64 / starts.len() as f64,
        accesses: mean((pages.hits + pages.faults) as f64),
        faults: mean(pages.faults as f64),
        bytes_read: mean(pages.bytes_read as f64),
        processor_ms: mean(processor * 1e3),
        ms: mean(seconds * 1e3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(nodes: f64, memory: u64, reached: [f64; 3]) -> Answers {
        let answer = |steps: u32| Answer {
            steps,
            reached: reached[steps as usize - 1],
            accesses: 10.0 * f64::from(steps),
            faults: f64::from(steps),
            bytes_read: 16384.0 * f64::from(steps),
            processor_ms: 1.0,
            ms: 3.0,
        };
        Answers {
            graph: Graph {
                nodes,
                file_bytes: nodes * 400.0,
                degree: 40.0,
                adjacency_bytes: nodes * 160.0,
            },
            memory,
            answers: STEPS.map(answer).to_vec(),
        }
    }

    fn times(nodes: f64) -> Growth {
        Growth {
            nodes,
            degree: None,
        }
    }

    /// Goal: the forecast for the same graph is what was measured (FO-1).
    #[test]
    fn the_same_graph_answers_the_same() {
        let here = answers(10_000.0, 1 << 20, [40.0, 1_400.0, 9_000.0]);
        let there = grown(&here, 1 << 20, times(1.0));
        for (one, other) in here.answers.iter().zip(&there.answers) {
            let pairs = [
                (one.reached, other.reached),
                (one.faults, other.faults),
                (one.accesses, other.accesses),
                (one.ms, other.ms),
            ];
            for (one, other) in pairs {
                assert!((one - other).abs() < 1e-6 * one, "{one} became {other}");
            }
        }
    }

    /// Goal: in a larger graph a question reaches more nodes, up to the paths that there are, and
    /// one step reaches as many.
    #[test]
    fn a_larger_graph_is_less_saturated() {
        let here = answers(10_000.0, 1 << 20, [40.0, 1_400.0, 9_000.0]);
        let there = grown(&here, 100 << 20, times(100.0));
        let reached: Vec<f64> = there.answers.iter().map(|it| it.reached).collect();
        assert!((reached[0] - 40.0).abs() < 0.2, "{reached:?}");
        assert!((1_400.0..1_520.0).contains(&reached[1]), "{reached:?}");
        // 9,000 of 10,000 are 23,026 draws from 1,401 nodes.
        assert!((22_000.0..25_000.0).contains(&reached[2]), "{reached:?}");
        assert!(there.answers[2].faults > here.answers[2].faults);
        let growth = Growth {
            nodes: 100.0,
            degree: Some(80.0),
        };
        let dense = grown(&here, 100 << 20, growth).answers;
        assert!((dense[0].reached - 80.0).abs() < 0.2, "{dense:?}");
        assert!(dense[2].reached > 3.5 * reached[2], "{dense:?}");
    }

    /// Goal: a graph that a question reaches whole gives a forecast that is a number.
    #[test]
    fn whole_graphs_are_no_division_by_zero() {
        let here = answers(50.0, 1 << 20, [49.0, 50.0, 50.0]);
        for answer in grown(&here, 1 << 30, times(1_000.0)).answers {
            assert!(
                answer.reached.is_finite() && answer.ms.is_finite(),
                "{answer:?}"
            );
        }
    }
}

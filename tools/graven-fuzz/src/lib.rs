//! Random graphs and queries, answered by the library and by a naive interpreter: they must agree.
//!
//! # How it works
//! ```text
//! seed -> graph -> database          -> rows --.
//!              \-> model    \                    compared as multisets, and in order where an order was asked for
//!                query tree -> interpreter -> rows --'
//! ```
//! A graph serves some forty queries; what writes is done to both, and both graphs are compared
//! afterwards. The graph lies in layers of changes or, after a checkpoint, in segments; with and
//! without indexes; on one thread or, where plans can be for several, on two; with all memory or
//! with so little that operators spill. A case that differs is made smaller until nothing more can
//! be left out, and printed with its seed. The same generators make statements of transactions that
//! are open at once ([`mod@transactions`]). Beside that, damaged statements of the openCypher kit
//! and random rows of tokens go through the parser, the binder and the planner, which must not
//! panic, and files that were crafted with valid checksums are opened, asked and written to
//! ([`mod@crafted`]).
//!
//! # Invariants
//! 1. The interpreter shares nothing with the library, not even the tree: the library gets text.
//! 2. The same seed gives the same cases, whatever the number of threads.
//!
//! # Costs
//! A few hundred microseconds a query in a build without optimisation, most of it the library's.

mod arguments;
mod calendar;
mod combined;
mod compare;
mod coverage;
mod crafted;
mod damage;
mod examples;
mod findings;
mod functions;
mod generate;
mod graph;
mod interpret;
mod keywords;
mod library;
mod mutants;
mod noise;
mod plans;
mod print;
mod query;
mod random;
mod rows;
mod seams;
mod seeds;
mod shrink;
mod spelling;
mod temporal;
mod text;
mod transactions;
mod value;
mod walk;

pub use coverage::Coverage;
pub use crafted::{Crafted, crafted};
pub use damage::damage;
pub use examples::examples;
pub use findings::Findings;
pub use functions::{Calls, run as functions};
pub use keywords::keywords;
pub use mutants::{Hunt, Verdict};
pub use noise::{NoiseReport, noise};
pub use plans::{Plans, plans};
pub use print::print;
pub use seeds::Job;
pub use transactions::{Tally, transactions};

use compare::Pair;
use library::Setting;
use random::Random;
use seeds::each;

/// Queries that one graph serves.
pub const PER_GRAPH: u64 = 40;

/// A graph that has grown larger is given up.
const NODES_MAX: usize = 60;

/// What a run came to.
#[derive(Debug, Default)]
pub struct Report {
    /// Queries that both answered.
    pub compared: u64,
    /// Of these, the ones that wrote.
    pub writing: u64,
    /// Queries whose rows the interpreter would not wait for.
    pub too_large: u64,
    /// Queries that gave at least one row.
    pub with_rows: u64,
    /// What was exercised.
    pub coverage: Coverage,
    /// The smallest forms of what differed.
    pub differences: Vec<String>,
}

/// A statement: the seed of its graph, and its number there.
type Place = (u64, u64);

/// Compares as many queries as asked for; `hunt` tries them with the faults of the planner, too.
///
/// # Errors
/// The machine's, such as a full disk; differences are in the report.
pub fn run(job: &Job, queries: u64, hunt: Option<&Hunt>) -> Result<Report, String> {
    let graphs = queries.div_ceil(PER_GRAPH);
    let reports = each(job, graphs, |seed, report: &mut Report| {
        let before = report.differences.len();
        seams::start();
        let done = of_graph(seed, report, hunt);
        report.coverage.rules(seams::take());
        done?;
        Ok(report.differences.len() - before)
    })?;
    let mut all = Report::default();
    for report in reports {
        all.compared += report.compared;
        all.writing += report.writing;
        all.too_large += report.too_large;
        all.with_rows += report.with_rows;
        all.coverage.add(report.coverage);
        all.differences.extend(report.differences);
    }
    Ok(all)
}

/// The statements of one graph: the same seed draws the same ones.
struct Drawn {
    seed: u64,
    random: Random,
    count: u64,
}

impl Drawn {
    fn new(seed: u64) -> Self {
        Drawn {
            seed,
            random: Random::new(seed.wrapping_mul(0xA076_1D64_78BD_642F)),
            count: 0,
        }
    }

    /// The next statement on `graph`, with its number and its spelling: one of three is written in
    /// other words. None after the last, and where the graph has grown too large.
    fn next(&mut self, graph: &graph::Graph) -> Option<(u64, query::Query, u64)> {
        let number = self.count;
        if number == PER_GRAPH
            || graph.node_places().count() > NODES_MAX
            || graph.rel_places().count() > NODES_MAX
        {
            return None;
        }
        self.count += 1;
        let writing = self.random.chance(20);
        let turn = self.seed.wrapping_mul(PER_GRAPH).wrapping_add(number);
        let query = generate::query(&mut self.random, writing, graph, turn);
        let words = self.random.next();
        let spelling = if words.is_multiple_of(3) { words } else { 0 };
        Some((number, query, spelling))
    }
}

/// All queries of one graph, until one differs.
fn of_graph(seed: u64, report: &mut Report, hunt: Option<&Hunt>) -> Result<(), String> {
    let mut drawn = Drawn::new(seed);
    let graph = graph::Graph::random(&mut drawn.random);
    let setting = Setting::random(&mut drawn.random);
    let mut pair = Pair::new(graph, setting)?;
    while let Some((number, query, spelling)) = drawn.next(pair.graph()) {
        let before = pair.graph().clone();
        match pair.compare(&query, spelling)? {
            compare::Verdict::Same(rows) => {
                report.compared += 1;
                report.coverage.query(&query);
                report.writing += u64::from(query.writes());
                report.with_rows += u64::from(rows > 0);
                if let Some(hunt) = hunt {
                    let case = mutants::Case {
                        place: (seed, number),
                        graph: &before,
                        setting,
                        query: &query,
                        spelling,
                        asked: pair.faults(),
                    };
                    hunt.with_faults(&case, &pair)?;
                }
            }
            compare::Verdict::Skipped => report.too_large += 1,
            compare::Verdict::Different(_) => {
                let small = shrink::shrink(before, setting, query, spelling)?;
                let difference = format!("seed {seed}, query {number}{setting}\n{small}");
                report.differences.push(difference);
                return Ok(());
            }
        }
    }
    Ok(())
}

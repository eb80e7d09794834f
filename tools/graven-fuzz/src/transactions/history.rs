//! Random histories: several transactions at once, step by step on one thread.
//!
//! # How it works
//! A history is a list of steps made before anything runs, so that it can be made smaller by
//! leaving some out: a step about a transaction that was never begun, or has ended or failed, does
//! nothing. A quarter of the histories are *apart*: no two of their transactions touch the same
//! thing, and all of them have to commit.

use std::fmt::Write as _;

use super::rule::Rule;
use crate::generate;
use crate::generate::touching::{apart, touching};
use crate::graph::{Graph, LABELS, Node, Rel, TYPES, property};
use crate::library::Setting;
use crate::query::Query;
use crate::random::Random;
use crate::text;
use crate::value::V;

/// Transactions of a history.
const TRANSACTIONS: usize = 14;

/// So many are open at once, at most.
const AT_ONCE_MAX: usize = 4;

/// Statements of a transaction, at most.
const STATEMENTS_MAX: usize = 6;

/// What is done next.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Begin {
        number: usize,
        serialisable: bool,
    },
    Run(usize, Query),
    Commit(usize),
    RollBack(usize),
    /// A statement in a transaction of its own.
    Alone(Query),
    /// The statement that makes an index.
    Index(&'static str),
    Checkpoint,
    /// The committed graph is compared as a whole.
    Look,
    /// Only if no transaction is open.
    Reopen,
}

/// A graph and what is done with it.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) graph: Graph,
    pub(crate) setting: Setting,
    pub(crate) rules: Vec<Rule>,
    /// No commit may be refused.
    pub(crate) apart: bool,
    pub(crate) steps: Vec<Step>,
}

impl History {
    pub(crate) fn random(random: &mut Random) -> History {
        let apart = random.chance(25);
        let mut graph = match apart {
            true => graph_of_parts(random),
            false => Graph::random(random),
        };
        let mut setting = Setting::random(random);
        // What is divided waits for threads; one case in twelve is enough.
        setting.divided &= random.chance(20);
        let mut rules = Vec::new();
        if apart && random.chance(50) {
            // Its index finds them as well.
            rules.push(Rule::Unique("A", "uid"));
            graph.indexes.clear();
        } else if !apart && random.chance(30) {
            let wanted = [*random.pick(Rule::ALL), *random.pick(Rule::ALL)];
            rules.extend(wanted.into_iter().filter(|rule| rule.holds(&graph)));
            rules.dedup();
            let rules = &rules;
            let needed = |index: &&str| !rules.iter().any(|rule| rule.replaces(index));
            graph.indexes.retain(needed);
        }
        let mut steps = Steps {
            random,
            apart,
            open: Vec::new(),
            all: Vec::new(),
        };
        steps.fill(&graph, &rules);
        History {
            graph,
            setting,
            rules,
            apart,
            steps: steps.all,
        }
    }

    /// All of it as text: statements that are run in the transaction in front of them.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let rules = self.rules.iter().map(|rule| rule.text());
        let indexes = self.graph.indexes.iter().map(|index| (*index).to_owned());
        for statement in indexes.chain(self.graph.creation()).chain(rules) {
            let _ = writeln!(out, "  {statement}");
        }
        for step in &self.steps {
            let _ = match step {
                Step::Begin {
                    number,
                    serialisable,
                } => {
                    let level = match serialisable {
                        true => "serialisable",
                        false => "snapshot",
                    };
                    writeln!(out, "  T{number} begins, {level}")
                }
                Step::Run(number, query) => writeln!(out, "  T{number}: {}", text::query(query)),
                Step::Commit(number) => writeln!(out, "  T{number} commits"),
                Step::RollBack(number) => writeln!(out, "  T{number} is rolled back"),
                Step::Alone(query) => writeln!(out, "  alone: {}", text::query(query)),
                Step::Index(index) => writeln!(out, "  alone: {index}"),
                Step::Checkpoint => writeln!(out, "  a checkpoint"),
                Step::Look => writeln!(out, "  a look at all"),
                Step::Reopen => writeln!(out, "  closed and opened again"),
            };
        }
        out
    }
}

/// Nodes `A`, one for each transaction, and all types between two others.
fn graph_of_parts(random: &mut Random) -> Graph {
    let mut graph = Graph::default();
    for uid in 0..TRANSACTIONS + 2 {
        let own = uid < TRANSACTIONS;
        let labels = match own {
            true => vec!["A"],
            false => LABELS.to_vec(),
        };
        let mut properties = [("uid", V::Int(uid as i64))].into_iter().collect();
        if let Some(value) = property(random, "a") {
            crate::value::Properties::insert(&mut properties, "a", value);
        }
        graph.nodes.push(Some(Node {
            labels: labels.into_iter().collect(),
            properties,
        }));
    }
    for kind in TYPES {
        graph.rels.push(Some(Rel {
            kind,
            start: TRANSACTIONS,
            end: TRANSACTIONS + 1,
            properties: crate::value::Properties::new(),
        }));
    }
    graph.indexes = vec!["CREATE INDEX FOR (n:A) ON (n.uid)"];
    graph
}

struct Steps<'a> {
    random: &'a mut Random,
    apart: bool,
    /// Transactions and the statements left to each.
    open: Vec<(usize, usize)>,
    all: Vec<Step>,
}

impl Steps<'_> {
    fn fill(&mut self, graph: &Graph, rules: &[Rule]) {
        // Most histories are of one level.
        let mixed = self.random.chance(30);
        let most = self.random.chance(60);
        let mut begun = 0;
        while begun < TRANSACTIONS || !self.open.is_empty() {
            if begun < TRANSACTIONS
                && self.open.len() < AT_ONCE_MAX
                && (self.open.is_empty() || self.random.chance(25))
            {
                let statements = 1 + self.random.below(STATEMENTS_MAX);
                self.open.push((begun, statements));
                let serialisable = match mixed {
                    true => self.random.chance(50),
                    false => most,
                };
                self.all.push(Step::Begin {
                    number: begun,
                    serialisable,
                });
                begun += 1;
                continue;
            }
            let at = self.random.below(self.open.len());
            let (number, left) = self.open[at];
            if left > 0 {
                self.open[at].1 -= 1;
                let query = self.statement(number);
                self.all.push(Step::Run(number, query));
            } else {
                self.open.swap_remove(at);
                let ended = match self.random.chance(12) {
                    true => Step::RollBack(number),
                    false => Step::Commit(number),
                };
                self.all.push(ended);
                self.between(graph, rules);
            }
        }
    }

    /// What others may do between the steps of transactions.
    fn between(&mut self, graph: &Graph, rules: &[Rule]) {
        match self.random.below(20) {
            0 => self.all.push(Step::Checkpoint),
            1 | 2 => self.all.push(Step::Look),
            3 if self.open.is_empty() => self.all.push(Step::Reopen),
            4 | 5 if !self.apart => {
                let query = touching(self.random);
                self.all.push(Step::Alone(query));
            }
            6 if !self.apart => {
                let index = *self.random.pick(crate::graph::INDEXES);
                let known = |step: &Step| matches!(step, Step::Index(known) if *known == index);
                let taken = graph.indexes.contains(&index) || self.all.iter().any(known);
                if !taken && !rules.iter().any(|rule| rule.replaces(index)) {
                    self.all.push(Step::Index(index));
                }
            }
            _ => {}
        }
    }

    fn statement(&mut self, number: usize) -> Query {
        if self.apart {
            return apart(self.random, number as i64);
        }
        if self.random.chance(60) {
            return touching(self.random);
        }
        // Some nodes may lack `uid` by then, so that no order is certain.
        let mut graph = Graph::default();
        graph.nodes.push(Some(Node::default()));
        let writing = self.random.chance(35);
        // Whose turn it is in the tables, which a history is too short to fill.
        let turn = self.random.next();
        generate::query(self.random, writing, &graph, turn)
    }
}

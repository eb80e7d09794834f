//! One graph in the library and in the interpreter, and the comparison of what both make of a query.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use graven::{Config, Connection, Database, Durability, Params, TransactionOptions, Value};
use tempfile::TempDir;

use crate::graph::Graph;
use crate::interpret::{Answer, Interpreter, Stop};
use crate::query::{Expr, Query};
use crate::random::Random;
use crate::text;
use crate::value::V;

/// What came of a comparison.
pub(crate) enum Verdict {
    /// Both said the same, in so many rows.
    Same(usize),
    /// The interpreter gave up.
    Skipped,
    /// In words, how they differ.
    Different(String),
}

/// How the library holds a graph and answers questions about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// A checkpoint follows the graph's creation, so that queries read segments.
    pub(crate) sealed: bool,
    /// Plans are for two threads wherever they can be.
    pub(crate) divided: bool,
    /// Operators that can spill do so from their first kilobytes on.
    pub(crate) spilling: bool,
}

impl Setting {
    pub(crate) fn random(random: &mut Random) -> Setting {
        Setting {
            sealed: random.chance(50),
            divided: random.chance(40),
            spilling: random.chance(30),
        }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = [
            (self.sealed, ", after a checkpoint"),
            (self.divided, ", on two threads"),
            (self.spilling, ", spilling"),
        ];
        words
            .iter()
            .filter(|(is_so, _)| *is_so)
            .try_for_each(|(_, words)| f.write_str(words))
    }
}

/// From so many bytes on an operator spills, where it shall.
const SPILL_AT: u64 = 2048;

/// A graph in both.
pub(crate) struct Pair {
    model: Interpreter,
    connection: Connection,
    // Removed after the database is closed.
    _folder: TempDir,
}

impl Pair {
    pub(crate) fn new(graph: Graph, setting: Setting) -> Result<Pair, String> {
        let folder = folder().map_err(|e| format!("temporary folder: {e}"))?;
        let mut config = Config::default();
        config.memory = 16 << 20;
        config.create = true;
        config.attach = false;
        config.threads = 1;
        if setting.divided {
            config.threads = 2;
            config.tuning.divide_always = true;
            config.tuning.morsel_nodes = 1;
            config.tuning.alone = Duration::ZERO;
        }
        if setting.spilling {
            config.tuning.spill_at = Some(SPILL_AT);
        }
        let db = Database::open(folder.path().join("fuzz.graven"), config);
        let db = db.map_err(|e| e.to_string())?;
        let mut options = TransactionOptions::default();
        options.durability = Durability::Off;
        let connection = db.connect().with_options(options);
        let statements = graph.indexes.iter().map(|s| (*s).to_owned());
        for statement in statements.chain(graph.creation()) {
            let done = connection.query(&statement, &Params::new());
            done.map_err(|e| format!("{statement}: {e}"))?;
        }
        if setting.sealed {
            db.checkpoint().map_err(|e| e.to_string())?;
        }
        Ok(Pair {
            model: Interpreter::new(graph),
            connection,
            _folder: folder,
        })
    }

    pub(crate) fn graph(&self) -> &Graph {
        &self.model.graph
    }

    /// Nodes and relationships that the interpreter looked at for the last query.
    pub(crate) fn looked_at(&self) -> usize {
        self.model.looked_at()
    }

    /// Runs `query` in both.
    pub(crate) fn compare(&mut self, query: &Query) -> Result<Verdict, String> {
        let expected = self.model.run(query);
        if matches!(expected, Err(Stop::TooMany | Stop::Senseless)) {
            return Ok(Verdict::Skipped);
        }
        let statement = text::query(query);
        let ask = || std::panic::catch_unwind(AssertUnwindSafe(|| self.ask(&statement)));
        let Ok(got) = ask() else {
            return Ok(Verdict::Different("the library panicked".to_owned()));
        };
        if let (Ok(expected), Ok(_), false) = (&expected, &got, query.writes()) {
            // The operators of the first time may be used again.
            let again = match ask() {
                Err(_) => Err("the library panicked".to_owned()),
                Ok(again) => again.and_then(|again| self.same(query, expected, &again)),
            };
            if let Err(how) = again {
                return Ok(Verdict::Different(format!("asked again: {how}")));
            }
        }
        let rows = match (expected, got) {
            (Ok(expected), Ok(got)) => {
                let rows = expected.rows.len();
                if let Err(how) = self.same(query, &expected, &got) {
                    return Ok(Verdict::Different(how));
                }
                rows
            }
            (Err(_), Err(error)) if error.contains("DeleteConnectedNode") => 0,
            (Err(_), Err(error)) => return Ok(Verdict::Different(error)),
            (Ok(_), Err(error)) => return Ok(Verdict::Different(error)),
            (Err(_), Ok(_)) => {
                let how = "deleted a node that has relationships".to_owned();
                return Ok(Verdict::Different(how));
            }
        };
        if query.writes()
            && let Err(how) = self.same_graph()
        {
            return Ok(Verdict::Different(how));
        }
        Ok(Verdict::Same(rows))
    }

    fn ask(&self, statement: &str) -> Result<Vec<Vec<Value>>, String> {
        let mut rows = Vec::new();
        let told = |e: graven::Error| format!("{}: {}", e.code(), e.render());
        for row in self
            .connection
            .query(statement, &Params::new())
            .map_err(told)?
        {
            rows.push(row.map_err(told)?.values().to_vec());
        }
        Ok(rows)
    }

    fn same(&self, query: &Query, expected: &Answer, got: &[Vec<Value>]) -> Result<(), String> {
        let bags: Vec<bool> = match query.last() {
            Some(last) => last.items.iter().map(|item| item.bag).collect(),
            None => Vec::new(),
        };
        let is_bag = |at: usize| bags.get(at).copied().unwrap_or(false);
        let cells = |row: &[V]| -> Vec<String> {
            let each = row.iter().enumerate();
            each.map(|(at, v)| self.shown(v, is_bag(at))).collect()
        };
        let theirs = |row: &Vec<Value>| -> Vec<String> {
            let each = row.iter().enumerate();
            each.map(|(at, v)| shown(v, is_bag(at))).collect()
        };
        let wanted: Vec<Vec<String>> = expected.rows.iter().map(|r| cells(r)).collect();
        let found: Vec<Vec<String>> = got.iter().map(theirs).collect();
        if query.branches.len() == 1
            && query.last().is_some_and(|last| last.total)
            && self.model.graph.all_have_uid()
            && wanted != found
        {
            return Err(format!(
                "rows or their order: expected {wanted:?}\n     got {found:?}"
            ));
        }
        if self.model.graph.all_have_uid()
            && let Some(places) = ordered_columns(query, &expected.columns)
        {
            let part = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
                let row = |row: &Vec<String>| places.iter().map(|at| row[*at].clone()).collect();
                rows.iter().map(row).collect()
            };
            if wanted.len() == found.len() && part(&wanted) != part(&found) {
                return Err(format!(
                    "in another order\nexpected {wanted:?}\n     got {found:?}"
                ));
            }
        }
        let sorted = |mut rows: Vec<Vec<String>>| {
            rows.sort();
            rows
        };
        let (wanted, found) = (sorted(wanted), sorted(found));
        match wanted == found {
            true => Ok(()),
            false => Err(format!("expected {wanted:?}\n     got {found:?}")),
        }
    }

    /// A model's value as text; the lists of a bag are sorted.
    fn shown(&self, v: &V, bag: bool) -> String {
        let graph = &self.model.graph;
        match v {
            V::Null => "null".to_owned(),
            V::Bool(b) => b.to_string(),
            V::Int(i) => i.to_string(),
            V::Float(f) => float(*f),
            V::Str(s) => format!("{s:?}"),
            V::Date(days) => crate::value::iso(*days),
            V::Time(t) => t.text(),
            V::List(items) => list(items.iter().map(|v| self.shown(v, bag)).collect(), bag),
            V::Node(at) => match &graph.nodes[*at] {
                Some(node) => {
                    let properties = node.properties.iter();
                    let properties = properties.map(|(k, v)| (*k, self.shown(v, false)));
                    entity(node.labels.iter().copied(), properties)
                }
                None => "(deleted)".to_owned(),
            },
            V::Rel(at) => match &graph.rels[*at] {
                Some(rel) => {
                    let properties = rel.properties.iter();
                    let properties = properties.map(|(k, v)| (*k, self.shown(v, false)));
                    entity([rel.kind].into_iter(), properties)
                }
                None => "(deleted)".to_owned(),
            },
            V::Path(nodes, rels) => {
                let nodes = nodes.iter().map(|at| self.shown(&V::Node(*at), false));
                let rels = rels.iter().map(|at| self.shown(&V::Rel(*at), false));
                path(nodes.collect(), rels.collect())
            }
        }
    }

    /// Whether both hold the same graph, up to the names of its parts.
    fn same_graph(&self) -> Result<(), String> {
        let graph = &self.model.graph;
        let nodes = graph
            .node_places()
            .map(|at| self.shown(&V::Node(at), false));
        let mut wanted: Vec<String> = nodes.collect();
        for at in graph.rel_places() {
            if let Some(rel) = &graph.rels[at] {
                let [start, end] = [rel.start, rel.end].map(|n| self.shown(&V::Node(n), false));
                wanted.push(format!("{start} {} {end}", self.shown(&V::Rel(at), false)));
            }
        }
        let mut found = Vec::new();
        for row in self.ask("MATCH (n) RETURN n")? {
            found.extend(row.iter().map(|v| shown(v, false)));
        }
        for row in self.ask("MATCH (a)-[r]->(b) RETURN a, r, b")? {
            let cells: Vec<String> = row.iter().map(|v| shown(v, false)).collect();
            found.push(cells.join(" "));
        }
        wanted.sort();
        found.sort();
        match wanted == found {
            true => Ok(()),
            false => Err(format!(
                "the graph is then\nexpected {wanted:?}\n     got {found:?}"
            )),
        }
    }
}

/// In memory where the machine has a place for that.
fn folder() -> std::io::Result<TempDir> {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory).or_else(|_| TempDir::new()),
        false => TempDir::new(),
    }
}

/// Columns that the last `ORDER BY` orders by, if these are all it orders by: their values are then certain row by row.
fn ordered_columns(query: &Query, columns: &[String]) -> Option<Vec<usize>> {
    if query.branches.len() > 1 {
        return None;
    }
    let last = query.last()?;
    let mut places = Vec::new();
    for (by, _) in &last.order {
        let name = match by {
            Expr::Var(name) => name,
            Expr::Property(of, "uid") => match &**of {
                Expr::Var(name) => name,
                _ => return None,
            },
            _ => return None,
        };
        // A name that was there before the projection is another value where the column is renamed.
        places.push(columns.iter().position(|column| column == name)?);
    }
    Some(places)
}

fn float(f: f64) -> String {
    format!("{:.6}", if f == 0.0 { 0.0 } else { f })
}

fn list(mut items: Vec<String>, bag: bool) -> String {
    if bag {
        items.sort();
    }
    format!("[{}]", items.join(", "))
}

fn entity<'a>(
    names: impl Iterator<Item = &'a str>,
    properties: impl Iterator<Item = (&'a str, String)>,
) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let mut properties: Vec<String> = properties.map(|(k, v)| format!("{k}: {v}")).collect();
    properties.sort();
    format!("(:{} {})", names.join(":"), properties.join(", "))
}

fn path(nodes: Vec<String>, rels: Vec<String>) -> String {
    format!("<{} | {}>", nodes.join(" "), rels.join(" "))
}

/// The library's value in the same words.
fn shown(v: &Value, bag: bool) -> String {
    match v {
        Value::Null => "null".to_owned(),
        Value::Boolean(b) => b.to_string(),
        Value::Integer(i) => i.to_string(),
        Value::Float(f) => float(*f),
        Value::String(s) => format!("{:?}", &**s),
        Value::List(items) => list(items.iter().map(|v| shown(v, bag)).collect(), bag),
        Value::Node(n) => {
            let properties = n.properties.iter().map(|(k, v)| (&**k, shown(v, false)));
            entity(n.labels.iter().map(|l| &**l), properties)
        }
        Value::Relationship(r) => {
            let properties = r.properties.iter().map(|(k, v)| (&**k, shown(v, false)));
            entity([&*r.rel_type].into_iter(), properties)
        }
        Value::Path(p) => {
            let nodes = p
                .nodes
                .iter()
                .map(|n| shown(&Value::Node(n.clone()), false));
            let rels = p.relationships.iter();
            let rels = rels.map(|r| shown(&Value::Relationship(r.clone()), false));
            path(nodes.collect(), rels.collect())
        }
        other => other.to_string(),
    }
}

//! The naive interpreter: every clause turns a list of rows into a list of rows, by nested loops.
//!
//! # How it works
//! Nothing is planned, indexed or remembered, and nothing is shared with the library: a pattern is
//! matched by trying every node and every relationship, a group is found by comparing with the
//! groups before it. Clauses are done one after the other on all rows, which is what the language
//! says they mean.

mod expression;
mod pattern;
mod projection;

use std::collections::BTreeMap;

use crate::graph::{Graph, Node, Rel};
use crate::query::{
    Call, Change, Clause, Direction, Import, Labels, NodePattern, Path, Query, RelPattern,
};
use crate::random::Random;
use crate::value::V;

pub(crate) type Row = BTreeMap<String, V>;

/// More rows than this are not worth waiting for.
const ROWS_MAX: usize = 4000;

/// Nor is looking at more nodes and relationships than this.
const LOOKS_MAX: usize = 2_000_000;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// More rows than are worth waiting for.
    TooMany,
    /// The query has no meaning, as shrinking may make them.
    Senseless,
    /// A node is deleted and its relationships are not.
    Connected,
    /// An expression fails that must be computed.
    Failed,
}

impl Stop {
    /// Whether the library must answer alike; otherwise it is not asked. What fails need not be
    /// computed everywhere.
    pub(crate) fn is_known(self) -> bool {
        self == Stop::Connected
    }
}

/// Answer of a query: columns and rows.
pub(crate) struct Answer {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<V>>,
}

/// The interpreter: a graph that statements read and change.
pub(crate) struct Interpreter {
    pub(crate) graph: Graph,
    /// Nodes deleted without their relationships by the running statement.
    deleted: Vec<usize>,
    /// Nodes and relationships that the running statement has looked at.
    looked_at: usize,
    /// Where random values come from.
    random: Random,
}

impl Interpreter {
    pub(crate) fn new(graph: Graph) -> Self {
        Self::drawing(graph, 0)
    }

    /// As [`Self::new`], with the random values of this number.
    pub(crate) fn drawing(graph: Graph, draw: u64) -> Self {
        Interpreter {
            graph,
            deleted: Vec::new(),
            looked_at: 0,
            random: Random::new(draw),
        }
    }

    /// What the last statement cost: nodes and relationships that were looked at.
    pub(crate) fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// Counts what is looked at next; an error where that is more than is worth waiting for.
    fn look(&mut self, more: usize) -> Result<(), Stop> {
        self.looked_at += more;
        match self.looked_at > LOOKS_MAX {
            true => Err(Stop::TooMany),
            false => Ok(()),
        }
    }

    /// Runs a statement; where it fails the graph is as before.
    pub(crate) fn run(&mut self, query: &Query) -> Result<Answer, Stop> {
        let before = self.graph.clone();
        self.deleted.clear();
        self.looked_at = 0;
        let none = Row::new();
        let answer = self.query(query, &none, &none).and_then(|(columns, rows)| {
            let connected =
                self.graph.rels.iter().flatten().any(|rel| {
                    self.deleted.contains(&rel.start) || self.deleted.contains(&rel.end)
                });
            if connected {
                return Err(Stop::Connected);
            }
            let values = rows.into_iter().map(|mut row| {
                let each = columns
                    .iter()
                    .map(|name| row.remove(name).unwrap_or(V::Null));
                each.collect()
            });
            let mut rows: Vec<Vec<V>> = values.collect();
            if columns.is_empty() {
                rows.clear();
            }
            Ok(Answer { columns, rows })
        });
        if answer.is_err() {
            self.graph = before;
        }
        answer
    }

    /// Columns and rows of a query in the scope of `outer`; no columns where it only writes. No
    /// projection drops what is `kept`.
    fn query(
        &mut self,
        query: &Query,
        outer: &Row,
        kept: &Row,
    ) -> Result<(Vec<String>, Vec<Row>), Stop> {
        let (mut columns, mut all) = (Vec::new(), Vec::new());
        for branch in &query.branches {
            let rows = self.clauses(branch, vec![outer.clone()], kept)?;
            columns = match branch.last() {
                Some(Clause::Return(p)) => p.items.iter().map(|i| i.name.clone()).collect(),
                _ => Vec::new(),
            };
            all.extend(rows);
        }
        if query.branches.len() > 1 && !query.all {
            projection::distinct(&mut all);
        }
        Ok((columns, all))
    }

    fn clauses(
        &mut self,
        clauses: &[Clause],
        mut rows: Vec<Row>,
        kept: &Row,
    ) -> Result<Vec<Row>, Stop> {
        for clause in clauses {
            rows = self.clause(clause, rows, kept)?;
            if rows.len() > ROWS_MAX {
                return Err(Stop::TooMany);
            }
        }
        Ok(rows)
    }

    fn clause(&mut self, clause: &Clause, rows: Vec<Row>, kept: &Row) -> Result<Vec<Row>, Stop> {
        let mut out = Vec::new();
        match clause {
            Clause::Match {
                optional,
                paths,
                filter,
            } => {
                for row in rows {
                    let found = self.matches(paths, filter.as_ref(), &row)?;
                    if found.is_empty() && *optional {
                        let mut row = row;
                        for name in paths.iter().flat_map(pattern::names) {
                            row.entry(name).or_insert(V::Null);
                        }
                        out.push(row);
                    } else {
                        out.extend(found);
                    }
                    if out.len() > ROWS_MAX {
                        return Err(Stop::TooMany);
                    }
                }
            }
            Clause::Unwind(list, name) => {
                for row in rows {
                    let items = match self.value(list, &row)? {
                        V::List(items) => items,
                        V::Null => Vec::new(),
                        single => vec![single],
                    };
                    for item in items {
                        let mut row = row.clone();
                        row.insert(name.clone(), item);
                        out.push(row);
                    }
                }
            }
            Clause::With(p) | Clause::Return(p) => out = self.project(p, rows, kept)?,
            Clause::Star => out = rows,
            Clause::Filter(condition) => {
                for row in rows {
                    if self.value(condition, &row)?.is_true() {
                        out.push(row);
                    }
                }
            }
            Clause::Call(call) => {
                for row in rows {
                    out.extend(self.call_query(call, row)?);
                    if out.len() > ROWS_MAX {
                        return Err(Stop::TooMany);
                    }
                }
            }
            Clause::Create(paths) => {
                for mut row in rows {
                    for path in paths {
                        self.create(path, &mut row)?;
                    }
                    out.push(row);
                }
            }
            Clause::Change(changes) => {
                for row in rows {
                    self.change(changes, &row)?;
                    out.push(row);
                }
            }
            Clause::Delete { detach, vars } => {
                self.delete(*detach, vars, &rows)?;
                out = rows;
            }
            Clause::Merge {
                path,
                on_create,
                on_match,
            } => {
                for mut row in rows {
                    let found = self.matches(std::slice::from_ref(path), None, &row)?;
                    if found.is_empty() {
                        self.create(path, &mut row)?;
                        self.change(on_create, &row)?;
                        out.push(row);
                    } else {
                        for row in found {
                            self.change(on_match, &row)?;
                            out.push(row);
                        }
                    }
                }
            }
            Clause::Foreach(name, list, clauses) => {
                for row in rows {
                    let items = match self.value(list, &row)? {
                        V::List(items) => items,
                        V::Null => Vec::new(),
                        single => vec![single],
                    };
                    for item in items {
                        let mut inner = row.clone();
                        inner.insert(name.clone(), item);
                        self.clauses(clauses, vec![inner], kept)?;
                    }
                    out.push(row);
                }
            }
        }
        Ok(out)
    }

    /// Rows that a subquery makes of one.
    fn call_query(&mut self, call: &Call, row: Row) -> Result<Vec<Row>, Stop> {
        let given = row.iter().filter(|(name, _)| call.given.contains(name));
        let given: Row = given.map(|(n, v)| (n.clone(), v.clone())).collect();
        let (inner, kept) = match call.import {
            Import::Listed => (given.clone(), given),
            Import::Star => (row.clone(), row.clone()),
            Import::With => (given, Row::new()),
        };
        let (columns, found) = self.query(&call.query, &inner, &kept)?;
        if columns.is_empty() {
            return Ok(vec![row]);
        }
        let mut out = Vec::new();
        let nulls = columns.iter().map(|name| (name.clone(), V::Null)).collect();
        let missing = (call.optional && found.is_empty()).then_some(nulls);
        for result in found.into_iter().chain(missing) {
            let mut row = row.clone();
            let new = result
                .into_iter()
                .filter(|(name, _)| columns.contains(name));
            row.extend(new);
            out.push(row);
        }
        Ok(out)
    }

    /// Makes what of a pattern is not bound yet.
    fn create(&mut self, path: &Path, row: &mut Row) -> Result<(), Stop> {
        let mut at = self.create_node(&path.start, row)?;
        for (rel, end) in &path.steps {
            let next = self.create_node(end, row)?;
            self.create_rel(rel, at, next, row)?;
            at = next;
        }
        Ok(())
    }

    fn create_node(&mut self, pattern: &NodePattern, row: &mut Row) -> Result<usize, Stop> {
        if let Some(bound) = pattern.var.as_ref().and_then(|var| row.get(var)) {
            return match bound {
                V::Node(at) => Ok(*at),
                _ => Err(Stop::Senseless),
            };
        }
        let labels = match &pattern.labels {
            Labels::Any => Vec::new(),
            Labels::All(all) => all.clone(),
            _ => return Err(Stop::Senseless),
        };
        let properties = self.new_properties(&pattern.properties, row)?;
        let at = self.graph.nodes.len();
        self.graph.nodes.push(Some(Node {
            labels: labels.into_iter().collect(),
            properties,
        }));
        if let Some(var) = &pattern.var {
            row.insert(var.clone(), V::Node(at));
        }
        Ok(at)
    }

    fn create_rel(
        &mut self,
        pattern: &RelPattern,
        left: usize,
        right: usize,
        row: &mut Row,
    ) -> Result<(), Stop> {
        let [kind] = pattern.types[..] else {
            return Err(Stop::Senseless);
        };
        let (start, end) = match pattern.direction {
            Direction::In => (right, left),
            Direction::Out | Direction::Both => (left, right),
        };
        let properties = self.new_properties(&pattern.properties, row)?;
        let at = self.graph.rels.len();
        self.graph.rels.push(Some(Rel {
            kind,
            start,
            end,
            properties,
        }));
        if let Some(var) = &pattern.var {
            row.insert(var.clone(), V::Rel(at));
        }
        Ok(())
    }

    fn new_properties(
        &mut self,
        pattern: &[(&'static str, crate::query::Expr)],
        row: &Row,
    ) -> Result<crate::value::Properties, Stop> {
        let mut properties = crate::value::Properties::new();
        for (key, expr) in pattern {
            match self.value(expr, row)? {
                V::Null => {}
                value => drop(properties.insert(key, stored(value)?)),
            }
        }
        Ok(properties)
    }

    fn change(&mut self, changes: &[Change], row: &Row) -> Result<(), Stop> {
        // Properties of one variable that follow each other are computed before the first of them
        // is set.
        let mut computed = std::collections::VecDeque::new();
        for (at, change) in changes.iter().enumerate() {
            let (var, key, value) = match change {
                Change::Add(var, key, value) => (var, *key, value.clone()),
                Change::Set(var, key, _)
                | Change::Increase(var, key, _)
                | Change::Compute(var, key, _) => {
                    if computed.is_empty() {
                        let of = row.get(var).ok_or(Stop::Senseless)?;
                        for together in &changes[at..] {
                            computed.push_back(match together {
                                Change::Set(same, _, value) if same == var => value.clone(),
                                Change::Compute(same, _, value) if same == var => {
                                    self.value(value, row)?
                                }
                                Change::Increase(same, key, by) if same == var => {
                                    match self.graph.property(of, key) {
                                        V::Int(i) => V::Int(i + by),
                                        _ => V::Null,
                                    }
                                }
                                _ => break,
                            });
                        }
                    }
                    let value = computed.pop_front().ok_or(Stop::Senseless)?;
                    (var, *key, value)
                }
                Change::RemoveProperty(var, key) => (var, *key, V::Null),
                Change::Replace(var, all) => {
                    let properties = match row.get(var).ok_or(Stop::Senseless)? {
                        V::Node(at) => self.graph.nodes[*at].as_mut().map(|n| &mut n.properties),
                        V::Rel(at) => self.graph.rels[*at].as_mut().map(|r| &mut r.properties),
                        V::Null => continue,
                        _ => return Err(Stop::Senseless),
                    };
                    *properties.ok_or(Stop::Senseless)? = all.iter().cloned().collect();
                    continue;
                }
                Change::Label(var, label) | Change::RemoveLabel(var, label) => {
                    if let V::Node(at) = row.get(var).ok_or(Stop::Senseless)? {
                        let node = self.graph.nodes[*at].as_mut().ok_or(Stop::Senseless)?;
                        match change {
                            Change::Label(..) => drop(node.labels.insert(label)),
                            _ => drop(node.labels.remove(label)),
                        }
                    }
                    continue;
                }
            };
            let properties = match row.get(var).ok_or(Stop::Senseless)? {
                V::Node(at) => self.graph.nodes[*at].as_mut().map(|n| &mut n.properties),
                V::Rel(at) => self.graph.rels[*at].as_mut().map(|r| &mut r.properties),
                V::Null => continue,
                _ => return Err(Stop::Senseless),
            };
            let properties = properties.ok_or(Stop::Senseless)?;
            match value {
                V::Null => drop(properties.remove(key)),
                value => drop(properties.insert(key, stored(value)?)),
            }
        }
        Ok(())
    }

    fn delete(&mut self, detach: bool, vars: &[String], rows: &[Row]) -> Result<(), Stop> {
        for row in rows {
            for var in vars {
                match row.get(var).ok_or(Stop::Senseless)? {
                    V::Node(at) if detach => self.graph.remove_node(*at),
                    V::Node(at) => {
                        self.graph.nodes[*at] = None;
                        self.deleted.push(*at);
                    }
                    V::Rel(at) => self.graph.rels[*at] = None,
                    V::Null => {}
                    _ => return Err(Stop::Senseless),
                }
            }
        }
        Ok(())
    }
}

/// The value, if a property may hold it.
fn stored(value: V) -> Result<V, Stop> {
    let holds = |v: &V| {
        !matches!(
            v,
            V::Null | V::Map(_) | V::Node(_) | V::Rel(_) | V::Path(..)
        )
    };
    let fits = match &value {
        V::List(items) => items
            .iter()
            .all(|item| holds(item) && !matches!(item, V::List(_))),
        other => holds(other),
    };
    fits.then_some(value).ok_or(Stop::Failed)
}

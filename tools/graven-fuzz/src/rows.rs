//! Answers and graphs as text, and whether those of the library and of the interpreter say the
//! same.
//!
//! # How it works
//! Nodes and relationships are told by labels, type and properties, for their ids differ. Rows are
//! compared as multisets, in order where an order was asked for, and lists that have none without
//! one.

use graven::{QueryResult, Value};

use crate::graph::Graph;
use crate::interpret::Answer;
use crate::query::{Expr, Query};
use crate::value::V;

/// All rows of a result, or its error with the code first.
pub(crate) fn all(result: Result<QueryResult, graven::Error>) -> Result<Vec<Vec<Value>>, String> {
    let told = |e: graven::Error| format!("{}: {}", e.code(), e.render());
    let mut rows = Vec::new();
    for row in result.map_err(told)? {
        rows.push(row.map_err(told)?.values().to_vec());
    }
    Ok(rows)
}

/// Whether the library's rows are those that `query` gives; where not, in words how they differ.
/// `graph` is as the statement left it.
pub(crate) fn same(
    graph: &Graph,
    query: &Query,
    expected: &Answer,
    got: &[Vec<Value>],
) -> Result<(), String> {
    let bags: Vec<bool> = match query.last() {
        Some(last) => last.items.iter().map(|item| item.bag).collect(),
        None => Vec::new(),
    };
    let is_bag = |at: usize| bags.get(at).copied().unwrap_or(false);
    let cells = |row: &[V]| -> Vec<String> {
        let each = row.iter().enumerate();
        each.map(|(at, v)| in_model(graph, v, is_bag(at))).collect()
    };
    let theirs = |row: &Vec<Value>| -> Vec<String> {
        let each = row.iter().enumerate();
        each.map(|(at, v)| shown(v, is_bag(at))).collect()
    };
    let wanted: Vec<Vec<String>> = expected.rows.iter().map(|r| cells(r)).collect();
    let found: Vec<Vec<String>> = got.iter().map(theirs).collect();
    if query.branches.len() == 1
        && query.last().is_some_and(|last| last.total)
        && graph.all_have_uid()
        && wanted != found
    {
        return Err(format!(
            "rows or their order: expected {wanted:?}\n     got {found:?}"
        ));
    }
    if graph.all_have_uid()
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
fn in_model(graph: &Graph, v: &V, bag: bool) -> String {
    match v {
        V::Null => "null".to_owned(),
        V::Bool(b) => b.to_string(),
        V::Int(i) => i.to_string(),
        V::Float(f) => float(*f),
        V::Str(s) => format!("{s:?}"),
        V::Date(days) => crate::calendar::iso(*days),
        V::Time(t) => t.text(),
        V::List(items) => list(items.iter().map(|v| in_model(graph, v, bag)).collect(), bag),
        V::Map(entries) => map(entries
            .iter()
            .map(|(k, v)| (k.as_str(), in_model(graph, v, bag)))),
        V::Node(at) => match &graph.nodes[*at] {
            Some(node) => {
                let properties = node.properties.iter();
                let properties = properties.map(|(k, v)| (*k, in_model(graph, v, false)));
                entity(node.labels.iter().copied(), properties)
            }
            None => "(deleted)".to_owned(),
        },
        V::Rel(at) => match &graph.rels[*at] {
            Some(rel) => {
                let properties = rel.properties.iter();
                let properties = properties.map(|(k, v)| (*k, in_model(graph, v, false)));
                entity([rel.kind].into_iter(), properties)
            }
            None => "(deleted)".to_owned(),
        },
        V::Path(nodes, rels) => {
            let nodes = nodes.iter().map(|at| in_model(graph, &V::Node(*at), false));
            let rels = rels.iter().map(|at| in_model(graph, &V::Rel(*at), false));
            path(nodes.collect(), rels.collect())
        }
    }
}

/// A graph of the model in words, each node and each relationship with its ends, sorted.
pub(crate) fn of_model(graph: &Graph) -> Vec<String> {
    let nodes = graph
        .node_places()
        .map(|at| in_model(graph, &V::Node(at), false));
    let mut all: Vec<String> = nodes.collect();
    for at in graph.rel_places() {
        if let Some(rel) = &graph.rels[at] {
            let [start, end] = [rel.start, rel.end].map(|n| in_model(graph, &V::Node(n), false));
            all.push(format!(
                "{start} {} {end}",
                in_model(graph, &V::Rel(at), false)
            ));
        }
    }
    all.sort();
    all
}

/// The graph of a database in the same words; `ask` answers statements.
pub(crate) fn of_library(
    mut ask: impl FnMut(&str) -> Result<Vec<Vec<Value>>, String>,
) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for row in ask("MATCH (n) RETURN n")? {
        all.extend(row.iter().map(|v| shown(v, false)));
    }
    for row in ask("MATCH (a)-[r]->(b) RETURN a, r, b")? {
        let cells: Vec<String> = row.iter().map(|v| shown(v, false)).collect();
        all.push(cells.join(" "));
    }
    all.sort();
    Ok(all)
}

/// Columns that the last `ORDER BY` orders by, if these are all it orders by: their values are then
/// certain row by row.
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

fn map<'a>(entries: impl Iterator<Item = (&'a str, String)>) -> String {
    let mut entries: Vec<String> = entries.map(|(k, v)| format!("{k}: {v}")).collect();
    entries.sort();
    format!("{{{}}}", entries.join(", "))
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
        Value::Map(entries) => map(entries.iter().map(|(k, v)| (&**k, shown(v, bag)))),
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

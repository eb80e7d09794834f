//! Makes a case that differs smaller, part by part, as long as it still differs.

use crate::compare::{Pair, Verdict};
use crate::graph::Graph;
use crate::interpret::Interpreter;
use crate::library::Setting;
use crate::query::{Call, Clause, Expr, Import, Labels, Length, Path, Projection, Query};
use crate::rows;
use crate::spelling::spelled;
use crate::value::key;

/// Tries at most so many smaller forms: each makes a database.
const TRIES_MAX: usize = 1500;

/// Nor may the interpreter look at more nodes and relationships for them.
const LOOKS_MAX: usize = 20_000_000;

/// The smallest form of a case, in words.
pub(crate) fn shrink(
    graph: Graph,
    setting: Setting,
    query: Query,
    spelling: u64,
) -> Result<String, String> {
    let mut looks = 0;
    // The plain words, if they differ too.
    let mut first = None;
    for words in [0, spelling] {
        let how = differs(&graph, setting, &query, words, &mut looks)?;
        first = first.or(how.map(|how| (how, words)));
    }
    let Some((mut how, spelling)) = first else {
        return Ok(format!(
            "differs only after the queries before it:\n  {}",
            spelled(&query, spelling, true)
        ));
    };
    let code = code(&how);
    let (mut graph, mut query) = (graph, query);
    let mut tries = 0;
    'again: loop {
        let graphs = smaller_graphs(&graph)
            .into_iter()
            .map(|g| (g, query.clone()));
        let queries = smaller_queries(&query)
            .into_iter()
            .map(|q| (graph.clone(), q));
        let candidates: Vec<(Graph, Query)> = graphs.chain(queries).collect();
        for (smaller, asked) in candidates {
            tries += 1;
            if tries > TRIES_MAX || looks > LOOKS_MAX {
                break 'again;
            }
            if let Some(other) = differs(&smaller, setting, &asked, spelling, &mut looks)?
                && self::code(&other) == code
            {
                (graph, query, how) = (smaller, asked, other);
                continue 'again;
            }
        }
        break;
    }
    let indexes: String = graph.indexes.iter().map(|i| format!("  {i}\n")).collect();
    let creation = graph.creation().unwrap_or_default();
    Ok(format!(
        "{indexes}  {creation}\n  {}\n{how}",
        spelled(&query, spelling, true)
    ))
}

/// The code of the error, if the library answered with one: a smaller form has to fail alike.
pub(crate) fn code(how: &str) -> Option<String> {
    let first = how.split(':').next()?;
    let is_code = first.contains("Error") && !first.contains(' ');
    is_code.then(|| first.to_owned())
}

/// Whether every branch ends as a statement can.
pub(crate) fn ends(query: &Query) -> bool {
    query.branches.iter().all(|clauses| {
        let reads = |clause: &Clause| {
            matches!(
                clause,
                Clause::Match { .. } | Clause::Unwind(..) | Clause::With(_)
            )
        };
        let last = clauses.iter().position(|c| matches!(c, Clause::Return(_)));
        last.is_none_or(|at| at + 1 == clauses.len())
            && clauses.last().is_some_and(|clause| match clause {
                Clause::Call(call) => call.query.last().is_none(),
                other => !reads(other),
            })
    })
}

fn differs(
    graph: &Graph,
    setting: Setting,
    query: &Query,
    spelling: u64,
    looks: &mut usize,
) -> Result<Option<String>, String> {
    if !ends(query) {
        return Ok(None);
    }
    let mut pair = Pair::new(graph.clone(), setting)?;
    let verdict = pair.compare(query, spelling)?;
    *looks += pair.looked_at();
    if matches!(verdict, Verdict::Different(_)) && !is_certain(graph, query) {
        return Ok(None);
    }
    Ok(match verdict {
        Verdict::Different(how) => Some(how),
        Verdict::Same(_) | Verdict::Skipped => None,
    })
}

/// Whether random values decide nothing of the answer: a part of a statement may show them.
fn is_certain(graph: &Graph, query: &Query) -> bool {
    let answer = |draw| {
        let mut interpreter = Interpreter::drawing(graph.clone(), draw);
        let answer = interpreter.run(query).ok()?;
        let rows = answer.rows.iter().map(|row| row.iter().map(key).collect());
        let mut rows: Vec<Vec<String>> = rows.collect();
        rows.sort_unstable();
        Some((rows, rows::of_model(&interpreter.graph)))
    };
    let first = answer(0);
    (1..4).all(|draw| answer(draw) == first)
}

pub(crate) fn smaller_graphs(graph: &Graph) -> Vec<Graph> {
    let mut all = Vec::new();
    for at in graph.node_places() {
        let mut smaller = graph.clone();
        smaller.remove_node(at);
        all.push(smaller);
    }
    for at in graph.rel_places() {
        let mut smaller = graph.clone();
        smaller.rels[at] = None;
        all.push(smaller);
    }
    for at in 0..graph.indexes.len() {
        let mut smaller = graph.clone();
        smaller.indexes.remove(at);
        all.push(smaller);
    }
    for at in graph.node_places() {
        for key in crate::graph::KEYS {
            let mut smaller = graph.clone();
            let node = smaller.nodes[at].as_mut();
            if node.is_some_and(|n| n.properties.remove(key).is_some()) {
                all.push(smaller);
            }
        }
    }
    all
}

pub(crate) fn smaller_queries(query: &Query) -> Vec<Query> {
    let mut all = Vec::new();
    for (branch, clauses) in query.branches.iter().enumerate() {
        if query.branches.len() > 1 {
            let mut smaller = query.clone();
            smaller.branches.remove(branch);
            all.push(smaller);
        }
        for (at, clause) in clauses.iter().enumerate() {
            let mut smaller = query.clone();
            smaller.branches[branch].remove(at);
            all.push(smaller);
            for clause in smaller_clauses(clause) {
                let mut smaller = query.clone();
                smaller.branches[branch][at] = clause;
                all.push(smaller);
            }
        }
    }
    all
}

fn smaller_clauses(clause: &Clause) -> Vec<Clause> {
    let mut all = Vec::new();
    match clause {
        Clause::Match {
            optional,
            paths,
            filter,
        } => {
            let with = |paths: Vec<Path>, filter: Option<Expr>| Clause::Match {
                optional: *optional,
                paths,
                filter,
            };
            for paths in smaller_paths(paths) {
                all.push(with(paths, filter.clone()));
            }
            if let Some(filter) = filter {
                all.push(with(paths.clone(), None));
                let smaller = smaller_expressions(filter).into_iter();
                all.extend(smaller.map(|f| with(paths.clone(), Some(f))));
            }
        }
        Clause::Unwind(list, name) => {
            let smaller = smaller_expressions(list).into_iter();
            all.extend(smaller.map(|l| Clause::Unwind(l, name.clone())));
        }
        Clause::With(p) => all.extend(smaller_projections(p).into_iter().map(Clause::With)),
        Clause::Return(p) => all.extend(smaller_projections(p).into_iter().map(Clause::Return)),
        Clause::Call(call) => {
            let with = |query: Query| {
                Clause::Call(Call {
                    query,
                    ..call.clone()
                })
            };
            all.extend(smaller_queries(&call.query).into_iter().map(with));
            if call.import != Import::Listed {
                let import = Import::Listed;
                all.push(Clause::Call(Call {
                    import,
                    ..call.clone()
                }));
            }
            for at in 0..call.given.len() {
                let mut fewer = call.clone();
                fewer.given.remove(at);
                all.push(Clause::Call(fewer));
            }
        }
        Clause::Foreach(name, list, inner) if inner.len() > 1 => {
            for at in 0..inner.len() {
                let mut inner = inner.clone();
                inner.remove(at);
                all.push(Clause::Foreach(name.clone(), list.clone(), inner));
            }
        }
        Clause::Change(changes) if changes.len() > 1 => {
            for at in 0..changes.len() {
                let mut changes = changes.clone();
                changes.remove(at);
                all.push(Clause::Change(changes));
            }
        }
        Clause::Create(paths) => all.extend(smaller_paths(paths).into_iter().map(Clause::Create)),
        _ => {}
    }
    all
}

fn smaller_paths(paths: &[Path]) -> Vec<Vec<Path>> {
    let mut all = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        let mut put = |path: Path| {
            let mut paths = paths.to_vec();
            paths[at] = path;
            all.push(paths);
        };
        let plain = path.shape == crate::query::Shape::Plain;
        if plain && !path.steps.is_empty() {
            let mut shorter = path.clone();
            shorter.steps.pop();
            put(shorter);
            let mut later = path.clone();
            later.start = later.steps.remove(0).1;
            put(later);
        }
        if path.var.is_some() {
            put(Path {
                var: None,
                ..path.clone()
            });
        }
        for step in 0..=path.steps.len() {
            let mut barer = path.clone();
            let node = match step.checked_sub(1) {
                Some(step) => &mut barer.steps[step].1,
                None => &mut barer.start,
            };
            if node.labels != Labels::Any {
                node.labels = Labels::Any;
                put(barer.clone());
                barer = path.clone();
            }
            let node = match step.checked_sub(1) {
                Some(step) => &mut barer.steps[step].1,
                None => &mut barer.start,
            };
            if !node.properties.is_empty() {
                node.properties.clear();
                put(barer);
            }
        }
        for step in 0..path.steps.len() {
            let rel = &path.steps[step].0;
            let mut simpler = Vec::new();
            if !rel.types.is_empty() {
                let mut rel = rel.clone();
                rel.types.clear();
                simpler.push(rel);
            }
            if !rel.properties.is_empty() {
                let mut rel = rel.clone();
                rel.properties.clear();
                simpler.push(rel);
            }
            if let Length::Group(group) = &rel.length {
                let mut put = |group: crate::query::Group| {
                    let mut rel = rel.clone();
                    rel.length = Length::Group(Box::new(group));
                    simpler.push(rel);
                };
                let mut less = (**group).clone();
                if less.filter.take().is_some() {
                    put(less);
                }
                let mut less = (**group).clone();
                if less.steps.len() > 1 {
                    less.steps.pop();
                    put(less);
                }
                let mut less = (**group).clone();
                if less.high > less.low {
                    less.high -= 1;
                    put(less);
                }
                let mut less = (**group).clone();
                less.start.labels = Labels::Any;
                less.start.properties.clear();
                for (rel, node) in &mut less.steps {
                    node.labels = Labels::Any;
                    node.properties.clear();
                    rel.properties.clear();
                    rel.types.clear();
                }
                if less != **group {
                    put(less);
                }
            } else if rel.length != Length::One && plain {
                let mut rel = rel.clone();
                rel.length = Length::One;
                simpler.push(rel);
            }
            if rel.var.is_some() {
                let mut rel = rel.clone();
                rel.var = None;
                simpler.push(rel);
            }
            for rel in simpler {
                let mut path = path.clone();
                path.steps[step].0 = rel;
                put(path);
            }
        }
    }
    if paths.len() > 1 {
        for at in 0..paths.len() {
            let mut fewer = paths.to_vec();
            fewer.remove(at);
            all.push(fewer);
        }
    }
    all
}

fn smaller_projections(p: &Projection) -> Vec<Projection> {
    let mut all = Vec::new();
    let mut put = |change: &dyn Fn(&mut Projection)| {
        let mut smaller = p.clone();
        change(&mut smaller);
        if smaller != *p {
            all.push(smaller);
        }
    };
    put(&|p| p.filter = None);
    put(&|p| p.limit = None);
    put(&|p| p.skip = None);
    put(&|p| p.distinct = false);
    if p.limit.is_none() && p.skip.is_none() {
        put(&|p| {
            p.order.clear();
            p.total = false;
        });
        for at in 0..p.order.len() {
            put(&|p| {
                drop(p.order.remove(at));
                p.total = false;
            });
        }
    }
    if p.items.len() > 1 {
        for at in 0..p.items.len() {
            put(&|p| drop(p.items.remove(at)));
        }
    }
    for (at, item) in p.items.iter().enumerate() {
        for smaller in smaller_expressions(&item.expr) {
            put(&|p| p.items[at].expr = smaller.clone());
        }
    }
    if let Some(filter) = &p.filter {
        for smaller in smaller_expressions(filter) {
            put(&|p| p.filter = Some(smaller.clone()));
        }
    }
    all
}

/// Parts of an expression in its place, and the expression with one part made smaller.
fn smaller_expressions(expr: &Expr) -> Vec<Expr> {
    let mut all = Vec::new();
    match expr {
        Expr::Binary(op, a, b) => {
            all.extend([(**a).clone(), (**b).clone()]);
            for a in smaller_expressions(a) {
                all.push(Expr::Binary(*op, Box::new(a), b.clone()));
            }
            for b in smaller_expressions(b) {
                all.push(Expr::Binary(*op, a.clone(), Box::new(b)));
            }
        }
        Expr::Not(a) => {
            all.push((**a).clone());
            let smaller = smaller_expressions(a).into_iter();
            all.extend(smaller.map(|a| Expr::Not(Box::new(a))));
        }
        Expr::IsNull(a) => {
            let smaller = smaller_expressions(a).into_iter();
            all.extend(smaller.map(|a| Expr::IsNull(Box::new(a))));
        }
        Expr::Call(_, items) | Expr::List(items) => {
            let again = |items: Vec<Expr>| match expr {
                Expr::Call(name, _) => Expr::Call(name, items),
                _ => Expr::List(items),
            };
            all.extend(items.iter().cloned());
            for at in 0..items.len() {
                for smaller in smaller_expressions(&items[at]) {
                    let mut items = items.clone();
                    items[at] = smaller;
                    all.push(again(items));
                }
            }
        }
        Expr::Hidden(of, _) => all.push((**of).clone()),
        Expr::Choice(_, _, then, other) => {
            all.extend([(**then).clone(), (**other).clone()]);
        }
        Expr::Case(condition, then, other) => {
            all.extend([(**condition).clone(), (**then).clone(), (**other).clone()]);
        }
        Expr::Exists(paths, filter) | Expr::CountOf(paths, filter) => {
            let again = |paths: Vec<Path>, filter| match expr {
                Expr::Exists(..) => Expr::Exists(paths, filter),
                _ => Expr::CountOf(paths, filter),
            };
            for paths in smaller_paths(paths) {
                all.push(again(paths, filter.clone()));
            }
            if let Some(inner) = filter {
                all.push(again(paths.clone(), None));
                for smaller in smaller_expressions(inner) {
                    all.push(again(paths.clone(), Some(Box::new(smaller))));
                }
            }
        }
        Expr::Sub(kind, query) => {
            let smaller = smaller_queries(query).into_iter().filter(ends);
            all.extend(smaller.map(|q| Expr::Sub(*kind, Box::new(q))));
        }
        Expr::Comprehension(var, list, filter, item) => {
            all.push((**list).clone());
            if filter.is_some() {
                all.push(Expr::Comprehension(
                    var.clone(),
                    list.clone(),
                    None,
                    item.clone(),
                ));
            }
            if item.is_some() {
                all.push(Expr::Comprehension(
                    var.clone(),
                    list.clone(),
                    filter.clone(),
                    None,
                ));
            }
        }
        Expr::Aggregate(kind, unique, Some(of)) => {
            for of in smaller_expressions(of) {
                all.push(Expr::Aggregate(*kind, *unique, Some(Box::new(of))));
            }
        }
        _ => {}
    }
    all
}

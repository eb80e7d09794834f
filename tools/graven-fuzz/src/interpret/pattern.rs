//! Patterns: every node and every relationship is tried.

use crate::interpret::{Interpreter, ROWS_MAX, Row, Stop};
use crate::query::{
    Direction, Expr, Group, Labels, Length, NodePattern, Op, Path, RelPattern, Shape,
};
use crate::value::{V, equal};
use crate::walk::{self, Place, Visitor};

/// A row under way, and what one path of it has come past.
#[derive(Clone)]
struct State {
    row: Row,
    /// Relationships that the clause has used.
    used: Vec<usize>,
    nodes: Vec<usize>,
    rels: Vec<usize>,
}

/// Names that a path brings.
pub(super) fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = path.var.iter().chain(&path.start.var).cloned().collect();
    for (rel, end) in &path.steps {
        if let Length::Group(group) = &rel.length {
            names.extend(inner_names(group));
        }
        names.extend(rel.var.iter().chain(&end.var).cloned());
    }
    names
}

/// Names in a group, which are those of lists outside.
fn inner_names(group: &Group) -> Vec<String> {
    let steps = group.steps.iter();
    let steps = steps.flat_map(|(rel, node)| rel.var.iter().chain(&node.var));
    group.start.var.iter().chain(steps).cloned().collect()
}

fn path_of(state: &State) -> V {
    V::Path(state.nodes.clone(), state.rels.clone())
}

/// What `WHERE` asks of the path of a function, the conditions that `AND` joins one by one: they
/// are asked of each path before the shortest is chosen.
fn asked_of<'e>(path: &Path, filter: Option<&'e Expr>) -> Vec<&'e Expr> {
    let Some(var) = path.var.as_deref().filter(|_| is_function(path)) else {
        return Vec::new();
    };
    let mut asked = Vec::new();
    let mut open: Vec<&Expr> = filter.into_iter().collect();
    while let Some(condition) = open.pop() {
        match condition {
            Expr::Binary(Op::And, left, right) => open.extend([&**right, left]),
            other if reads(other, var) => asked.push(other),
            _ => {}
        }
    }
    asked
}

fn is_function(path: &Path) -> bool {
    matches!(path.shape, Shape::Shortest | Shape::AllShortest)
}

/// Whether a variable is read in an expression.
fn reads(expr: &Expr, var: &str) -> bool {
    struct Reads<'n>(&'n str, bool);
    impl Visitor for Reads<'_> {
        fn expr(&mut self, expr: &mut Expr, _: Place) {
            self.1 |= matches!(expr, Expr::Var(name) if name == self.0);
        }
    }
    let mut found = Reads(var, false);
    walk::expression(&mut expr.clone(), Place::MatchWhere, &mut found);
    found.1
}

impl Interpreter {
    /// Rows that a `MATCH` makes of one row.
    pub(super) fn matches(
        &mut self,
        paths: &[Path],
        filter: Option<&Expr>,
        row: &Row,
    ) -> Result<Vec<Row>, Stop> {
        let mut states = vec![State {
            row: row.clone(),
            used: Vec::new(),
            nodes: Vec::new(),
            rels: Vec::new(),
        }];
        for path in paths {
            let mut next = Vec::new();
            let asked = asked_of(path, filter);
            for state in states {
                next.extend(self.path(path, &asked, state)?);
                if next.len() > ROWS_MAX {
                    return Err(Stop::TooMany);
                }
            }
            states = next;
        }
        let mut rows = Vec::new();
        for state in states {
            let holds = match filter {
                Some(filter) => self.value(filter, &state.row)?.is_true(),
                None => true,
            };
            if holds {
                rows.push(state.row);
            }
        }
        Ok(rows)
    }

    fn path(&mut self, path: &Path, asked: &[&Expr], mut state: State) -> Result<Vec<State>, Stop> {
        let bound =
            |node: &NodePattern| node.var.as_ref().is_some_and(|v| state.row.contains_key(v));
        let mut ends = std::iter::once(&path.start).chain(path.steps.iter().map(|(_, node)| node));
        if is_function(path) && !ends.all(bound) {
            return Err(Stop::Senseless);
        }
        state.nodes.clear();
        state.rels.clear();
        // What a function finds may be a relationship of a path beside it.
        let used = is_function(path).then(|| std::mem::take(&mut state.used));
        let mut states = Vec::new();
        for at in 0..self.graph.nodes.len() {
            states.extend(self.enter(&path.start, at, &state)?);
        }
        for (rel, end) in &path.steps {
            let mut next = Vec::new();
            for state in &states {
                next.extend(self.step(rel, end, state)?);
                if next.len() > ROWS_MAX {
                    return Err(Stop::TooMany);
                }
            }
            states = next;
        }
        if let Shape::Groups(count) | Shape::Some(count) = path.shape {
            let ends = |s: &State| (s.nodes.first().copied(), s.nodes.last().copied());
            let all: Vec<_> = states.iter().map(|s| (ends(s), s.rels.len())).collect();
            self.look(all.len() * all.len() / 16)?;
            let mut at = 0;
            states.retain(|s| {
                at += 1;
                let before = all.iter().enumerate().filter(|(other, (others, length))| {
                    let is_before =
                        *length < s.rels.len() || *length == s.rels.len() && *other < at - 1;
                    *others == ends(s) && is_before
                });
                let lengths = before.map(|(_, (_, length))| *length);
                match path.shape {
                    Shape::Some(_) => lengths.count() < count,
                    _ => {
                        let mut shorter: Vec<usize> =
                            lengths.filter(|length| *length < s.rels.len()).collect();
                        shorter.sort_unstable();
                        shorter.dedup();
                        shorter.len() < count
                    }
                }
            });
        } else if path.shape != Shape::Plain {
            // No shortest path leads from a node to itself but the empty one.
            states.retain(|s| s.rels.is_empty() || s.nodes.first() != s.nodes.last());
            if let Some(var) = path.var.as_ref().filter(|_| !asked.is_empty()) {
                let mut passing = Vec::new();
                for state in states {
                    let mut row = state.row.clone();
                    row.insert(var.clone(), path_of(&state));
                    let mut passes = true;
                    for condition in asked {
                        passes = passes && self.value(condition, &row)?.is_true();
                    }
                    passing.extend(passes.then_some(state));
                }
                states = passing;
            }
            let shortest = states.iter().map(|s| s.rels.len()).min();
            states.retain(|s| Some(s.rels.len()) == shortest);
            if path.shape == Shape::Shortest {
                states.truncate(1);
            }
        }
        for state in &mut states {
            if let Some(var) = &path.var {
                let value = path_of(state);
                state.row.insert(var.clone(), value);
            }
            if let Some(used) = &used {
                state.used.clone_from(used);
            }
        }
        Ok(states)
    }

    /// The state with node `at` as the next of the path, if the pattern lets it in.
    fn enter(
        &mut self,
        pattern: &NodePattern,
        at: usize,
        state: &State,
    ) -> Result<Option<State>, Stop> {
        self.look(1)?;
        let Some(node) = &self.graph.nodes[at] else {
            return Ok(None);
        };
        let has = |label: &&'static str| node.labels.contains(label);
        let labelled = match &pattern.labels {
            Labels::Any => true,
            Labels::All(all) => all.iter().all(has),
            Labels::OneOf(all) => all.iter().any(has),
            Labels::Not(label) => !has(label),
            Labels::Some => !node.labels.is_empty(),
            Labels::Named(name) => match state.row.get(name) {
                Some(V::Str(label)) => node.labels.contains(label.as_str()),
                _ => return Err(Stop::Senseless),
            },
        };
        let mut state = state.clone();
        if let Some(var) = &pattern.var
            && *state.row.entry(var.clone()).or_insert(V::Node(at)) != V::Node(at)
        {
            return Ok(None);
        }
        state.nodes.push(at);
        let fits = labelled && self.properties(&pattern.properties, &V::Node(at), &state.row)?;
        Ok(fits.then_some(state))
    }

    fn properties(
        &mut self,
        wanted: &[(&'static str, Expr)],
        of: &V,
        row: &Row,
    ) -> Result<bool, Stop> {
        for (key, expr) in wanted {
            let value = self.value(expr, row)?;
            if equal(&self.graph.property(of, key), &value) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// States after one relationship pattern and the node behind it.
    fn step(
        &mut self,
        rel: &RelPattern,
        end: &NodePattern,
        state: &State,
    ) -> Result<Vec<State>, Stop> {
        let (low, high) = match &rel.length {
            Length::One => (1, 1),
            Length::Star(low, high) | Length::Braces(low, high) => (*low, *high),
            Length::Group(group) => return self.repeated(group, end, state),
        };
        let mut found = Vec::new();
        // Ways of each length; the relationships of the way alone.
        let mut ways = vec![(state.clone(), Vec::new())];
        for length in 0..=high {
            for (way, rels) in &ways {
                if length < low {
                    continue;
                }
                let mut way = way.clone();
                if let Some(var) = &rel.var {
                    let value = match rel.length {
                        Length::One => V::Rel(rels[0]),
                        _ => V::List(rels.iter().map(|at| V::Rel(*at)).collect()),
                    };
                    if *way.row.entry(var.clone()).or_insert(value.clone()) != value {
                        continue;
                    }
                }
                let at = way.nodes.pop().ok_or(Stop::Senseless)?;
                found.extend(self.enter(end, at, &way)?);
            }
            let mut longer = Vec::new();
            for (way, rels) in &ways {
                for (at, next) in self.neighbours(rel, way)? {
                    let (mut way, mut rels) = (way.clone(), rels.clone());
                    way.used.push(at);
                    way.rels.push(at);
                    way.nodes.push(next);
                    rels.push(at);
                    longer.push((way, rels));
                }
            }
            ways = longer;
            if ways.len() > ROWS_MAX {
                return Err(Stop::TooMany);
            }
        }
        Ok(found)
    }

    /// States after a group, repeated as often as it may be, and the node behind it.
    fn repeated(
        &mut self,
        group: &Group,
        end: &NodePattern,
        state: &State,
    ) -> Result<Vec<State>, Stop> {
        let names = inner_names(group);
        let mut found = Vec::new();
        // Ways of each number of repetitions; what the names stood for in each.
        let mut ways = vec![(state.clone(), vec![Vec::new(); names.len()])];
        for count in 0..=group.high {
            for (way, lists) in &ways {
                if count < group.low {
                    continue;
                }
                let mut way = way.clone();
                for (name, list) in names.iter().zip(lists) {
                    way.row.insert(name.clone(), V::List(list.clone()));
                }
                let at = way.nodes.pop().ok_or(Stop::Senseless)?;
                found.extend(self.enter(end, at, &way)?);
            }
            let mut longer = Vec::new();
            for (way, lists) in &ways {
                let mut way = way.clone();
                let at = way.nodes.pop().ok_or(Stop::Senseless)?;
                let mut states: Vec<State> =
                    self.enter(&group.start, at, &way)?.into_iter().collect();
                for (rel, node) in &group.steps {
                    let mut next = Vec::new();
                    for state in &states {
                        next.extend(self.step(rel, node, state)?);
                    }
                    states = next;
                }
                for mut state in states {
                    if let Some(filter) = &group.filter
                        && !self.value(filter, &state.row)?.is_true()
                    {
                        continue;
                    }
                    let mut lists = lists.clone();
                    for (name, list) in names.iter().zip(&mut lists) {
                        list.push(state.row.remove(name).ok_or(Stop::Senseless)?);
                    }
                    longer.push((state, lists));
                }
            }
            ways = longer;
            if ways.len() > ROWS_MAX {
                return Err(Stop::TooMany);
            }
        }
        Ok(found)
    }

    /// Unused relationships that lead on from the end of `way`, with the node behind each.
    fn neighbours(&mut self, rel: &RelPattern, way: &State) -> Result<Vec<(usize, usize)>, Stop> {
        let from = *way.nodes.last().ok_or(Stop::Senseless)?;
        let mut found = Vec::new();
        self.look(self.graph.rels.len())?;
        for at in 0..self.graph.rels.len() {
            let Some(edge) = &self.graph.rels[at] else {
                continue;
            };
            if way.used.contains(&at) || !(rel.types.is_empty() || rel.types.contains(&edge.kind)) {
                continue;
            }
            let out = (edge.start == from).then_some(edge.end);
            let back = (edge.end == from).then_some(edge.start);
            let next = match rel.direction {
                Direction::Out => out,
                Direction::In => back,
                Direction::Both => out.or(back),
            };
            let Some(next) = next else { continue };
            if self.properties(&rel.properties, &V::Rel(at), &way.row)? {
                found.push((at, next));
            }
        }
        Ok(found)
    }
}

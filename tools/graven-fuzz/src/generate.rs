//! Random queries that are right by their kinds, so that whatever the library refuses is a finding.
//!
//! # How it works
//! The generator goes from left to right and knows the variables in scope with their kinds.
//! Whatever would leave more than one right answer is avoided: a cut comes after an order by all
//! columns, lists without an order are compared without one, changes do not depend on the order of
//! rows, floats are sums of quarters.

mod chain;
mod disguise;
mod expression;
mod matrix;
mod pattern;
mod projection;
mod scopes;
mod shapes;
mod subquery;
pub(crate) mod touching;

use crate::graph::{Graph, KEYS, LABELS, TYPES, property};
use crate::query::{
    Change, Clause, Direction, Expr, Labels, Length, NodePattern, Op, Path, Query, RelPattern,
    Shape,
};
use crate::random::Random;
use crate::value::V;

/// Kind of a variable or expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Float,
    Str,
    /// Anything a property may hold.
    Mixed,
    Ints,
    Node,
    Rel,
    Rels,
    Nodes,
    Date,
    /// A local date with time.
    Local,
    /// One with an offset.
    Zoned,
    Span,
    /// Of any temporal type.
    Temporal,
    Path,
    Map,
    /// A path whose length alone is certain.
    ShortPath,
    /// Integers in no order.
    Bag,
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    kind: Kind,
    nullable: bool,
}

/// Makes one query.
pub(crate) struct Generator<'a> {
    random: &'a mut Random,
    scope: Vec<Variable>,
    names: usize,
    /// Patterns may still have so many new nodes.
    nodes_left: usize,
    /// Something without `uid` may be in scope, so that no order is certain.
    created: bool,
    /// Variables in scope when the running `MATCH` began.
    before: Vec<Variable>,
    /// Names that must not be given again though no variable in scope has them.
    reserved: Vec<String>,
    /// Names may be given again where they are free.
    reuses: bool,
    /// In a pattern: so many names had been given before it, and only they are given again. A
    /// variable of a pattern stands in all of its expressions, those before it too.
    known: Option<usize>,
    /// Expressions may be hidden from the types of the text, or surrounded by what must not be
    /// computed.
    disguises: bool,
    /// Expressions have no subqueries.
    plain: bool,
    /// Expressions have no random values: no aggregate is taken over one.
    settled: bool,
    /// Columns get names that nothing has had.
    fresh: bool,
    /// The graph has nodes enough for plans that pay with many rows.
    large: bool,
    /// Labels and the properties that an index of the graph holds for them.
    indexes: Vec<(&'static str, Vec<&'static str>)>,
    /// A clause that goes before the one that was made.
    pending: Option<Clause>,
}

/// From so many nodes on joins pay.
const LARGE: usize = 24;

/// One statement of so many fills a cell of a table, each its turn.
const IN_TURN: u64 = 4;

/// A statement of any kind for this graph, the one of this `number`.
pub(crate) fn query(random: &mut Random, writing: bool, graph: &Graph, number: u64) -> Query {
    let mut generator = Generator::new(random, graph);
    generator.disguises = generator.random.chance(30);
    if number.is_multiple_of(IN_TURN) {
        return generator.in_turn(number / IN_TURN);
    }
    let shapes = if generator.large { 14 } else { 6 };
    match generator.random.below(20) {
        number if number < shapes => generator.shape(),
        14 => generator.placed(),
        number if number < 14 => generator.chain(),
        _ => generator.statement(writing),
    }
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, graph: &Graph) -> Generator<'a> {
        Generator {
            random,
            scope: Vec::new(),
            names: 0,
            nodes_left: 5,
            created: !graph.all_have_uid(),
            before: Vec::new(),
            reserved: Vec::new(),
            reuses: false,
            known: None,
            disguises: false,
            plain: false,
            settled: false,
            fresh: false,
            large: graph.node_places().count() >= LARGE,
            indexes: graph.indexed(),
            pending: None,
        }
    }
}

impl Generator<'_> {
    fn statement(&mut self, writing: bool) -> Query {
        let mut clauses = self.reading(3);
        if writing {
            let deletes = self.writing(&mut clauses);
            if deletes {
                if self.random.chance(50) {
                    clauses.push(Clause::Return(projection::count_rows(self.name())));
                }
            } else if matches!(clauses.last(), Some(Clause::With(_))) || self.random.chance(60) {
                clauses.push(Clause::Return(self.projection(true)));
            }
            return Query {
                branches: vec![clauses],
                all: true,
            };
        }
        let last = self.projection(true);
        let names: Vec<String> = last.items.iter().map(|i| i.name.clone()).collect();
        let single = last.items.len() == 1 && last.items.iter().all(|i| !i.bag);
        clauses.push(Clause::Return(last));
        let mut branches = vec![clauses];
        if single && self.random.chance(20) {
            // Further branches give one column of the same name; any values do.
            for _ in 0..=self.random.below(2) {
                self.scope.clear();
                self.nodes_left = 3;
                let mut clauses = self.reading(2);
                let mut last = self.projection(true);
                last.items.truncate(1);
                last.order.clear();
                last.total = false;
                last.skip = None;
                last.limit = None;
                if last.items.iter().any(|i| i.bag) {
                    continue;
                }
                last.items[0].name.clone_from(&names[0]);
                clauses.push(Clause::Return(last));
                branches.push(clauses);
            }
            if branches.len() > 1
                && let Some(Clause::Return(first)) = branches[0].last_mut()
            {
                first.order.clear();
                first.total = false;
                first.skip = None;
                first.limit = None;
            }
        }
        Query {
            branches,
            all: self.random.chance(50),
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// A name for a new variable: one that another variable had, as people do, or a new one.
    fn again(&mut self) -> String {
        let known = self.known.unwrap_or(self.names);
        if self.reuses && known > 0 && self.random.chance(20) {
            let name = format!("v{}", 1 + self.random.below(known));
            let taken = self
                .scope
                .iter()
                .chain(&self.before)
                .any(|v| v.name == name);
            if !taken && !self.reserved.contains(&name) {
                return name;
            }
        }
        self.name()
    }

    fn bind(&mut self, kind: Kind, nullable: bool) -> String {
        let name = self.again();
        self.scope.push(Variable {
            name: name.clone(),
            kind,
            nullable,
        });
        name
    }

    /// A variable of one of the kinds.
    fn variable(&mut self, wanted: impl Fn(&Variable) -> bool) -> Option<Variable> {
        let fits: Vec<_> = self.scope.iter().filter(|v| wanted(v)).cloned().collect();
        (!fits.is_empty()).then(|| self.random.pick(&fits).clone())
    }

    fn reading(&mut self, clauses_max: usize) -> Vec<Clause> {
        let mut clauses = Vec::new();
        for number in 0..=self.random.below(clauses_max) {
            let clause = match self.random.below(12) {
                0..=5 => self.matching(number > 0),
                6 | 7 if number > 0 => Clause::With(self.projection(false)),
                8 => self.unwind(),
                9 if number > 0 => self.call(),
                _ => self.matching(number > 0),
            };
            clauses.push(clause);
            // An optional match may be the first too.
        }
        clauses
    }

    fn matching(&mut self, may_be_optional: bool) -> Clause {
        let optional = self.random.chance(if may_be_optional { 35 } else { 8 });
        let before = self.scope.len();
        self.before.clone_from(&self.scope);
        let known = self.known.replace(self.names);
        let mut paths = Vec::new();
        let mut asked = None;
        if self.random.chance(8)
            && let Some(path) = self.shortest()
        {
            asked = self.asked_of(&path);
            paths.push(path);
        } else if !optional && self.random.chance(7) {
            paths.push(self.shortest_of_ends());
        } else {
            for _ in 0..=usize::from(self.random.chance(20)) {
                paths.push(self.path());
            }
        }
        let filter = self.random.chance(50).then(|| self.condition(3));
        let filter = match (asked, filter) {
            (Some(asked), Some(filter)) => Some(all_of(asked, filter)),
            (asked, filter) => asked.or(filter),
        };
        if optional {
            for variable in &mut self.scope[before..] {
                variable.nullable = true;
            }
        }
        self.known = known;
        Clause::Match {
            optional,
            paths,
            filter,
        }
    }

    fn unwind(&mut self) -> Clause {
        if let Some(bag) = self.variable(|v| matches!(v.kind, Kind::Bag | Kind::Ints))
            && self.random.chance(50)
        {
            let name = self.bind(Kind::Int, true);
            return Clause::Unwind(Expr::Var(bag.name), name);
        }
        if let Some(rels) = self.variable(|v| v.kind == Kind::Rels)
            && self.random.chance(50)
        {
            let name = self.bind(Kind::Rel, false);
            return Clause::Unwind(Expr::Var(rels.name), name);
        }
        if let Some(nodes) = self.variable(|v| v.kind == Kind::Nodes)
            && self.random.chance(50)
        {
            let name = self.bind(Kind::Node, false);
            return Clause::Unwind(Expr::Var(nodes.name), name);
        }
        if self.random.chance(20) {
            let kinds = [Kind::Mixed, Kind::Mixed, Kind::Bool, Kind::Int, Kind::Str];
            let items = (0..self.random.below(4)).map(|_| {
                let kind = *self.random.pick(&kinds);
                self.expression(kind, 3)
            });
            let list = Expr::List(items.collect());
            let name = self.bind(Kind::Mixed, true);
            return Clause::Unwind(list, name);
        }
        let list = self.expression(Kind::Ints, 3);
        let name = self.bind(Kind::Int, true);
        Clause::Unwind(list, name)
    }

    /// Adds writing clauses; whether one of them deletes, after which nothing can be read.
    fn writing(&mut self, clauses: &mut Vec<Clause>) -> bool {
        for _ in 0..=self.random.below(2) {
            match self.random.below(12) {
                10 | 11 if clauses.last().is_some_and(chain::writes) => {
                    clauses.push(self.create());
                }
                10 | 11 => clauses.push(self.writing_call()),
                0..=2 => clauses.push(self.create()),
                3..=5 => match self.changes() {
                    Some(changes) => clauses.push(Clause::Change(changes)),
                    None => clauses.push(self.create()),
                },
                6 | 7 => clauses.push(self.merge()),
                8 => {
                    let name = self.name();
                    let item = Expr::Var(name.clone());
                    let list = self.expression(Kind::Ints, 1);
                    let mut node = new_node(self.random);
                    node.properties = vec![("a", item)];
                    let path = single(node);
                    self.created = true;
                    clauses.push(Clause::Foreach(
                        name,
                        list,
                        vec![Clause::Create(vec![path])],
                    ));
                }
                _ => {
                    let Some(what) = self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel))
                    else {
                        clauses.push(self.create());
                        continue;
                    };
                    let mut vars = vec![what.name.clone()];
                    if let Some(more) =
                        self.variable(|v| v.kind == what.kind && v.name != what.name)
                        && self.random.chance(30)
                    {
                        vars.push(more.name);
                    }
                    clauses.push(Clause::Delete {
                        detach: what.kind == Kind::Node && self.random.chance(70),
                        vars,
                    });
                    return true;
                }
            }
            if self.random.chance(15) {
                clauses.push(Clause::With(self.projection(false)));
            }
        }
        false
    }

    fn create(&mut self) -> Clause {
        self.created = true;
        let mut start = new_node(self.random);
        let bound = self.variable(|v| v.kind == Kind::Node && !v.nullable);
        let mut path = match &bound {
            Some(node) if self.random.chance(60) => {
                start = bare(node.name.clone());
                single(start)
            }
            _ => {
                start.var = Some(self.bind(Kind::Node, false));
                single(start)
            }
        };
        let reuses = path.start.labels == Labels::Any && path.start.properties.is_empty();
        for _ in 0..self.random.below(3).max(usize::from(reuses)) {
            let end = match self.variable(|v| v.kind == Kind::Node && !v.nullable) {
                Some(node) if self.random.chance(50) => bare(node.name),
                _ => new_node(self.random),
            };
            path.steps.push((self.new_rel(false), end));
        }
        Clause::Create(vec![path])
    }

    fn new_rel(&mut self, undirected: bool) -> RelPattern {
        let directions = [Direction::Out, Direction::In, Direction::Both];
        let count = if undirected { 3 } else { 2 };
        let value = self.random.between(0, 2);
        RelPattern {
            var: None,
            types: vec![*self.random.pick(TYPES)],
            direction: *self.random.pick(&directions[..count]),
            length: Length::One,
            properties: match self.random.chance(40) {
                true => vec![("a", Expr::Literal(V::Int(value)))],
                false => Vec::new(),
            },
        }
    }

    fn merge(&mut self) -> Clause {
        self.created = true;
        let bound = self.variable(|v| v.kind == Kind::Node && !v.nullable);
        let other = self.variable(|v| v.kind == Kind::Node && !v.nullable);
        let (path, var) = match (bound, other) {
            (Some(left), Some(right)) if self.random.chance(60) => {
                // Undirected, the first of two rows with the same nodes would decide the direction.
                let mut rel = self.new_rel(false);
                let var = self.bind(Kind::Rel, false);
                rel.var = Some(var.clone());
                let mut path = single(bare(left.name));
                path.steps.push((rel, bare(right.name)));
                (path, var)
            }
            (Some(left), _) if self.random.chance(50) => {
                // The node behind the relationship is found or made with it.
                let mut node = new_node(self.random);
                let value = self.random.between(0, 3);
                node.properties = vec![("a", Expr::Literal(V::Int(value)))];
                let var = self.bind(Kind::Node, false);
                node.var = Some(var.clone());
                let mut path = single(bare(left.name));
                path.steps.push((self.new_rel(true), node));
                (path, var)
            }
            _ => {
                let mut node = new_node(self.random);
                let value = self.random.between(0, 4);
                node.properties = vec![("a", Expr::Literal(V::Int(value)))];
                let var = self.bind(Kind::Node, false);
                node.var = Some(var.clone());
                (single(node), var)
            }
        };
        let set = |random: &mut Random, key: &'static str, value: i64| match random.chance(40) {
            true => vec![Change::Set(var.clone(), key, V::Int(value))],
            false => Vec::new(),
        };
        Clause::Merge {
            on_create: set(self.random, "m", 7),
            on_match: set(self.random, "m", 8),
            path,
        }
    }

    /// Changes that come to the same in whatever order rows come.
    fn changes(&mut self) -> Option<Vec<Change>> {
        let of = |v: &Variable| matches!(v.kind, Kind::Node | Kind::Rel);
        let removes = self.random.chance(30);
        let mut keys: Vec<&'static str> = KEYS.to_vec();
        let mut labels = LABELS.to_vec();
        let mut changes = Vec::new();
        for _ in 0..=self.random.below(2) {
            let what = self.variable(of)?;
            let key = keys.remove(self.random.below(keys.len()));
            if what.kind == Kind::Node && self.random.chance(30) {
                let label = labels.remove(self.random.below(labels.len()));
                changes.push(match removes {
                    true => Change::RemoveLabel(what.name, label),
                    false => Change::Label(what.name, label),
                });
                continue;
            }
            if !removes && changes.is_empty() && self.random.chance(8) {
                self.created = true;
                let each = KEYS.iter().filter(|_| self.random.chance(40));
                let keys: Vec<&'static str> = each.copied().collect();
                let values = keys.into_iter();
                let values = values.filter_map(|k| Some((k, property(self.random, k)?)));
                let values = values.collect();
                return Some(vec![Change::Replace(what.name, values)]);
            }
            let value = property(self.random, key).unwrap_or(V::Null);
            changes.push(match (removes, self.random.below(4)) {
                (true, _) => Change::RemoveProperty(what.name, key),
                (false, 0) => Change::Add(what.name, key, value),
                (false, 1) if key == "a" => Change::Increase(what.name, key, 1),
                _ => Change::Set(what.name, key, value),
            });
        }
        Some(changes)
    }
}

/// Both conditions.
fn all_of(left: Expr, right: Expr) -> Expr {
    Expr::Binary(Op::And, Box::new(left), Box::new(right))
}

fn bare(name: String) -> NodePattern {
    NodePattern {
        var: Some(name),
        labels: Labels::Any,
        properties: Vec::new(),
    }
}

fn single(start: NodePattern) -> Path {
    Path {
        var: None,
        shape: Shape::Plain,
        start,
        steps: Vec::new(),
    }
}

/// A node to be made, with a label and perhaps a property.
fn new_node(random: &mut Random) -> NodePattern {
    let key = *random.pick(&["a", "f", "s"]);
    let value = property(random, key);
    NodePattern {
        var: None,
        labels: Labels::All(vec![*random.pick(LABELS)]),
        properties: value.map(|v| (key, Expr::Literal(v))).into_iter().collect(),
    }
}

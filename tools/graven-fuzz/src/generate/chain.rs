//! Statements in which any clause may follow any other.
//!
//! # How it works
//! The kind of each clause is drawn without regard to the one before it; where the language wants a
//! `WITH` between writing and reading, one goes in. What a statement has deleted is out of scope
//! from there on. An expression that reads what the same clause writes stands only behind an order
//! that decides everything.

use super::{Generator, Kind, Variable, bare, new_node, projection, single};
use crate::query::{Change, Clause, Expr, Item, Path, Projection, Query};
use crate::value::V;

/// Kinds that outlive the deletion of nodes and relationships.
fn outlives(v: &Variable) -> bool {
    !matches!(
        v.kind,
        Kind::Node | Kind::Rel | Kind::Rels | Kind::Nodes | Kind::Path | Kind::ShortPath
    )
}

/// Whether a part that gives no rows may end with it.
pub(super) fn ends(clause: &Clause) -> bool {
    match clause {
        Clause::Call(call) => call.query.last().is_none(),
        other => writes(other),
    }
}

/// Whether reading needs a `WITH` behind it.
pub(super) fn writes(clause: &Clause) -> bool {
    matches!(
        clause,
        Clause::Create(_)
            | Clause::Change(_)
            | Clause::Delete { .. }
            | Clause::Merge { .. }
            | Clause::Foreach(..)
    )
}

impl Generator<'_> {
    pub(super) fn chain(&mut self) -> Query {
        self.reuses = self.random.chance(60);
        let writing = self.random.chance(50);
        let mut branches = vec![self.chained(writing)];
        if writing {
            if self.random.chance(12) {
                // Two parts that only write.
                branches[0].retain(|c| !matches!(c, Clause::Return(_)));
                self.scope.clear();
                self.before.clear();
                self.reserved.clear();
                self.nodes_left = 2;
                let mut second = self.chained(true);
                second.retain(|c| !matches!(c, Clause::Return(_)));
                branches.push(second);
                for branch in &mut branches {
                    if !branch.last().is_some_and(ends) {
                        branch.push(Clause::Create(vec![single(new_node(self.random))]));
                    }
                }
            }
        } else if self.random.chance(15) {
            for branch in &mut branches {
                self.one_column(branch);
            }
            self.scope.clear();
            self.before.clear();
            self.reserved.clear();
            self.nodes_left = 3;
            let mut second = self.chained(false);
            self.one_column(&mut second);
            branches.push(second);
        }
        let all = branches.len() == 1 || self.random.chance(50);
        Query { branches, all }
    }

    /// Ends a branch with one column of a certain name and without an order.
    fn one_column(&mut self, branch: &mut [Clause]) {
        let count = projection::count_rows("u".to_owned());
        if let Some(Clause::Return(last)) = branch.last_mut() {
            let (order, grouped) = (&last.order, last.items.iter().any(|i| i.expr.aggregates()));
            let plain = order.is_empty() && last.limit.is_none() && !grouped;
            let item = last.items.first().filter(|i| !i.bag && plain).cloned();
            *last = match item {
                Some(item) => projection::of_one(item.expr, "u".to_owned()),
                None => count,
            };
        }
    }

    fn chained(&mut self, writing: bool) -> Vec<Clause> {
        let mut clauses: Vec<Clause> = Vec::new();
        let count = match self.random.chance(8) {
            true => 0,
            false => 1 + self.random.below(5),
        };
        for number in 0..count {
            let first = number == 0 && self.random.chance(50);
            let follows = clauses.last().is_some_and(writes);
            let empty = self.scope.is_empty();
            let carried = follows.then(|| self.everything());
            let clause = self.any_clause(writing && !first);
            let reads = matches!(
                clause,
                Some(Clause::Match { .. } | Clause::Unwind(..) | Clause::Call(_))
            );
            if reads || empty {
                // Nothing is dropped: the clause may use everything that was there before it.
                clauses.extend(carried.map(Clause::With));
            }
            clauses.extend(self.pending.take());
            clauses.extend(clause);
            if let Some(Clause::Delete { detach, .. }) = clauses.last() {
                self.deleted(*detach);
                if self.random.chance(40) {
                    let count = projection::count_rows(self.name());
                    self.scope = vec![Variable {
                        name: count.items[0].name.clone(),
                        kind: Kind::Int,
                        nullable: false,
                    }];
                    clauses.push(Clause::With(count));
                }
            }
            if clauses
                .iter()
                .filter(|c| matches!(c, Clause::Match { .. }))
                .count()
                > 3
            {
                break;
            }
        }
        let bare_end = writing && clauses.last().is_some_and(writes) && self.random.chance(40);
        if !bare_end {
            clauses.push(Clause::Return(self.last_columns()));
        }
        clauses
    }

    /// What may have been deleted is out of scope: nodes are deleted with their relationships,
    /// which are deleted alone.
    pub(super) fn deleted(&mut self, detach: bool) {
        let stays =
            |v: &Variable| outlives(v) || !detach && matches!(v.kind, Kind::Node | Kind::Nodes);
        let gone = self.scope.iter().filter(|v| !stays(v));
        self.reserved.extend(gone.map(|v| v.name.clone()));
        self.scope.retain(stays);
    }

    /// What a statement ends with: a count of its rows often, which planners count in other ways.
    pub(super) fn last_columns(&mut self) -> Projection {
        if self.random.chance(25) {
            let mut count = projection::count_rows(self.name());
            if self.random.chance(40)
                && let Some(v) = self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel))
            {
                let unique = self.random.chance(50);
                let of = Some(Box::new(Expr::Var(v.name)));
                count.items[0].expr = Expr::Aggregate(crate::query::Aggregate::Count, unique, of);
            }
            return count;
        }
        self.projection(true)
    }

    fn any_clause(&mut self, writing: bool) -> Option<Clause> {
        let kinds = if writing { 20 } else { 7 };
        Some(match self.random.below(kinds) {
            0 => self.matching_on(false),
            1 | 2 => self.matching_on(true),
            3 => self.unwind(),
            4 => Clause::With(self.projection(false)),
            5 => self.call(),
            6 => self.matching_on(false),
            7 => self.create(),
            8 => self.create_with(),
            9 => Clause::Change(self.changes()?),
            10 | 16 | 17 => self.computed()?,
            11 if self.random.chance(50) => self.merge_with(),
            11 => self.merge(),
            12 => self.foreach(),
            13 => self.writing_call(),
            14 => {
                let changes = self.removals()?;
                Clause::Change(changes)
            }
            _ => self.deletion()?,
        })
    }

    /// A `MATCH` that hangs on what is there, more often than not on what may be null.
    pub(super) fn matching_on(&mut self, optional: bool) -> Clause {
        let mut clause = self.matching(true);
        let anchor = self.before.iter().filter(|v| v.kind == Kind::Node);
        let anchor = anchor.max_by_key(|v| v.nullable).map(|v| v.name.clone());
        if let Clause::Match {
            optional: is,
            paths,
            ..
        } = &mut clause
        {
            if optional && !*is {
                let shortest = |p: &Path| !matches!(p.shape, crate::query::Shape::Plain);
                if !paths.iter().any(shortest) {
                    *is = true;
                    let new: Vec<String> = self.before.iter().map(|v| v.name.clone()).collect();
                    for v in self.scope.iter_mut().filter(|v| !new.contains(&v.name)) {
                        v.nullable = true;
                    }
                }
            }
            if let (Some(name), Some(path)) = (anchor, paths.first_mut())
                && path.shape == crate::query::Shape::Plain
                && path.start.var.is_none()
                && self.random.chance(80)
            {
                path.start = bare(name);
            }
        }
        clause
    }

    /// All variables as they are.
    pub(super) fn everything(&mut self) -> Projection {
        let mut seen: Vec<String> = Vec::new();
        let mut items = Vec::new();
        for v in &self.scope {
            if !seen.contains(&v.name) {
                seen.push(v.name.clone());
                items.push(Item {
                    expr: Expr::Var(v.name.clone()),
                    name: v.name.clone(),
                    bag: v.kind == Kind::Bag,
                });
            }
        }
        if items.is_empty() {
            let name = self.name();
            items.push(Item {
                expr: Expr::Literal(V::Int(1)),
                name: name.clone(),
                bag: false,
            });
            self.scope.push(Variable {
                name,
                kind: Kind::Int,
                nullable: false,
            });
        }
        Projection {
            items,
            ..projection::count_rows(String::new())
        }
    }

    /// A change by an expression that may read what the rows before it wrote; the rows come in a
    /// certain order. None where that cannot be.
    fn computed(&mut self) -> Option<Clause> {
        let of = |v: &Variable| matches!(v.kind, Kind::Node | Kind::Rel);
        self.variable(of)?;
        let by: Vec<Option<Expr>> = self.scope.iter().map(projection::by).collect();
        let certain = !self.created && by.iter().all(Option::is_some);
        if !certain {
            return None;
        }
        let mut with = self.everything();
        with.order = by.into_iter().flatten().map(|e| (e, false)).collect();
        with.total = true;
        with.limit = self.random.chance(50).then(|| 1 + self.random.below(3));
        self.pending = Some(Clause::With(with));
        let mut changes = Vec::new();
        for _ in 0..=self.random.below(3) {
            let name = self.variable(of)?.name;
            let (kind, key) = self.stored();
            let value = self.expression(kind, 3);
            changes.push(Change::Compute(name, key, Box::new(value)));
        }
        Some(Clause::Change(changes))
    }

    /// A kind of value that is stored, and a key of that kind.
    pub(super) fn stored(&mut self) -> (Kind, &'static str) {
        *self.random.pick(&[
            (Kind::Int, "a"),
            (Kind::Int, "a"),
            (Kind::Str, "s"),
            (Kind::Bool, "m"),
            (Kind::Bool, "m"),
            (Kind::Ints, "l"),
            (Kind::Float, "f"),
            (Kind::Date, "d"),
            (Kind::Local, "w"),
            (Kind::Span, "p"),
        ])
    }

    /// One row in front of a clause, so that what it reads is certain; whether that can be.
    fn one_row(&mut self) -> bool {
        let by: Vec<Option<Expr>> = self.scope.iter().map(projection::by).collect();
        if self.created || !by.iter().all(Option::is_some) {
            return false;
        }
        let mut with = self.everything();
        with.order = by.into_iter().flatten().map(|e| (e, false)).collect();
        with.total = true;
        with.limit = Some(1);
        self.pending = Some(Clause::With(with));
        true
    }

    /// An expression; without subqueries where the rows before it might matter.
    fn certain(&mut self, kind: Kind, one_row: bool) -> Expr {
        let plain = std::mem::replace(&mut self.plain, !one_row);
        let expr = self.expression(kind, 3);
        self.plain = plain;
        expr
    }

    /// A new node with a property that is computed.
    fn create_with(&mut self) -> Clause {
        let one_row = self.one_row();
        let (kind, key) = self.stored();
        let value = self.certain(kind, one_row);
        let mut node = new_node(self.random);
        node.properties = vec![(key, value)];
        node.var = Some(self.bind(Kind::Node, false));
        self.created = true;
        Clause::Create(vec![single(node)])
    }

    /// A node found or made by a property that is computed, and never null.
    fn merge_with(&mut self) -> Clause {
        let (kind, key) = self.stored();
        let value = self.certain(kind, false);
        let mut node = new_node(self.random);
        let sure = self.sure_of(key);
        node.properties = vec![(key, Expr::Call("coalesce", vec![value, sure]))];
        node.var = Some(self.bind(Kind::Node, false));
        self.created = true;
        Clause::Merge {
            path: single(node),
            on_create: Vec::new(),
            on_match: Vec::new(),
        }
    }

    /// One row, and an expression of any kind in a place where the order of more rows would matter.
    pub(super) fn placed(&mut self) -> Query {
        let mut first = bare(self.bind(Kind::Node, false));
        let uid = self.random.between(0, 5);
        first.properties = vec![("uid", Expr::Literal(V::Int(uid)))];
        let (kind, key) = self.stored();
        let value = self.expression(kind, 4);
        let mut node = new_node(self.random);
        let node_of = |node: &crate::query::NodePattern, properties| crate::query::NodePattern {
            properties,
            ..node.clone()
        };
        let place = match self.random.below(4) {
            0 => Clause::Create(vec![single(node_of(&node, vec![(key, value)]))]),
            1 => {
                let of = self.scope[0].name.clone();
                Clause::Change(vec![Change::Compute(of, key, Box::new(value))])
            }
            2 => {
                let name = self.name();
                let items = match kind == Kind::Ints {
                    true => value,
                    false => Expr::List(vec![value]),
                };
                let item = Expr::Var(name.clone());
                let made = Clause::Create(vec![single(node_of(&node, vec![("m", item)]))]);
                Clause::Foreach(name, items, vec![made])
            }
            _ => {
                let value = self.certain(kind, false);
                let sure = self.sure_of(key);
                node.properties = vec![(key, Expr::Call("coalesce", vec![value, sure]))];
                Clause::Merge {
                    path: single(node),
                    on_create: Vec::new(),
                    on_match: Vec::new(),
                }
            }
        };
        let found = Clause::Match {
            optional: false,
            paths: vec![single(first)],
            filter: None,
        };
        let last = Clause::Return(projection::count_rows(self.name()));
        Query {
            branches: vec![vec![found, place, last]],
            all: true,
        }
    }

    /// A literal as this property has them.
    pub(super) fn sure_of(&mut self, key: &'static str) -> Expr {
        loop {
            if let Some(value) = crate::graph::property(self.random, key) {
                return Expr::Literal(value);
            }
        }
    }

    pub(super) fn removals(&mut self) -> Option<Vec<Change>> {
        let v = self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel))?;
        let key = *self.random.pick(crate::graph::KEYS);
        let mut changes = vec![Change::RemoveProperty(v.name.clone(), key)];
        if v.kind == Kind::Node && self.random.chance(50) {
            let label = *self.random.pick(crate::graph::LABELS);
            changes.push(Change::RemoveLabel(v.name, label));
        }
        Some(changes)
    }

    pub(super) fn deletion(&mut self) -> Option<Clause> {
        let rel = self.variable(|v| v.kind == Kind::Rel);
        let what = match rel.filter(|_| self.random.chance(60)) {
            Some(rel) => rel,
            None => self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel))?,
        };
        Some(Clause::Delete {
            detach: what.kind == Kind::Node,
            vars: vec![what.name],
        })
    }

    /// What is done with each item: created, merged, or a change of a node of the row.
    pub(super) fn foreach(&mut self) -> Clause {
        let one_row = self.random.chance(50) && self.one_row();
        let plain = std::mem::replace(&mut self.plain, !one_row);
        let (key, list) = match self.random.chance(60) {
            true => ("a", self.expression(Kind::Ints, 3)),
            false => {
                let items = (0..=self.random.below(2)).map(|_| self.value_of_any_kind(3));
                ("m", Expr::List(items.collect()))
            }
        };
        self.plain = plain;
        let name = self.name();
        let item = Expr::Var(name.clone());
        let mut inner = Vec::new();
        // What is merged must not be made by another row otherwise: the order of the rows would
        // decide.
        let merges = self.random.chance(40);
        for _ in 0..=self.random.below(2) {
            let mut node = new_node(self.random);
            node.properties = vec![(key, item.clone())];
            let node_only = self.variable(|v| v.kind == Kind::Node);
            inner.push(match node_only {
                // The lists of other rows might read the label.
                Some(v) if !merges && one_row && self.random.chance(60) => {
                    let label = *self.random.pick(crate::graph::LABELS);
                    Clause::Change(vec![Change::Label(v.name, label)])
                }
                _ if merges => {
                    // A value that is never null, which MERGE would refuse.
                    let sure = Expr::Call("coalesce", vec![item.clone(), Expr::Literal(V::Int(0))]);
                    node.properties = vec![(key, sure)];
                    Clause::Merge {
                        path: single(node),
                        on_create: Vec::new(),
                        on_match: Vec::new(),
                    }
                }
                _ => Clause::Create(vec![single(node)]),
            });
        }
        self.created = true;
        Clause::Foreach(name, list, inner)
    }
}

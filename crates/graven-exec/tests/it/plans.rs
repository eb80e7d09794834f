//! Hand-built plans: shorthand for operators and expressions, and running them.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven_cypher::Span;
use graven_cypher::plan::{
    BinaryOp, Direction, Expr, Literal, Operator, Plan, PlanMode, PlanNode, RelPattern,
    VarExpandMode, VarId, VarKind, Variable,
};
use graven_exec::{ExecContext, ExecError, Params, Tuning, Value, execute};
use graven_io::{File, MemoryFile};
use graven_pagecache::{Budget, Config, PageCache, SpillFile};
use graven_storage::Snapshot;

/// A plan node; ids are set by [`plan`].
pub(crate) fn node(op: Operator) -> Box<PlanNode> {
    Box::new(PlanNode {
        id: 0,
        op,
        estimated_rows: 1.0,
    })
}

pub(crate) fn unit() -> Box<PlanNode> {
    node(Operator::Unit)
}

pub(crate) fn var(id: u32) -> Expr {
    Expr::Variable(VarId(id))
}

pub(crate) fn int(value: i64) -> Expr {
    Expr::Literal(Literal::Integer(value))
}

pub(crate) fn float(value: f64) -> Expr {
    Expr::Literal(Literal::Float(value))
}

pub(crate) fn text(value: &str) -> Expr {
    Expr::Literal(Literal::String(value.into()))
}

pub(crate) fn null() -> Expr {
    Expr::Literal(Literal::Null)
}

pub(crate) fn boolean(value: bool) -> Expr {
    Expr::Literal(Literal::Boolean(value))
}

pub(crate) fn list(items: Vec<Expr>) -> Expr {
    Expr::List(items)
}

pub(crate) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
        at: Span::default(),
    }
}

pub(crate) fn property(base: Expr, key: &str) -> Expr {
    Expr::Property {
        base: Box::new(base),
        key: key.into(),
        at: Span::default(),
    }
}

pub(crate) fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call {
        name: name.into(),
        args,
        at: Span::default(),
    }
}

/// A pattern over these types without conditions.
pub(crate) fn pattern(types: &[&str], direction: Direction) -> RelPattern {
    RelPattern {
        types: types.iter().map(|t| Arc::from(*t)).collect(),
        direction,
        filter: None,
        each: None,
        distinct_from: Vec::new(),
        distinct_ends: Vec::new(),
        disjoint_from: Vec::new(),
        ends: graven_cypher::plan::ExpandFilter::default(),
    }
}

/// Bounds and mode of a variable-length expansion.
#[derive(Clone, Debug)]
pub(crate) struct Length {
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    pub(crate) mode: VarExpandMode,
}

pub(crate) fn var_expand(
    input: Box<PlanNode>,
    from: u32,
    rels: Option<u32>,
    to: (u32, bool),
    pattern: RelPattern,
    length: Length,
) -> Box<PlanNode> {
    node(Operator::VarExpand {
        input,
        from: VarId(from),
        rels: rels.map(VarId),
        to: VarId(to.0),
        into: to.1,
        pattern,
        min: length.min,
        max: length.max,
        mode: length.mode,
    })
}

/// A plan returning these variables.
pub(crate) fn plan(root: Box<PlanNode>, returns: &[u32], mode: PlanMode) -> Arc<Plan> {
    let mut root = *root;
    let mut next = 0;
    number(&mut root, &mut next);
    let variables = (0..64)
        .map(|i| Variable {
            name: format!("v{i}").into(),
            kind: VarKind::Value,
        })
        .collect();
    Arc::new(Plan {
        root,
        variables,
        columns: returns
            .iter()
            .map(|v| (format!("v{v}").into(), VarId(*v)))
            .collect(),
        declared: Vec::new(),
        mode,
        notices: Vec::new(),
        planned_for: BTreeMap::new(),
        expected: Vec::new(),
        estimates: Vec::new(),
    })
}

fn number(node: &mut PlanNode, next: &mut u32) {
    node.id = *next;
    *next += 1;
    for child in node.op.children_mut() {
        number(child, next);
    }
}

/// All result rows.
pub(crate) fn run(
    snapshot: &Snapshot,
    root: Box<PlanNode>,
    returns: &[u32],
) -> Result<Vec<Vec<Value>>, ExecError> {
    run_within(snapshot, root, returns, 64 << 20)
}

/// As [`run`] with these thresholds.
pub(crate) fn run_tuned(
    snapshot: &Snapshot,
    root: Box<PlanNode>,
    returns: &[u32],
    tuning: Tuning,
) -> Result<Vec<Vec<Value>>, ExecError> {
    let mut context = ExecContext::new(Budget::new(64 << 20));
    context.tuning = tuning;
    run_with(snapshot, root, returns, context)
}

/// As [`run`] with an operator budget of so many bytes.
pub(crate) fn run_within(
    snapshot: &Snapshot,
    root: Box<PlanNode>,
    returns: &[u32],
    budget: u64,
) -> Result<Vec<Vec<Value>>, ExecError> {
    run_with(
        snapshot,
        root,
        returns,
        ExecContext::new(Budget::new(budget)),
    )
}

/// A cache with a temporary file, within a budget.
pub(crate) struct Spilling {
    budget: Arc<Budget>,
    cache: Arc<PageCache>,
    spill: Arc<SpillFile>,
}

impl Spilling {
    /// Within so many bytes.
    pub(crate) fn within(budget: u64) -> Self {
        let budget = Budget::new(budget);
        let cache = PageCache::new(Config::new(Arc::clone(&budget))).unwrap();
        let open = || Ok(Arc::new(MemoryFile::new("spill")) as Arc<dyn File>);
        let spill = SpillFile::new(&cache, "test-tmp", u64::MAX, Box::new(open)).unwrap();
        Self {
            budget,
            cache,
            spill: Arc::new(spill),
        }
    }

    /// For a statement whose operators spill from so many bytes on.
    pub(crate) fn context(&self, spill_at: Option<u64>) -> ExecContext {
        let mut context = ExecContext::new(Arc::clone(&self.budget));
        context.spill = Some(Arc::clone(&self.spill));
        context.tuning.spill_at = spill_at;
        context
    }

    /// The most that was ever taken.
    pub(crate) fn peak(&self) -> u64 {
        self.budget.peak()
    }

    /// After the statement: it has left nothing.
    pub(crate) fn check(&self) {
        assert_eq!(self.spill.used_bytes(), 0, "temporary pages are given back");
        assert!(self.budget.used() <= self.budget.limit());
        self.cache.check().unwrap();
    }
}

/// As [`run`] with a cache of so many bytes to spill to, from `spill_at` bytes of an operator on.
pub(crate) fn run_spilling(
    snapshot: &Snapshot,
    root: Box<PlanNode>,
    returns: &[u32],
    budget: u64,
    spill_at: Option<u64>,
) -> Result<Vec<Vec<Value>>, ExecError> {
    let spilling = Spilling::within(budget);
    let context = spilling.context(spill_at);
    let plan = plan(root, returns, PlanMode::Execute);
    let mut execution = execute(plan, snapshot.clone(), Arc::new(Params::new()), context)?;
    let mut rows = Vec::new();
    while let Some(batch) = execution.next_batch()? {
        assert!(!batch.is_empty(), "EX-7: no empty batches");
        rows.extend((0..batch.len()).map(|row| batch.row(row)));
    }
    drop(execution);
    spilling.check();
    Ok(rows)
}

fn run_with(
    snapshot: &Snapshot,
    root: Box<PlanNode>,
    returns: &[u32],
    context: ExecContext,
) -> Result<Vec<Vec<Value>>, ExecError> {
    let budget = Arc::clone(&context.budget);
    let plan = plan(root, returns, PlanMode::Execute);
    let mut execution = execute(plan, snapshot.clone(), Arc::new(Params::new()), context)?;
    let mut rows = Vec::new();
    while let Some(batch) = execution.next_batch()? {
        assert!(!batch.is_empty(), "EX-7: no empty batches");
        rows.extend((0..batch.len()).map(|row| batch.row(row)));
    }
    drop(execution);
    assert_eq!(budget.used(), 0, "EX-9: everything is given back");
    Ok(rows)
}

//! What a plan will cost besides rows: the pages that each operator touches and the memory that it
//! keeps.
//!
//! # How it works
//! From the estimated rows and the sizes of what is stored. `n` lists or values that lie anywhere
//! in `P` pages touch `P (1 - e^(-n/P))` of them (Cardenas); an operator that runs for each row of
//! another does so as often as that has rows. Memory is what the operator would keep if it never
//! spilled: the rows of a sort, the groups of an aggregation, the marks of a search; a variable
//! takes eight bytes, one whose values may be texts or lists a mean of its own.
//!
//! # Costs
//! Made for `EXPLAIN` alone: other statements do not pay for it.
//!
//! # Source
//! Cardenas, "Analysis and performance of inverted data base structures", 1975.

use crate::plan::{IndexPart, ResourceEstimate};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cost::{Cost, Hop, MOST};
use crate::plan::expression::{AggregateFunction, Expr};
use crate::plan::{
    CountTree, Direction, Operator, Plan, PlanNode, RelPattern, VarExpandMode, VarId, VarKind,
};
use crate::schema_view::{SchemaView, Stored, StoredSize};

/// Bytes of an id or a number in a row, and of any other value with what it points to.
const NUMBER_BYTES: f64 = 8.0;
const VALUE_BYTES: f64 = 40.0;
/// Bytes of an entry of a hash table beyond its key.
const ENTRY_BYTES: f64 = 32.0;
/// List entries that an expansion lays out at once, at most about so many.
const CHUNK_ENTRIES: f64 = 16384.0;
/// Rows that a sort with a limit keeps at least.
const TOP_ROWS: f64 = 256.0;

/// The forecast of every operator, by its id (CY-2).
pub(crate) fn estimate(plan: &Plan, schema: &dyn SchemaView) -> Vec<ResourceEstimate> {
    let mut operators = 0;
    plan.root.visit(&mut |_| operators += 1);
    let mut made = Making {
        plan,
        cost: Cost { schema },
        labels: BTreeMap::new(),
        types: BTreeMap::new(),
        out: vec![ResourceEstimate::default(); operators],
    };
    plan.root.visit(&mut |node| made.note(node));
    made.node(&plan.root, 1.0);
    made.out
}

struct Making<'a> {
    plan: &'a Plan,
    cost: Cost<'a>,
    /// Labels that scans found nodes by.
    labels: BTreeMap<VarId, &'a str>,
    /// Types of named relationships.
    types: BTreeMap<VarId, &'a RelPattern>,
    out: Vec<ResourceEstimate>,
}

/// Pages touched by `visits` of things that lie anywhere in it.
fn touched(size: Option<StoredSize>, visits: f64) -> f64 {
    let Some(size) = size else { return 0.0 };
    let pages = size.pages as f64;
    if pages < 1.0 {
        return 0.0;
    }
    pages * (1.0 - (-visits.min(size.entries as f64) / pages).exp())
}

impl<'a> Making<'a> {
    /// Remembers what is known of the variables that an operator binds.
    fn note(&mut self, node: &'a PlanNode) {
        match &node.op {
            Operator::LabelScan { var, label, .. }
            | Operator::IndexSeek { var, label, .. }
            | Operator::IndexRange { var, label, .. }
            | Operator::IndexScan { var, label, .. } => {
                self.labels.insert(*var, label);
            }
            Operator::Expand { rel, pattern, .. } | Operator::ExpandInto { rel, pattern, .. } => {
                for var in rel.iter().chain(&pattern.each) {
                    self.types.insert(*var, pattern);
                }
            }
            Operator::VarExpand { pattern, .. } | Operator::ReachableCount { pattern, .. } => {
                if let Some(each) = pattern.each {
                    self.types.insert(each, pattern);
                }
            }
            _ => {}
        }
    }

    /// Forecasts `node` and all below it, which runs so often.
    fn node(&mut self, node: &'a PlanNode, times: f64) {
        let children = node.op.children();
        // A dozen operators inside each other, each with the most rows there are, would be beyond
        // any number.
        let so_often = |rows: f64| (rows * times).min(MOST);
        let inputs = so_often(children.first().map_or(1.0, |c| c.estimated_rows));
        let rows = so_often(node.estimated_rows);
        let mut forecast = ResourceEstimate {
            pages: self.pages(&node.op, inputs, rows),
            memory: self.memory(node, inputs / times.max(1.0)),
        };
        node.op.for_each_expr(&mut |expr| {
            // A condition inside an expansion is decided for every entry.
            let reads = if node.op.rel_pattern().is_some() {
                rows.max(inputs)
            } else {
                inputs
            };
            forecast.pages += self.properties(expr, reads);
        });
        if let Some(out) = self.out.get_mut(node.id as usize) {
            *out = forecast;
        }
        let nested = matches!(
            node.op,
            Operator::Apply { .. }
                | Operator::Optional { .. }
                | Operator::SemiApply { .. }
                | Operator::Foreach { .. }
                | Operator::Repeat { .. }
                | Operator::Merge { .. }
        );
        for (number, child) in children.into_iter().enumerate() {
            let runs = if nested && number > 0 { inputs } else { times };
            self.node(child, runs);
        }
    }

    fn stored(&self, what: Stored<'_>) -> Option<StoredSize> {
        self.cost.schema.stored(what)
    }

    /// Pages of the lists of `visits` nodes.
    fn lists(&self, pattern: &RelPattern, visits: f64) -> f64 {
        let directions: &[bool] = match pattern.direction {
            Direction::Out => &[true],
            Direction::In => &[false],
            Direction::Both => &[true, false],
        };
        let mut types: Vec<_> = pattern.types.iter().map(|t| Some(&**t)).collect();
        if types.is_empty() {
            types.push(None);
        }
        let mut pages = 0.0;
        for rel_type in types {
            for forward in directions {
                let forward = *forward;
                pages += touched(self.stored(Stored::Lists { rel_type, forward }), visits);
            }
        }
        pages
    }

    fn hop<'h>(&self, pattern: &'h RelPattern) -> Hop<'h> {
        Hop {
            types: &pattern.types,
            direction: pattern.direction,
            near: None,
            far: None,
        }
    }

    fn hanging(&self, hanging: &CountTree, visits: f64) -> f64 {
        let mut pages = self.lists(&hanging.pattern, visits);
        let ends = visits * self.cost.fanout(self.hop(&hanging.pattern));
        for join in &hanging.pattern.ends.joins {
            pages += self.lists(&join.pattern, visits);
        }
        for branch in &hanging.branches {
            pages += self.hanging(branch, ends);
        }
        for extreme in &hanging.extremes {
            pages += self.relationship_property(&hanging.pattern.types, &extreme.key, ends);
        }
        pages
    }

    /// Pages beyond those of properties.
    fn pages(&self, op: &Operator, inputs: f64, rows: f64) -> f64 {
        match op {
            Operator::LabelScan { label, .. } => {
                let nodes = self.cost.nodes(Some(label));
                touched(self.stored(Stored::Labels), nodes / LABELS_A_PAGE)
            }
            Operator::IndexSeek { label, key, .. } | Operator::IndexRange { label, key, .. } => {
                let keys = std::slice::from_ref(key);
                self.index(label, keys, inputs, rows)
            }
            Operator::IndexScan {
                label,
                keys,
                equal,
                part: IndexPart::Contains(_) | IndexPart::EndsWith(_),
                ..
            } if equal.is_empty() => {
                let size = self.stored(Stored::Index { label, keys });
                size.map_or(0.0, |size| size.pages as f64 * inputs)
            }
            Operator::IndexScan { label, keys, .. } => self.index(label, keys, inputs, rows),
            Operator::Expand { pattern, .. } => {
                let joins = pattern.ends.joins.iter();
                let joins = joins.map(|join| self.lists(&join.pattern, inputs));
                self.lists(pattern, inputs) + joins.sum::<f64>()
            }
            Operator::ExpandInto { pattern, .. } => self.lists(pattern, inputs),
            Operator::VarExpand {
                pattern, min, max, ..
            }
            | Operator::ReachableCount {
                pattern, min, max, ..
            } => {
                // The last step visits the nodes of the step before.
                let inner = max.map(|max| max.saturating_sub(1).max(1));
                let visits = self.cost.trails(self.hop(pattern), (*min).min(1), inner);
                self.lists(pattern, inputs * visits.max(1.0))
            }
            Operator::CountMatches { patterns, .. } => {
                let pages = patterns.iter();
                pages
                    .map(|(_, hanging)| self.hanging(hanging, inputs))
                    .sum()
            }
            _ => 0.0,
        }
    }

    /// A way down for each input, and the leaves of what is found.
    fn index(&self, label: &str, keys: &[Arc<str>], inputs: f64, rows: f64) -> f64 {
        let size = self.stored(Stored::Index { label, keys });
        let Some(size) = size else { return 0.0 };
        let per_page = (size.entries as f64 / (size.pages as f64).max(1.0)).max(1.0);
        touched(Some(size), 2.0 * inputs + rows / per_page)
    }

    /// Pages of the properties that an expression reads for so many rows.
    fn properties(&self, expr: &Expr, rows: f64) -> f64 {
        let mut pages = 0.0;
        if let Expr::Property { base, key, .. } = expr
            && let Expr::Variable(var) = **base
        {
            pages += self.property(var, key, rows);
        }
        expr.for_each_child(&mut |child| pages += self.properties(child, rows));
        pages
    }

    fn property(&self, var: VarId, key: &str, rows: f64) -> f64 {
        match self.plan.variables.get(var.0 as usize).map(|v| v.kind) {
            Some(VarKind::Node) => {
                // Nodes of a label lie together.
                let size = self.stored(Stored::NodeProperty(key)).map(|size| {
                    let nodes = self
                        .labels
                        .get(&var)
                        .map(|label| self.cost.nodes(Some(label)));
                    match nodes {
                        Some(nodes) if nodes < size.entries as f64 => {
                            let share = nodes / (size.entries as f64).max(1.0);
                            StoredSize {
                                pages: (size.pages as f64 * share).ceil() as u64,
                                entries: nodes as u64,
                            }
                        }
                        _ => size,
                    }
                });
                touched(size, rows)
            }
            Some(VarKind::Relationship) => {
                let types = self.types.get(&var).map_or(&[][..], |p| &p.types[..]);
                self.relationship_property(types, key, rows)
            }
            _ => 0.0,
        }
    }

    fn relationship_property(&self, types: &[Arc<str>], key: &str, rows: f64) -> f64 {
        let sizes = types
            .iter()
            .map(|rel_type| self.stored(Stored::RelationshipProperty { rel_type, key }));
        sizes.map(|size| touched(size, rows)).sum()
    }

    /// Bytes of a variable in a row.
    fn width(&self, var: VarId) -> f64 {
        match self.plan.variables.get(var.0 as usize).map(|v| v.kind) {
            Some(VarKind::Node | VarKind::Relationship) => NUMBER_BYTES,
            _ => VALUE_BYTES,
        }
    }

    /// Bytes of a row of what `node` hands out, as far as the plan above reads it.
    fn row(&self, node: &PlanNode) -> f64 {
        let mut vars = BTreeSet::new();
        bound(node, &mut vars);
        vars.into_iter().map(|var| self.width(var)).sum()
    }

    /// Bytes kept while it runs once, for so many input rows.
    fn memory(&self, node: &PlanNode, inputs: f64) -> f64 {
        let input = || {
            node.op
                .children()
                .first()
                .map_or(0.0, |child| self.row(child))
        };
        let rows = node.estimated_rows;
        match &node.op {
            Operator::Sort { keys, .. } => inputs * (input() + VALUE_BYTES * keys.len() as f64),
            Operator::TopN { keys, .. } => {
                let kept = (2.0 * rows).max(TOP_ROWS).min(inputs);
                kept * (input() + VALUE_BYTES * keys.len() as f64)
            }
            Operator::Distinct { runs: true, .. } => 0.0,
            Operator::Distinct { vars, .. } => {
                let key: f64 = vars.iter().map(|var| self.width(*var)).sum();
                rows * (key + ENTRY_BYTES)
            }
            Operator::Aggregate {
                keys, aggregates, ..
            } => {
                let keys: f64 = keys.iter().map(|(var, _)| self.width(*var)).sum();
                let listed = aggregates.iter().filter(|(_, call)| {
                    call.distinct || call.function == AggregateFunction::Collect
                });
                let state = ENTRY_BYTES * (1.0 + aggregates.len() as f64);
                rows * (keys + state) + inputs * VALUE_BYTES * listed.count() as f64
            }
            Operator::HashJoin { build, .. } => {
                build.estimated_rows * (2.0 * self.row(build) + ENTRY_BYTES)
            }
            Operator::Eager { .. } | Operator::SelectPaths { .. } => inputs * input(),
            Operator::Expand { rel, pattern, .. } => {
                let entry = match rel.is_some() || pattern.filter.is_some() {
                    true => 2.0 * NUMBER_BYTES,
                    false => NUMBER_BYTES,
                };
                rows.min(CHUNK_ENTRIES) * entry
            }
            Operator::ReachableCount { .. } => self.cost.nodes(None),
            Operator::VarExpand {
                mode: VarExpandMode::Reachable { proven: true },
                ..
            } => self.cost.nodes(None),
            Operator::CountMatches { patterns, .. } => {
                let nodes = inputs.min(self.cost.nodes(None));
                nodes * ENTRY_BYTES * patterns.len() as f64
            }
            _ => 0.0,
        }
    }
}

/// Adds the variables of the rows that `node` hands out.
fn bound(node: &PlanNode, vars: &mut BTreeSet<VarId>) {
    use Operator as O;
    let makes_rows = matches!(
        node.op,
        O::Project { .. } | O::Distinct { .. } | O::Aggregate { .. }
    );
    // What is only tested, repeated or done in transactions of its own keeps its rows to itself.
    let inner = !matches!(
        node.op,
        O::SemiApply { .. } | O::Repeat { .. } | O::Foreach { .. } | O::InTransactions { .. }
    );
    if !makes_rows {
        let handed_on = if inner { usize::MAX } else { 1 };
        for child in node.op.children().into_iter().take(handed_on) {
            bound(child, vars);
        }
    }
    vars.extend(node.op.binds());
}

/// Labels of so many nodes lie in a page.
const LABELS_A_PAGE: f64 = 1024.0;

/// Bytes as people read them.
pub(crate) fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024.0 {
        return format!("{bytes:.0} B");
    }
    let (mut value, mut unit) = (bytes / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    match value >= 1e6 {
        true => format!("{value:.1e} {}", UNITS[unit]),
        false => format!("{value:.1} {}", UNITS[unit]),
    }
}

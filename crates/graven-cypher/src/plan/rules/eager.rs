//! Barriers: where a clause could meet the effects of another one on other rows.
//!
//! # How it works
//! In the language a clause is done for all rows before the next one begins; operators work on one
//! batch after the other. The difference shows only where one of two operators writes what the
//! other one reads or writes, rows pass between them in several batches, and nothing in between
//! takes in all rows anyway (sorting, grouping). Only there an [`Operator::Eager`] goes in, below
//! the upper of the two, with the reason as `EXPLAIN` shows it.
//!
//! What may meet what ([`Effects`]):
//! * A created node meets a scan or seek that it would be found by: of all nodes, or of one of its
//!   labels. A created relationship meets an expansion over its type. Neither meets a read of a
//!   property: it is not in the row.
//! * A property write meets reads of that key (of that kind of entity, where the kind is known) and
//!   seeks by it; a map write meets every key.
//! * A label write meets scans and seeks of the label, and conditions on it.
//! * A function reads of the nodes and relationships that it is given what [`read_by_call`] says,
//!   and everything where that is not said.
//! * A deletion meets every scan, seek and expansion, every property or label read, and every other
//!   write.
//! * `MERGE` reads by its inner tree and writes what it creates and sets.
//!
//! Two refinements that keep the common statements free of barriers:
//! * One row: as long as there is at most one row, clause by clause and row by row are the same.
//! * A scan or seek over one row has fixed its nodes before the first row leaves, so nothing meets
//!   it. The variable it binds, and a created one, is *unique*: no two rows hold the same entity,
//!   so reading, changing or deleting that entity cannot meet another row's.
//!
//! # Invariants
//! * CY-71 Row by row within one writing operator is the language's own meaning and needs no
//!   barrier: `UNWIND [1, 1] AS x MERGE (:A {x: x})` creates one node.
//! * CY-72 An inner tree that writes runs once per row; it is judged as one operator with all that
//!   its own read and write.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::functions;
use crate::plan::expression::Expr;
use crate::plan::mutant::{self, Mutant};
use crate::plan::{Creation, Operator, Plan, PlanNode, RelType, SetItem, VarId, VarKind, Variable};

pub(crate) fn apply(plan: &mut Plan) {
    if !plan.writes() {
        return;
    }
    let mut root = std::mem::replace(&mut plan.root, empty());
    let plain = plain_variables(&root, &plan.variables);
    let rule = Rule {
        variables: &plan.variables,
        plain,
    };
    rule.pipeline(&mut root);
    plan.root = root;
}

fn empty() -> PlanNode {
    PlanNode {
        id: 0,
        op: Operator::Unit,
        estimated_rows: 1.0,
    }
}

/// One read or write.
#[derive(Clone, Debug, PartialEq)]
enum Access {
    /// Finding nodes: by a label, or any.
    Nodes(Option<Arc<str>>),
    /// Following relationships of these types (none: all).
    Relationships(Vec<Arc<str>>),
    /// A property (none: any), of what kind (none: either), of which variable where that is known.
    Property(Option<Arc<str>>, Option<VarKind>, Option<VarId>),
    /// A label (none: any) of a variable.
    Label(Option<Arc<str>>, Option<VarId>),
}

/// What is written.
#[derive(Clone, Debug, PartialEq)]
enum Write {
    /// A node with these labels and, where `any` says so, others.
    Node {
        labels: Vec<Arc<str>>,
        any: bool,
    },
    /// A relationship of this type (none: any).
    Relationship(Option<Arc<str>>),
    Property(Option<Arc<str>>, Option<VarKind>, Option<VarId>),
    /// A label (none: any) of a variable.
    Label(Option<Arc<str>>, Option<VarId>),
    /// Nodes and, where `relationships` says so, relationships are deleted.
    Delete {
        var: Option<VarId>,
        nodes: bool,
        relationships: bool,
    },
}

/// What operators read and write whose rows are still passing.
#[derive(Clone, Debug, Default)]
struct Effects {
    reads: Vec<Access>,
    writes: Vec<Write>,
    /// Variables that hold another entity in every row.
    unique: BTreeSet<VarId>,
    single_row: bool,
}

struct Rule<'a> {
    variables: &'a [Variable],
    /// Variables that hold no node, relationship or path, nor anything with one in it.
    plain: BTreeSet<VarId>,
}

impl Rule<'_> {
    /// Puts in the barriers below `node`; what its rows still carry.
    fn pipeline(&self, node: &mut PlanNode) -> Effects {
        use Operator as O;
        match &mut node.op {
            O::Unit | O::Argument { .. } => {
                return Effects {
                    single_row: true,
                    ..Effects::default()
                };
            }
            O::Union { inputs } => {
                let mut all = Effects::default();
                for input in inputs {
                    let own = self.pipeline(input);
                    all.reads.extend(own.reads);
                    all.writes.extend(own.writes);
                }
                return all;
            }
            _ => {}
        }
        if let O::InTransactions { input, inner, .. } = &mut node.op {
            // The rows are read before anything is written, from a state that no batch changes, and
            // what stands above begins when all is done.
            self.pipeline(input);
            self.pipeline(inner);
            return Effects::default();
        }
        let mut own = self.own(&node.op);
        let mut children = node.op.children_mut().into_iter();
        let input = children.next().expect("every other operator has an input");
        for inner in children {
            // The rows of an inner tree never leave the operator; what it touches does count.
            self.pipeline(inner);
            inner.visit(&mut |below| {
                let effects = self.own(&below.op);
                own.reads.extend(effects.reads);
                own.writes.extend(effects.writes);
            });
        }
        let mut below = self.pipeline(input);
        if !below.single_row
            && let Some(reason) = self.meeting(&below, &own)
        {
            let rows = input.estimated_rows;
            let op = std::mem::replace(input, empty());
            *input = PlanNode {
                id: 0,
                op: O::Eager {
                    input: Box::new(op),
                    reason: reason.into(),
                },
                estimated_rows: rows,
            };
            below.reads.clear();
            below.writes.clear();
        }
        self.passed(&node.op, below, own)
    }

    /// The effects above an operator: what was below, and its own.
    fn passed(&self, op: &Operator, mut below: Effects, own: Effects) -> Effects {
        use Operator as O;
        let one_row = below.single_row;
        match op {
            O::Aggregate { keys, .. } => {
                return Effects {
                    single_row: keys.is_empty(),
                    ..Effects::default()
                };
            }
            O::Sort { .. } | O::TopN { .. } => {
                below.reads.clear();
                below.writes.clear();
                return below;
            }
            O::EmptyResult { .. } => return Effects::default(),
            O::AllNodesScan { var, .. }
            | O::LabelScan { var, .. }
            | O::ComputedLabelScan { var, .. }
            | O::IndexSeek { var, .. }
            | O::IndexRange { var, .. }
            | O::IndexScan { var, .. }
            | O::NodeByIdSeek { var, .. }
            | O::RelationshipByIdSeek { var, .. } => {
                below.single_row = false;
                below.unique.clear();
                if one_row {
                    // It has fixed its nodes before the first row leaves: no write can meet it any
                    // more.
                    below.unique.insert(*var);
                    return below;
                }
            }
            O::Create { creation, .. } => below.unique.extend(creation.variables()),
            O::Merge { .. }
            | O::Expand { .. }
            | O::ExpandInto { .. }
            | O::VarExpand { .. }
            | O::Unwind { .. }
            | O::LoadCsv { .. }
            | O::LoadFrom { .. }
            | O::Procedure { .. }
            | O::HashJoin { .. }
            | O::CartesianProduct { .. }
            | O::Apply { .. }
            | O::Repeat { .. }
            | O::Optional { .. } => {
                below.single_row = false;
                below.unique.clear();
            }
            O::Project { items, .. } => {
                below.unique = items
                    .iter()
                    .filter_map(|(var, expr)| match expr {
                        Expr::Variable(from) if below.unique.contains(from) => Some(*var),
                        _ => None,
                    })
                    .collect();
            }
            _ => {}
        }
        if below.single_row || (one_row && matches!(op, O::Merge { .. })) {
            // One row has passed: all that is done.
            return below;
        }
        below.reads.extend(own.reads);
        below.writes.extend(own.writes);
        below
    }

    /// What an operator alone reads and writes.
    fn own(&self, op: &Operator) -> Effects {
        use Operator as O;
        let mut own = Effects::default();
        op.for_each_expr(&mut |expr| self.reads(expr, &mut own.reads));
        match op {
            O::AllNodesScan { .. } | O::NodeByIdSeek { .. } => own.reads.push(Access::Nodes(None)),
            O::RelationshipByIdSeek { .. } => own.reads.push(Access::Relationships(Vec::new())),
            O::LabelScan { label, .. } => own.finds(label),
            O::ComputedLabelScan { var, equal, .. } => {
                own.reads.push(Access::Nodes(None));
                own.reads.push(Access::Label(None, Some(*var)));
                own.reads.extend(equal.iter().map(|(key, _)| {
                    Access::Property(Some(key.clone()), Some(VarKind::Node), Some(*var))
                }));
            }
            O::IndexSeek {
                var, label, key, ..
            }
            | O::IndexRange {
                var, label, key, ..
            } => {
                own.finds(label);
                let kind = Some(VarKind::Node);
                own.reads
                    .push(Access::Property(Some(key.clone()), kind, Some(*var)));
            }
            O::IndexScan {
                var, label, keys, ..
            } => {
                own.finds(label);
                let read = |key: &Arc<str>| {
                    Access::Property(Some(key.clone()), Some(VarKind::Node), Some(*var))
                };
                own.reads.extend(keys.iter().map(read));
            }
            O::Expand { .. }
            | O::ExpandInto { .. }
            | O::VarExpand { .. }
            | O::ReachableCount { .. } => {
                let types = op.rel_pattern().map(|p| p.types.clone());
                own.reads
                    .push(Access::Relationships(types.unwrap_or_default()));
                if let O::ReachableCount { to, end_labels, .. } = op {
                    let read = |label: &Arc<str>| Access::Label(Some(label.clone()), Some(*to));
                    own.reads.extend(end_labels.iter().map(read));
                }
            }
            O::Create { creation, .. } => own.creates(creation),
            O::Merge {
                creation,
                on_create,
                on_match,
                ..
            } => {
                own.creates(creation);
                self.sets(on_create, &mut own.writes);
                self.sets(on_match, &mut own.writes);
                self.copies(on_create, &mut own.reads);
                self.copies(on_match, &mut own.reads);
            }
            O::Set { items, .. } => {
                self.sets(items, &mut own.writes);
                self.copies(items, &mut own.reads);
            }
            O::Procedure { writes, .. } => own.anything(*writes),
            O::Delete {
                targets, detach, ..
            } => {
                for target in targets {
                    let (var, kind) = self.subject(target);
                    own.writes.push(Write::Delete {
                        var,
                        nodes: kind != Some(VarKind::Relationship),
                        relationships: kind != Some(VarKind::Node) || *detach,
                    });
                }
            }
            _ => {}
        }
        own
    }

    /// The variable an expression is, and the kind of entity it gives.
    fn subject(&self, expr: &Expr) -> (Option<VarId>, Option<VarKind>) {
        let Expr::Variable(var) = expr else {
            return (None, None);
        };
        let kind = self.variables.get(var.0 as usize).map(|v| v.kind);
        let entity = kind.filter(|k| matches!(k, VarKind::Node | VarKind::Relationship));
        (Some(*var), entity)
    }

    fn sets(&self, items: &[SetItem], writes: &mut Vec<Write>) {
        for item in items {
            let (var, kind) = self.subject(item.target());
            match item {
                SetItem::Property { key, .. } => {
                    writes.push(Write::Property(Some(key.clone()), kind, var));
                }
                SetItem::Properties {
                    value: Expr::Map(entries),
                    keep: true,
                    ..
                } => writes.extend(
                    entries
                        .iter()
                        .map(|(key, _)| Write::Property(Some(key.clone()), kind, var)),
                ),
                SetItem::Element { .. } | SetItem::Properties { .. } => {
                    writes.push(Write::Property(None, kind, var));
                }
                SetItem::AddLabels {
                    labels, computed, ..
                }
                | SetItem::RemoveLabels {
                    labels, computed, ..
                } => {
                    writes.extend(labels.iter().map(|l| Write::Label(Some(l.clone()), var)));
                    writes.extend(computed.iter().map(|_| Write::Label(None, var)));
                }
            }
        }
    }

    /// `SET a = b` reads all properties of `b`.
    fn copies(&self, items: &[SetItem], reads: &mut Vec<Access>) {
        for item in items {
            if let SetItem::Properties { value, .. } = item
                && !self.is_plain(value)
            {
                let (var, kind) = self.subject(value);
                reads.push(Access::Property(None, kind, var));
            }
        }
    }

    /// What evaluating an expression reads of the graph.
    fn reads(&self, expr: &Expr, reads: &mut Vec<Access>) {
        match expr {
            Expr::Property { base, key, .. } if !self.is_plain(base) => {
                let (var, kind) = self.subject(base);
                reads.push(Access::Property(Some(key.clone()), kind, var));
            }
            Expr::Index { base, .. } if !self.is_plain(base) => {
                let (var, kind) = self.subject(base);
                reads.push(Access::Property(None, kind, var));
            }
            Expr::HasLabels { base, labels, .. } => {
                let (var, _) = self.subject(base);
                reads.extend(labels.iter().map(|l| Access::Label(Some(l.clone()), var)));
            }
            Expr::Call { name, args, .. } => {
                let entities = args.iter().filter(|arg| !self.is_plain(arg));
                let (properties, labels) = read_by_call(name);
                for (var, kind) in entities.map(|arg| self.subject(arg)) {
                    reads.extend(properties.then_some(Access::Property(None, kind, var)));
                    reads.extend(labels.then_some(Access::Label(None, var)));
                }
            }
            _ => {}
        }
        expr.for_each_child(&mut |child| self.reads(child, reads));
    }

    fn is_plain(&self, expr: &Expr) -> bool {
        is_plain(expr, &self.plain, self.variables)
    }

    /// Why a barrier is needed between what is below and an operator, if it is.
    fn meeting(&self, below: &Effects, own: &Effects) -> Option<String> {
        for write in &own.writes {
            for read in &below.reads {
                if meets(write, read, &below.unique) {
                    return Some(format!("{} after {}", self.written(write), self.read(read)));
                }
            }
        }
        for write in &below.writes {
            for read in &own.reads {
                if meets(write, read, &below.unique) {
                    return Some(format!("{} after {}", self.read(read), self.written(write)));
                }
            }
            for later in &own.writes {
                if collides(write, later, &below.unique) {
                    return Some(format!(
                        "{} after {}",
                        self.written(later),
                        self.written(write)
                    ));
                }
            }
        }
        None
    }

    fn read(&self, read: &Access) -> String {
        match read {
            Access::Nodes(Some(label)) => format!("finding :{label}"),
            Access::Nodes(None) => "finding nodes".to_owned(),
            Access::Relationships(types) if types.is_empty() => {
                "following relationships".to_owned()
            }
            Access::Relationships(types) => format!("following :{}", types.join("|")),
            Access::Property(Some(key), ..) => format!("reading .{key}"),
            Access::Property(None, ..) => "reading properties".to_owned(),
            Access::Label(Some(label), _) => format!("reading :{label}"),
            Access::Label(None, _) => "reading labels".to_owned(),
        }
    }

    fn written(&self, write: &Write) -> String {
        match write {
            Write::Node { labels, .. } if labels.is_empty() => "creating a node".to_owned(),
            Write::Node { labels, .. } => format!("creating :{}", labels.join(":")),
            Write::Relationship(Some(rel_type)) => format!("creating :{rel_type}"),
            Write::Relationship(None) => "creating a relationship".to_owned(),
            Write::Property(Some(key), ..) => format!("setting .{key}"),
            Write::Property(None, ..) => "setting properties".to_owned(),
            Write::Label(Some(label), _) => format!("changing :{label}"),
            Write::Label(None, _) => "changing labels".to_owned(),
            Write::Delete { .. } => "deleting".to_owned(),
        }
    }
}

impl Effects {
    /// All that a procedure may read, and write.
    fn anything(&mut self, writes: bool) {
        self.reads.extend([
            Access::Nodes(None),
            Access::Relationships(Vec::new()),
            Access::Property(None, None, None),
            Access::Label(None, None),
        ]);
        if writes {
            self.writes.extend([
                Write::Node {
                    labels: Vec::new(),
                    any: true,
                },
                Write::Relationship(None),
                Write::Property(None, None, None),
                Write::Label(None, None),
                Write::Delete {
                    var: None,
                    nodes: true,
                    relationships: true,
                },
            ]);
        }
    }

    fn finds(&mut self, label: &Arc<str>) {
        self.reads.push(Access::Nodes(Some(label.clone())));
    }

    fn creates(&mut self, creation: &Creation) {
        for node in &creation.nodes {
            self.writes.push(Write::Node {
                labels: node.labels.clone(),
                any: !node.computed.is_empty(),
            });
        }
        for relationship in &creation.relationships {
            let rel_type = match &relationship.rel_type {
                RelType::Named(name) => Some(name.clone()),
                RelType::Computed(_) => None,
            };
            self.writes.push(Write::Relationship(rel_type));
        }
    }
}

/// Whether a function that is given a node or relationship reads its properties, and whether its
/// labels. One that is not named here may read both.
fn read_by_call(name: &str) -> (bool, bool) {
    match name {
        "id"
        | "elementid"
        | "type"
        | "size"
        | "head"
        | "last"
        | "tail"
        | "coalesce"
        | "startnode"
        | "endnode"
        | "nodes"
        | "relationships"
        | "length"
        | "reverse"
        | "isempty"
        | "nullif"
        | "valuetype"
        | functions::CONCATENATE
        | functions::IS_TYPED => (false, false),
        "keys" | "properties" | functions::MERGE_MAPS => (true, false),
        "labels" | functions::IS_LABELED | functions::HAS_ALL_LABELS | functions::HAS_ANY_LABEL => {
            (false, true)
        }
        _ => (true, true),
    }
}

/// Whether two optional restrictions can hold of one thing.
fn overlap<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

/// Whether both are the same variable, and no two rows hold the same entity in it.
fn own_entity(a: Option<VarId>, b: Option<VarId>, unique: &BTreeSet<VarId>) -> bool {
    let is_unique = |var| unique.contains(&var) || mutant::active(Mutant::EagerAllUnique);
    a == b && a.is_some_and(is_unique)
}

/// Whether the write on one row may be seen by the read on another.
fn meets(write: &Write, read: &Access, unique: &BTreeSet<VarId>) -> bool {
    if mutant::active(Mutant::EagerIgnoresReads) {
        return false;
    }
    match (write, read) {
        (Write::Node { labels, any }, Access::Nodes(label)) => {
            *any || label.as_ref().is_none_or(|l| labels.contains(l))
        }
        (Write::Relationship(rel_type), Access::Relationships(types)) => {
            types.is_empty() || rel_type.as_ref().is_none_or(|t| types.contains(t))
        }
        (Write::Property(key, kind, var), Access::Property(read_key, read_kind, read_var)) => {
            overlap(key.as_ref(), read_key.as_ref())
                && overlap(kind.as_ref(), read_kind.as_ref())
                && !own_entity(*var, *read_var, unique)
        }
        (Write::Label(label, _), Access::Nodes(Some(scanned))) => {
            overlap(label.as_ref(), Some(scanned))
        }
        (Write::Label(label, var), Access::Label(read, read_var)) => {
            overlap(label.as_ref(), read.as_ref()) && !own_entity(*var, *read_var, unique)
        }
        (Write::Delete { nodes, .. }, Access::Nodes(_)) => *nodes,
        (Write::Delete { relationships, .. }, Access::Relationships(_)) => *relationships,
        (
            Write::Delete {
                var,
                nodes,
                relationships,
            },
            Access::Property(_, kind, read_var),
        ) => {
            let kind_hit = match kind {
                Some(VarKind::Node) => *nodes,
                Some(VarKind::Relationship) => *relationships,
                _ => true,
            };
            kind_hit && !own_entity(*var, *read_var, unique)
        }
        (Write::Delete { var, nodes, .. }, Access::Label(_, read_var)) => {
            *nodes && !own_entity(*var, *read_var, unique)
        }
        _ => false,
    }
}

/// Whether the order of two writes on different rows may matter.
fn collides(a: &Write, b: &Write, unique: &BTreeSet<VarId>) -> bool {
    if mutant::active(Mutant::EagerIgnoresWrites) {
        return false;
    }
    match (a, b) {
        (Write::Property(key, kind, var), Write::Property(key2, kind2, var2)) => {
            overlap(key.as_ref(), key2.as_ref())
                && overlap(kind.as_ref(), kind2.as_ref())
                && !own_entity(*var, *var2, unique)
        }
        (Write::Label(label, var), Write::Label(label2, var2)) => {
            overlap(label.as_ref(), label2.as_ref()) && !own_entity(*var, *var2, unique)
        }
        // Deleting twice is deleting once.
        (Write::Delete { .. }, Write::Delete { .. }) => false,
        (
            Write::Delete {
                var,
                nodes,
                relationships,
            },
            other,
        )
        | (
            other,
            Write::Delete {
                var,
                nodes,
                relationships,
            },
        ) => match other {
            Write::Property(_, kind, touched) => {
                let kind_hit = match kind {
                    Some(VarKind::Node) => *nodes,
                    Some(VarKind::Relationship) => *relationships,
                    _ => true,
                };
                kind_hit && !own_entity(*var, *touched, unique)
            }
            Write::Label(_, touched) => *nodes && !own_entity(*var, *touched, unique),
            // A new relationship needs its ends; a new node belongs to its row alone.
            Write::Relationship(_) => *nodes,
            _ => false,
        },
        _ => false,
    }
}

/// Variables that are computed from plain values alone.
fn plain_variables(root: &PlanNode, variables: &[Variable]) -> BTreeSet<VarId> {
    let mut plain = BTreeSet::new();
    let is_plain = |expr: &Expr, plain: &BTreeSet<VarId>| is_plain(expr, plain, variables);
    loop {
        let before = plain.len();
        root.visit(&mut |node| match &node.op {
            Operator::Unwind { list, var, .. } | Operator::Foreach { list, var, .. }
                if is_plain(list, &plain) =>
            {
                plain.insert(*var);
            }
            Operator::LoadFrom { yields, .. } => plain.extend(yields.iter().map(|(_, var)| *var)),
            Operator::LoadCsv {
                var, line, file, ..
            } => {
                plain.extend([var].into_iter().chain(line).chain(file));
            }
            Operator::Project { items, .. } | Operator::Extend { items, .. } => {
                for (var, expr) in items {
                    if is_plain(expr, &plain) {
                        plain.insert(*var);
                    }
                }
            }
            Operator::Aggregate {
                keys, aggregates, ..
            } => {
                for (var, expr) in keys {
                    if is_plain(expr, &plain) {
                        plain.insert(*var);
                    }
                }
                for (var, call) in aggregates {
                    if call.argument.as_ref().is_none_or(|a| is_plain(a, &plain)) {
                        plain.insert(*var);
                    }
                }
            }
            _ => {}
        });
        if plain.len() == before {
            return plain;
        }
    }
}

/// Whether the value surely holds no entity. A parameter is taken as plain: it was computed before
/// the statement.
fn is_plain(expr: &Expr, plain: &BTreeSet<VarId>, variables: &[Variable]) -> bool {
    match expr {
        Expr::Variable(var) => plain.contains(var),
        // What a node or relationship holds is stored, and no entity is.
        Expr::Property { base, .. } | Expr::Index { base, .. } | Expr::HasLabels { base, .. }
            if matches!(**base, Expr::Variable(var)
            if variables.get(var.0 as usize).is_some_and(|v| {
                matches!(v.kind, VarKind::Node | VarKind::Relationship)
            })) =>
        {
            true
        }
        _ => {
            let mut all = true;
            expr.for_each_child(&mut |child| all &= is_plain(child, plain, variables));
            all
        }
    }
}

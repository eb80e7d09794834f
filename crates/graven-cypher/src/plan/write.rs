//! Which operators write, and the names that they need.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::creation::{Creation, RelType, SetItem};
use super::variables::advances_sequence;
use super::{Expr, Operator, Plan, PlanNode};

/// Names that a plan writes and that must exist before it runs, in the order in which they come to
/// be written: a new label has its place among those of a node by that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenNames {
    /// Labels.
    pub labels: InOrder,
    /// Relationship types.
    pub types: InOrder,
    /// Property keys that stand in the text; those of parameters and computed maps are met while
    /// running.
    pub keys: InOrder,
}

/// Names in the order in which they were met first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InOrder {
    names: Vec<Arc<str>>,
    known: BTreeSet<Arc<str>>,
}

impl InOrder {
    fn insert(&mut self, name: Arc<str>) {
        if self.known.insert(name.clone()) {
            self.names.push(name);
        }
    }

    fn extend(&mut self, names: impl IntoIterator<Item = Arc<str>>) {
        names.into_iter().for_each(|name| self.insert(name));
    }

    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.iter()
    }
}

impl WrittenNames {
    fn creation(&mut self, creation: &Creation) {
        for node in &creation.nodes {
            self.labels.extend(node.labels.iter().cloned());
        }
        for relationship in &creation.relationships {
            if let RelType::Named(rel_type) = &relationship.rel_type {
                self.types.insert(rel_type.clone());
            }
        }
        creation.for_each_map(&mut |map| self.map(map));
    }

    fn map(&mut self, map: &Expr) {
        if let Expr::Map(entries) = map {
            self.keys.extend(entries.iter().map(|(key, _)| key.clone()));
        }
    }

    fn items(&mut self, items: &[SetItem]) {
        for item in items {
            match item {
                SetItem::AddLabels { labels, .. } => self.labels.extend(labels.iter().cloned()),
                SetItem::Property { key, .. } if !item.removes() => {
                    self.keys.insert(key.clone());
                }
                SetItem::Properties { value, .. } => self.map(value),
                _ => {}
            }
        }
    }

    /// Adds the labels and types that an operator reads.
    fn read(&mut self, op: &Operator) {
        fn of_expr(names: &mut WrittenNames, expr: &Expr) {
            if let Expr::HasLabels { labels, .. } = expr {
                // Of a variable that holds either it may be a label or a type.
                names.labels.extend(labels.iter().cloned());
                names.types.extend(labels.iter().cloned());
            }
            expr.for_each_child(&mut |child| of_expr(names, child));
        }
        op.for_each_expr(&mut |expr| of_expr(self, expr));
        self.labels.extend(op.found_label().cloned());
        op.for_each_rel_pattern(&mut |pattern, end_labels| {
            self.types.extend(pattern.types.iter().cloned());
            let labels = pattern.ends.labels.iter().chain(end_labels);
            self.labels.extend(labels.cloned());
        });
    }
}

impl Operator {
    /// The label of a scan or seek.
    fn found_label(&self) -> Option<&Arc<str>> {
        match self {
            Operator::LabelScan { label, .. }
            | Operator::IndexSeek { label, .. }
            | Operator::IndexRange { label, .. }
            | Operator::IndexScan { label, .. } => Some(label),
            _ => None,
        }
    }

    /// Whether this operator alone writes labels or types that the text does not tell.
    fn computes_names(&self) -> bool {
        let item = |item: &SetItem| matches!(item, SetItem::AddLabels { computed, .. } if !computed.is_empty());
        match self {
            Operator::Create { creation, .. } => creation.computes_names(),
            Operator::Merge {
                creation,
                on_create,
                on_match,
                ..
            } => creation.computes_names() || on_create.iter().chain(on_match).any(item),
            Operator::Set { items, .. } => items.iter().any(item),
            Operator::Procedure { writes, .. } => *writes,
            _ => false,
        }
    }

    /// Whether this operator alone, apart from its inputs, changes the graph or a sequence.
    #[must_use]
    pub fn writes(&self) -> bool {
        let writes = matches!(
            self,
            Operator::Create { .. }
                | Operator::Merge { .. }
                | Operator::Set { .. }
                | Operator::Delete { .. }
                | Operator::Schema { .. }
                | Operator::Procedure { writes: true, .. }
        );
        writes || self.advances_sequence()
    }

    fn advances_sequence(&self) -> bool {
        let mut found = false;
        self.for_each_expr(&mut |expr| found = found || advances_sequence(expr));
        found
    }
}

impl PlanNode {
    /// Whether this operator or one below it changes the graph.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.any(&Operator::writes)
    }

    /// The topmost subquery in transactions of the pipeline that ends here.
    #[must_use]
    pub fn in_transactions(&self) -> Option<&PlanNode> {
        match &self.op {
            Operator::InTransactions { .. } => Some(self),
            op => op.children().first()?.in_transactions(),
        }
    }

    /// Whether an operator of the pipeline that ends here writes after its topmost subquery in
    /// transactions.
    #[must_use]
    pub fn writes_after_transactions(&self) -> bool {
        let children = self.op.children();
        let Some((input, others)) = children.split_first() else {
            return false;
        };
        if matches!(self.op, Operator::InTransactions { .. }) || self.in_transactions().is_none() {
            return false;
        }
        self.op.writes()
            || others.iter().any(|inner| inner.writes())
            || input.writes_after_transactions()
    }

    /// The node with this id, if it is this one or one below it.
    #[must_use]
    pub fn find(&self, id: u32) -> Option<&PlanNode> {
        if self.id == id {
            return Some(self);
        }
        let children = self.op.children().into_iter();
        children.filter_map(|child| child.find(id)).next()
    }

    /// Whether `test` holds of this operator or one below it.
    pub fn any(&self, test: &dyn Fn(&Operator) -> bool) -> bool {
        test(&self.op) || self.op.children().into_iter().any(|child| child.any(test))
    }
}

impl Plan {
    /// Whether the statement changes the graph.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.root.writes()
    }

    /// Labels, types and keys the statement may write.
    #[must_use]
    pub fn written_names(&self) -> WrittenNames {
        self.root.written_names()
    }
}

impl PlanNode {
    /// Labels, types and keys that this operator and those below it may write. Where names of
    /// labels or types are computed, or a procedure writes, they may be any that the text reads.
    #[must_use]
    pub fn written_names(&self) -> WrittenNames {
        let mut names = WrittenNames::default();
        if self.any(&Operator::computes_names) {
            self.visit(&mut |node| names.read(&node.op));
        }
        self.visit_upwards(&mut |node| match &node.op {
            Operator::Create { creation, .. } => names.creation(creation),
            Operator::Merge {
                creation,
                on_create,
                on_match,
                ..
            } => {
                names.creation(creation);
                names.items(on_create);
                names.items(on_match);
            }
            Operator::Set { items, .. } => names.items(items),
            _ => {}
        });
        names
    }
}

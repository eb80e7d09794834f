//! What writing operators write: creations, items of `SET` and `REMOVE`, and the names they need.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expression::Literal;
use super::variables::advances_sequence;
use super::{Expr, Operator, Plan, PlanNode, VarId};
use crate::token::Span;

/// Nodes and relationships that one row creates, nodes first, in the order written.
#[derive(Clone, Debug, Default)]
pub struct Creation {
    /// Nodes.
    pub nodes: Vec<CreateNode>,
    /// Relationships between nodes created here or bound before.
    pub relationships: Vec<CreateRelationship>,
}

/// One node to create.
#[derive(Clone, Debug)]
pub struct CreateNode {
    /// The variable it is bound to.
    pub var: VarId,
    /// Its labels.
    pub labels: Vec<Arc<str>>,
    /// Expressions that give names of further labels, each a text or a list of texts.
    pub computed: Vec<Expr>,
    /// A map of its properties; null entries are left out.
    pub properties: Option<Expr>,
    /// Where it stands in the text.
    pub at: Span,
}

/// The type of a relationship to create.
#[derive(Clone, Debug)]
pub enum RelType {
    /// As the text has it.
    Named(Arc<str>),
    /// The text, or the list of one text, that an expression gives.
    Computed(Box<Expr>),
}

/// One relationship to create.
#[derive(Clone, Debug)]
pub struct CreateRelationship {
    /// The variable it is bound to.
    pub var: VarId,
    /// Its type.
    pub rel_type: RelType,
    /// Start node.
    pub start: VarId,
    /// End node.
    pub end: VarId,
    /// A map of its properties; null entries are left out.
    pub properties: Option<Expr>,
    /// Where it stands in the text.
    pub at: Span,
}

/// One item of `SET` or `REMOVE`; a target that is null is passed over.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug)]
pub enum SetItem {
    /// `target.key = value`; null removes the property.
    Property {
        target: Expr,
        key: Arc<str>,
        value: Expr,
        at: Span,
    },
    /// `target[key] = value`.
    Element {
        target: Expr,
        key: Expr,
        value: Expr,
        at: Span,
    },
    /// `target = value` (all other properties are removed) or, with `keep`, `target += value`; the
    /// value is a map, a node or a relationship.
    Properties {
        target: Expr,
        value: Expr,
        keep: bool,
        at: Span,
    },
    /// `target:A:B`; `computed` as in [`CreateNode`].
    AddLabels {
        target: Expr,
        labels: Vec<Arc<str>>,
        computed: Vec<Expr>,
        at: Span,
    },
    /// `REMOVE target:A:B`.
    RemoveLabels {
        target: Expr,
        labels: Vec<Arc<str>>,
        computed: Vec<Expr>,
        at: Span,
    },
}

impl Creation {
    /// Visits the property maps.
    fn for_each_map<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        let nodes = self.nodes.iter().filter_map(|n| n.properties.as_ref());
        let relationships = self
            .relationships
            .iter()
            .filter_map(|r| r.properties.as_ref());
        nodes.chain(relationships).for_each(visit);
    }

    /// Visits the property maps and what computes labels and types.
    pub fn for_each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        self.for_each_map(visit);
        let labels = self.nodes.iter().flat_map(|n| &n.computed);
        labels.for_each(&mut *visit);
        for relationship in &self.relationships {
            if let RelType::Computed(rel_type) = &relationship.rel_type {
                visit(rel_type);
            }
        }
    }

    /// As [`Creation::for_each_expr`], for changing them.
    pub(crate) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let nodes = self
            .nodes
            .iter_mut()
            .flat_map(|n| n.computed.iter_mut().chain(&mut n.properties));
        let relationships = self.relationships.iter_mut().flat_map(|r| {
            let rel_type = match &mut r.rel_type {
                RelType::Computed(rel_type) => Some(&mut **rel_type),
                RelType::Named(_) => None,
            };
            rel_type.into_iter().chain(&mut r.properties)
        });
        nodes.chain(relationships)
    }

    /// Whether names of labels or types are computed.
    fn computes_names(&self) -> bool {
        let types = |r: &CreateRelationship| matches!(r.rel_type, RelType::Computed(_));
        self.nodes.iter().any(|n| !n.computed.is_empty()) || self.relationships.iter().any(types)
    }

    /// Variables it binds.
    pub fn variables(&self) -> impl Iterator<Item = VarId> {
        let nodes = self.nodes.iter().map(|n| n.var);
        nodes.chain(self.relationships.iter().map(|r| r.var))
    }

    /// Variables bound before that it needs.
    #[must_use]
    pub fn reads(&self) -> BTreeSet<VarId> {
        let mut read = BTreeSet::new();
        self.for_each_expr(&mut |e| read.extend(e.variables()));
        read.extend(self.relationships.iter().flat_map(|r| [r.start, r.end]));
        for own in self.variables() {
            read.remove(&own);
        }
        read
    }
}

impl SetItem {
    /// What is changed.
    #[must_use]
    pub fn target(&self) -> &Expr {
        match self {
            SetItem::Property { target, .. }
            | SetItem::Element { target, .. }
            | SetItem::Properties { target, .. }
            | SetItem::AddLabels { target, .. }
            | SetItem::RemoveLabels { target, .. } => target,
        }
    }

    /// Where it stands in the text.
    #[must_use]
    pub fn place(&self) -> Span {
        match self {
            SetItem::Property { at, .. }
            | SetItem::Element { at, .. }
            | SetItem::Properties { at, .. }
            | SetItem::AddLabels { at, .. }
            | SetItem::RemoveLabels { at, .. } => *at,
        }
    }

    /// Visits its expressions.
    pub fn for_each_expr<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self.target());
        match self {
            SetItem::Property { value, .. } | SetItem::Properties { value, .. } => visit(value),
            SetItem::Element { key, value, .. } => [key, value].into_iter().for_each(visit),
            SetItem::AddLabels { computed, .. } | SetItem::RemoveLabels { computed, .. } => {
                computed.iter().for_each(visit);
            }
        }
    }

    /// As [`SetItem::for_each_expr`], for changing them.
    pub(crate) fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            SetItem::Property { target, value, .. } | SetItem::Properties { target, value, .. } => {
                vec![target, value]
            }
            SetItem::Element {
                target, key, value, ..
            } => vec![target, key, value],
            SetItem::AddLabels {
                target, computed, ..
            }
            | SetItem::RemoveLabels {
                target, computed, ..
            } => std::iter::once(target).chain(computed).collect(),
        }
    }

    /// Whether it is computed together with the item before it: properties of one variable, named
    /// one after the other, are set as one, from what was there before the first.
    #[must_use]
    pub fn is_with(&self, next: &SetItem) -> bool {
        match (self, next) {
            (SetItem::Property { target: a, .. }, SetItem::Property { target: b, .. }) => {
                matches!((a, b), (Expr::Variable(a), Expr::Variable(b)) if a == b)
            }
            _ => false,
        }
    }

    /// Whether it only takes away, as `REMOVE` does.
    pub(crate) fn removes(&self) -> bool {
        matches!(
            self,
            SetItem::RemoveLabels { .. }
                | SetItem::Property {
                    value: Expr::Literal(Literal::Null),
                    ..
                }
        )
    }
}

/// Names that a plan writes and that must exist before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenNames {
    /// Labels.
    pub labels: BTreeSet<Arc<str>>,
    /// Relationship types.
    pub types: BTreeSet<Arc<str>>,
    /// Property keys that stand in the text; those of parameters and computed maps are met while
    /// running.
    pub keys: BTreeSet<Arc<str>>,
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
        if let Some(pattern) = op.rel_pattern() {
            self.types.extend(pattern.types.iter().cloned());
            self.labels.extend(pattern.ends.labels.iter().cloned());
        }
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

    /// Whether this operator alone writes labels or types that it computes.
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
    /// labels or types are computed, they may be any that the text reads.
    #[must_use]
    pub fn written_names(&self) -> WrittenNames {
        let mut names = WrittenNames::default();
        if self.any(&Operator::computes_names) {
            self.visit(&mut |node| names.read(&node.op));
        }
        self.visit(&mut |node| match &node.op {
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

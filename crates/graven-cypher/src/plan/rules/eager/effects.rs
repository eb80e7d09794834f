//! What an operator reads and writes.
//!
//! # How it works
//! Effects are told as far as the text of the statement tells them: by label, by type, by key and
//! kind of entity; a variable says which entity it is where there is one. A function reads of the
//! nodes and relationships that it is given what [`read_by_call`] says, and everything where that
//! is not said.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Rule, is_plain};
use crate::functions;
use crate::plan::expression::Expr;
use crate::plan::{Creation, Operator, RelType, SetItem, VarId, VarKind};

/// One read or write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Access {
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
pub(super) enum Write {
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

/// What operators with rows in flight read and write.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub(super) reads: Vec<Access>,
    pub(super) writes: Vec<Write>,
    /// Variables that hold another entity in every row.
    pub(super) unique: BTreeSet<VarId>,
    pub(super) single_row: bool,
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

/// What a function reads of a node or relationship that it is given.
#[derive(Clone, Copy)]
struct ReadByCall {
    properties: bool,
    labels: bool,
    /// Of a node, those that begin or end there.
    relationships: bool,
}

/// What a function reads of what it is given; one that is not named here may read properties and
/// labels.
fn read_by_call(name: &str) -> ReadByCall {
    let read = |properties, labels| ReadByCall {
        properties,
        labels,
        relationships: false,
    };
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
        | "graven.element"
        | "graven.slice"
        | functions::CONCATENATE
        | functions::IS_TYPED => read(false, false),
        "keys" | "properties" | functions::MERGE_MAPS => read(true, false),
        "labels" | functions::IS_LABELED | functions::HAS_ALL_LABELS | functions::HAS_ANY_LABEL => {
            read(false, true)
        }
        "apoc.node.id" => read(false, false),
        "apoc.node.labels" => read(false, true),
        _ if name.starts_with("apoc.node.") || name.starts_with("apoc.nodes.") => ReadByCall {
            properties: false,
            labels: false,
            relationships: true,
        },
        _ => read(true, true),
    }
}

impl Rule<'_> {
    /// What an operator alone reads and writes.
    pub(super) fn own(&self, op: &Operator) -> Effects {
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
            O::Expand { .. } | O::ExpandInto { .. } | O::VarExpand { .. } => {
                let types = op.rel_pattern().map(|p| p.types.clone());
                own.reads
                    .push(Access::Relationships(types.unwrap_or_default()));
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
                let read = read_by_call(name);
                for (var, kind) in entities.map(|arg| self.subject(arg)) {
                    let all = Access::Relationships(Vec::new());
                    reads.extend(read.properties.then_some(Access::Property(None, kind, var)));
                    reads.extend(read.labels.then_some(Access::Label(None, var)));
                    reads.extend(read.relationships.then_some(all));
                }
            }
            _ => {}
        }
        expr.for_each_child(&mut |child| self.reads(child, reads));
    }

    pub(super) fn is_plain(&self, expr: &Expr) -> bool {
        is_plain(expr, &self.plain, self.variables)
    }
}

//! What writing operators change, and computed labels, in words of the language.

use std::sync::Arc;

use super::super::expression::Expr;
use super::super::{Creation, Plan, RelType, SetItem, VarId};
use super::{colons, joined, quoted};

impl Plan {
    pub(super) fn creation(&self, creation: &Creation) -> String {
        let map = |properties: &Option<Expr>| {
            properties
                .as_ref()
                .map_or(String::new(), |p| format!(" {}", self.expression(p)))
        };
        let mut parts = Vec::new();
        for node in &creation.nodes {
            let name = self.variable_name(node.var);
            parts.push(format!(
                "({name}{}{}{})",
                colons(&node.labels),
                self.computed(&node.computed),
                map(&node.properties)
            ));
        }
        for relationship in &creation.relationships {
            parts.push(format!(
                "({})-[{}:{}{}]->({})",
                self.variable_name(relationship.start),
                self.variable_name(relationship.var),
                match &relationship.rel_type {
                    RelType::Named(name) => quoted(name),
                    RelType::Computed(name) => format!("$({})", self.expression(name)),
                },
                map(&relationship.properties),
                self.variable_name(relationship.end),
            ));
        }
        parts.join(", ")
    }

    pub(super) fn set_items(&self, items: &[SetItem]) -> String {
        let text = |e: &Expr| self.expression(e);
        joined(items, |item| match item {
            SetItem::Property { target, key, .. } if item.removes() => {
                format!("{}.{}", text(target), quoted(key))
            }
            SetItem::Property {
                target, key, value, ..
            } => {
                format!("{}.{} = {}", text(target), quoted(key), text(value))
            }
            SetItem::Element {
                target, key, value, ..
            } => {
                format!("{}[{}] = {}", text(target), text(key), text(value))
            }
            SetItem::Properties {
                target,
                value,
                keep,
                ..
            } => {
                let sign = if *keep { "+=" } else { "=" };
                format!("{} {sign} {}", text(target), text(value))
            }
            SetItem::AddLabels {
                target,
                labels,
                computed,
                ..
            }
            | SetItem::RemoveLabels {
                target,
                labels,
                computed,
                ..
            } => {
                let computed = self.computed(computed);
                format!("{}{}{computed}", text(target), colons(labels))
            }
        })
    }

    /// Labels that are computed.
    fn computed(&self, labels: &[Expr]) -> String {
        let each = labels.iter().map(|e| format!(":$({})", self.expression(e)));
        each.collect()
    }

    pub(super) fn computed_scan(
        &self,
        var: VarId,
        names: &Expr,
        equal: &[(Arc<str>, Expr)],
    ) -> String {
        let node = format!(
            "({}:$({}))",
            self.variable_name(var),
            self.expression(names)
        );
        let equal = joined(equal, |(key, value)| {
            format!("{} = {}", quoted(key), self.expression(value))
        });
        match equal.is_empty() {
            true => node,
            false => format!("{node} {equal} if indexed"),
        }
    }
}

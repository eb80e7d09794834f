//! What `SET` and `REMOVE` write: properties, maps of them, labels.

use crate::ast::{self, ExprKind, Name, RemoveItem};
use crate::bind::graph::{Branch, Step};
use crate::bind::{Binder, Result};
use crate::diagnostic::Code;
use crate::plan::expression::{Expr, Literal};
use crate::plan::{SetItem, VarId, VarKind};
use crate::schema_view::TableView;
use crate::token::Span;
use crate::types::TypeSet;
use std::collections::BTreeSet;

/// Whether the new properties of a node of a table lack its key, which it cannot lose: the others
/// stay then, too.
fn leaves_key(table: &TableView, properties: &ast::Expr) -> bool {
    match (&table.key, &properties.kind) {
        (Some(key), ExprKind::Map(entries)) => {
            let is_key = |(name, _): &(Name, _)| name.text.eq_ignore_ascii_case(key);
            !entries.iter().any(is_key)
        }
        _ => false,
    }
}

/// A list of one item.
pub(super) fn one_item() -> Expr {
    Expr::List(vec![Expr::Literal(Literal::Integer(1))])
}

impl Binder<'_> {
    pub(super) fn has_subquery(&self, items: &[SetItem]) -> bool {
        let mut found = false;
        for item in items {
            item.for_each_expr(&mut |e| {
                found |= self.waits_for_subquery([e]);
            });
        }
        found
    }

    /// Items that are done where the condition holds. Those with subqueries are done row by row and
    /// item by item, as the body of a `FOREACH`, since what a subquery finds is what the rows and
    /// items before it have left.
    pub(super) fn setting(
        &mut self,
        items: Vec<SetItem>,
        condition: Expr,
        from: (usize, usize),
    ) -> Step {
        let always = matches!(condition, Expr::Literal(Literal::Boolean(true)));
        if always && !self.has_subquery(&items) {
            return Step::Set(items);
        }
        // Also what was declared since, by the MERGE that these items belong to.
        let mut read = BTreeSet::new();
        for item in &items {
            item.for_each_expr(&mut |e| read.extend(e.variables()));
        }
        let imports = self.imports_with(read, from);
        let at = items.first().map_or(self.clause_span, SetItem::place);
        let one = one_item();
        let list = match always {
            true => one,
            false => Expr::Case {
                branches: vec![(condition, one)],
                otherwise: None,
                at,
            },
        };
        let mut steps: Vec<Step> = Vec::new();
        for item in items {
            match steps.last_mut() {
                Some(Step::Set(together)) if together.last().is_some_and(|i| i.is_with(&item)) => {
                    together.push(item);
                }
                _ => steps.push(Step::Set(vec![item])),
            }
        }
        self.done_once(steps, list, imports, at)
    }

    /// Steps that are done for a row as the body of a `FOREACH` of one item, or none.
    pub(super) fn done_once(
        &mut self,
        steps: Vec<Step>,
        list: Expr,
        imports: Vec<VarId>,
        at: Span,
    ) -> Step {
        Step::Foreach {
            list,
            var: self.new_variable("  once", VarKind::Value),
            body: Branch {
                steps,
                columns: Vec::new(),
            },
            imports,
            at,
        }
    }

    /// What a part of a clause that began at `from` needs of the row, where it reads these
    /// variables. Subqueries that it waits for are computed within it, beside each other.
    pub(in crate::bind) fn imports_with(
        &self,
        read: BTreeSet<VarId>,
        from: (usize, usize),
    ) -> Vec<VarId> {
        let mut imports = self.used_since(from);
        for var in read {
            match self.subqueries.get(&var) {
                Some(subquery) if self.is_open_subquery(var) => imports.extend(&subquery.imports),
                _ => imports.push(var),
            }
        }
        imports.retain(|var| !self.is_open_subquery(*var));
        imports.sort_unstable();
        imports.dedup();
        imports
    }

    /// Whether these expressions wait for a subquery.
    pub(in crate::bind) fn waits_for_subquery<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> bool {
        let mut read = exprs.into_iter().flat_map(Expr::variables);
        read.any(|var| self.is_open_subquery(var))
    }

    pub(super) fn set_items(&mut self, items: &[ast::SetItem]) -> Result<Vec<SetItem>> {
        items.iter().map(|item| self.set_item(item)).collect()
    }

    pub(super) fn set_item(&mut self, item: &ast::SetItem) -> Result<SetItem> {
        Ok(match item {
            ast::SetItem::Property { target, value } => {
                // A counter may begin with what is not there yet: `n.c = coalesce(n.c, 0) + 1`.
                match &target.kind {
                    ExprKind::Property { key, .. } => {
                        self.written.insert(key.text.clone());
                    }
                    ExprKind::Index { index, .. } => {
                        if let ExprKind::String(key) = &index.kind {
                            self.written.insert(key.clone());
                        }
                    }
                    _ => {}
                }
                let at = target.span.to(value.span);
                let value = self.expression(&self.cast_to_column(target, value))?.0;
                self.property_item(target, value, true, at)?
            }
            ast::SetItem::Replace { name, value } | ast::SetItem::Merge { name, value } => {
                let target = self.entity(name)?;
                let table = self.table_of_variable(&name.text);
                let cast = self.cast_properties(table.as_ref(), Some(value));
                let (bound, ty) = self.expression(cast.as_ref().unwrap_or(value))?;
                let wanted = TypeSet::MAP.or(TypeSet::ENTITY);
                self.require_of(value, ty, wanted, "the new properties")?;
                if ty.set.is(TypeSet::ENTITY) {
                    let message = "Neo4j is about to drop nodes and relationships in the place of \
                        a map: write properties() around it";
                    self.notice_at(value.span, "DeprecatedPropertiesOf", message);
                }
                self.writes_keys(&bound);
                SetItem::Properties {
                    target,
                    value: bound,
                    keep: matches!(item, ast::SetItem::Merge { .. })
                        || table.is_some_and(|table| leaves_key(&table, value)),
                    at: name.span.to(value.span),
                }
            }
            ast::SetItem::Labels { name, labels } => {
                let labels = self.plain_labels(Some(labels), name.span)?;
                self.written.extend(labels.names.iter().cloned());
                SetItem::AddLabels {
                    target: self.labelled(name)?,
                    labels: labels.names,
                    computed: labels.computed,
                    at: name.span,
                }
            }
        })
    }

    pub(super) fn remove_items(&mut self, items: &[RemoveItem]) -> Result<Vec<SetItem>> {
        items
            .iter()
            .map(|item| match item {
                RemoveItem::Property(target) => {
                    self.property_item(target, Expr::Literal(Literal::Null), false, target.span)
                }
                RemoveItem::Labels { name, labels } => {
                    let labels = self.plain_labels(Some(labels), name.span)?;
                    Ok(SetItem::RemoveLabels {
                        target: self.labelled(name)?,
                        labels: labels.names,
                        computed: labels.computed,
                        at: name.span,
                    })
                }
            })
            .collect()
    }

    /// `target.key` or `target[key]` as what is set.
    fn property_item(
        &mut self,
        target: &ast::Expr,
        value: Expr,
        sets: bool,
        at: Span,
    ) -> Result<SetItem> {
        let holder = |binder: &mut Self, base: &ast::Expr| -> Result<Expr> {
            let (bound, ty) = binder.expression(base)?;
            let what = "what has properties to set";
            binder.expect_parameter(base, TypeSet::WITH_KEYS, what);
            binder.require(ty, TypeSet::ENTITY, base.span, what)?;
            Ok(bound)
        };
        Ok(match &target.kind {
            ExprKind::Property { base, key } => SetItem::Property {
                target: holder(self, base)?,
                key: self.key_behind(base, &key.text),
                value,
                sets,
                at,
            },
            ExprKind::Index { base, index } => {
                let base = holder(self, base)?;
                let (key, ty) = self.expression(index)?;
                self.require_of(index, ty, TypeSet::STRING, "a property key")?;
                self.is_key(index)?;
                if matches!(index.kind, ExprKind::Null) {
                    let message = "null is no name of a property key";
                    return Err(self.error(index.span, Code::UnexpectedSyntax, message));
                }
                SetItem::Element {
                    target: base,
                    key,
                    value,
                    sets,
                    at,
                }
            }
            _ => unreachable!("the parser lets nothing else through"),
        })
    }

    fn entity(&mut self, name: &Name) -> Result<Expr> {
        let (var, ty) = self.resolve(name)?;
        self.require(ty, TypeSet::ENTITY, name.span, "what has properties to set")?;
        Ok(Expr::Variable(var))
    }

    fn labelled(&mut self, name: &Name) -> Result<Expr> {
        let (var, ty) = self.resolve(name)?;
        self.require(ty, TypeSet::NODE, name.span, "what has labels")?;
        Ok(Expr::Variable(var))
    }
}

/// Place of the first `EXISTS {}`, `COUNT {}` or `COLLECT {}` in an expression.
pub(super) fn written_subquery(expr: &ast::Expr) -> Option<Span> {
    if matches!(expr.kind, ExprKind::Subquery { written: true, .. }) {
        return Some(expr.span);
    }
    let mut found = None;
    expr.children(&mut |child| found = found.or_else(|| written_subquery(child)));
    found
}

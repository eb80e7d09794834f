//! Syntax tree to bound query: which name means which variable, and whether the statement makes
//! sense.
//!
//! # How it works
//! One pass over the clauses in order. `bind/pattern.rs` turns paths into query graphs,
//! `bind/expression.rs` binds expressions with `bind/call.rs` and `bind/subquery.rs`,
//! `bind/projection.rs` `WITH` and `RETURN` with grouping and sorting. The result is in
//! `bind/graph.rs`.
//!
//! # Invariants
//! * CY-22 A variable passed on by `WITH` keeps its id, under whatever name.

pub(crate) mod aggregate;
mod call;
mod call_subquery;
mod comprehension;
mod created_table;
mod declared;
mod expression;
mod fixed;
pub(crate) mod graph;
mod guard;
mod json;
mod labels;
mod load;
mod macros;
pub(crate) mod made;
mod notices;
mod path_parts;
mod pattern;
mod procedure;
mod projection;
mod repeated;
mod scope;
mod subquery;
mod tables;
mod untyped;
mod weighted;
mod wide;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use crate::bind::made::{binary, call, unary};
pub(crate) use call::known_function;
pub use declared::type_shown;

use self::graph::{Bound, BoundQuery, Branch, Projection, QueryGraph, Step, Subquery};
use self::scope::{Entry, Scope};
use crate::ParameterNames;
use crate::ast::{self, Clause, ClauseKind, Name};
use crate::bind::aggregate::{Aggregating, contains_aggregate};
use crate::diagnostic::Notice;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::constraint::ConstraintKind;
use crate::plan::schema::{SchemaCommand, SchemaName};
use crate::plan::variables::conjuncts;
use crate::plan::{ExpectedParameter, Expr, PlanMode, VarId, VarKind, Variable};
use crate::schema_view::{Named, SchemaView};
use crate::token::Span;
use crate::types::{Type, TypeSet};

pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// Result columns: heading and variable.
type Columns = Vec<(Arc<str>, VarId)>;

/// Binds a statement.
pub(crate) fn bind(
    text: &str,
    statement: &ast::Statement,
    schema: &dyn SchemaView,
    params: &ParameterNames,
) -> Result<Bound> {
    let mut binder = Binder {
        text,
        schema,
        params,
        explains: statement.mode == PlanMode::Explain,
        missing: BTreeSet::new(),
        created_later: BTreeSet::new(),
        guarded: 0,
        differing: 0,
        scope: Scope::default(),
        variables: Vec::new(),
        subqueries: BTreeMap::new(),
        notices: Vec::new(),
        names: Vec::new(),
        planned_for: BTreeMap::new(),
        expected: Vec::new(),
        written: BTreeSet::new(),
        uses: Vec::new(),
        known_columns: BTreeSet::new(),
        loaded: BTreeSet::new(),
        tables: BTreeMap::new(),
        declared: BTreeMap::new(),
        walks: BTreeMap::new(),
        aggregating: Aggregating::Refused,
        constant_only: None,
        clause_span: Span::default(),
        case_subjects: Vec::new(),
        guards: Vec::new(),
        groups: 0,
        before_pattern: 0,
        depth: 0,
        macro_heights: 0,
        macro_bytes: 0,
    };
    binder.check_used(&statement.used)?;
    let query = binder.query(&statement.query)?;
    let declared = binder.declared_columns(&query.columns);
    binder.notice_missing_parameters();
    Ok(Bound {
        mode: statement.mode,
        query,
        variables: binder.variables,
        subqueries: binder.subqueries,
        notices: binder.notices,
        planned_for: binder.planned_for,
        expected: binder.expected,
        known_columns: binder.known_columns,
        declared,
    })
}

struct Binder<'a> {
    text: &'a str,
    schema: &'a dyn SchemaView,
    params: &'a ParameterNames,
    /// The statement is not run: no parameter is needed.
    explains: bool,
    /// Parameters that it does without.
    missing: BTreeSet<Arc<str>>,
    /// Names that the running `CREATE` has still to give: they are null so far.
    created_later: BTreeSet<Arc<str>>,
    /// Parts of the guards of subqueries so far.
    guarded: usize,
    /// Calls so far that may give another value each time.
    differing: usize,
    scope: Scope,
    variables: Vec<Variable>,
    subqueries: BTreeMap<VarId, Subquery>,
    notices: Vec<Notice>,
    /// Names of the schema by kind, fetched for the first unknown one of it.
    names: Vec<(Named, Vec<String>)>,
    /// Texts of parameters that stand for labels or types.
    planned_for: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// What parameters must be.
    expected: Vec<ExpectedParameter>,
    /// Names the clauses so far write; to read them afterwards is no mistake.
    written: BTreeSet<Arc<str>>,
    /// Every use of a variable, in order; a subquery's imports are read off it.
    uses: Vec<VarId>,
    /// What statements ask of the records of `LOAD CSV` besides their fields.
    known_columns: BTreeSet<VarId>,
    /// Columns of sources, which `*` has in their order.
    loaded: BTreeSet<VarId>,
    /// Labels and types by which patterns name nodes and relationships.
    tables: BTreeMap<VarId, Arc<str>>,
    /// Declared types of variables.
    declared: BTreeMap<VarId, Arc<str>>,
    /// What is known of the relationships of walks, by the variable of their list.
    walks: BTreeMap<VarId, path_parts::Walk>,
    aggregating: Aggregating,
    /// Set to what is being bound where no variable may be read.
    constant_only: Option<&'static str>,
    clause_span: Span,
    /// Subjects of the `CASE`s whose conditions are being bound, the innermost last.
    case_subjects: Vec<made::Typed>,
    /// Conditions under which the value that is being bound is asked for.
    guards: Vec<Expr>,
    /// `MATCH` clauses seen so far.
    groups: u32,
    /// Variables that were there before the pattern that is being bound.
    before_pattern: usize,
    /// Subqueries around the place.
    depth: u32,
    /// Heights of the macros around the place, added up.
    macro_heights: u16,
    /// Bytes of the texts of macros that were written out so far.
    macro_bytes: usize,
}

/// State to restore after a subquery.
struct Mark {
    scope: Scope,
    aggregating: Aggregating,
    uses: usize,
    variables: usize,
    span: Span,
    guards: Vec<Expr>,
}

impl Binder<'_> {
    /// Whether each of these names is one of the database.
    fn check_used(&self, used: &[Name]) -> Result<()> {
        match used.iter().find(|name| !self.schema.is_called(&name.text)) {
            None => Ok(()),
            Some(other) => {
                let message = format!("there is no database `{}` here to `USE`", other.text);
                Err(self
                    .error(other.span, Code::DatabaseNotFound, message)
                    .with_hint(
                        "leave `USE` out, or write one of the names that SHOW DATABASES lists",
                    ))
            }
        }
    }

    fn allows_parameter(&self, name: &str) -> bool {
        self.explains || self.params.allows(name)
    }

    fn error(&self, span: Span, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.text, span, code, message)
    }

    fn new_variable(&mut self, name: &str, kind: VarKind) -> VarId {
        let id = VarId(self.variables.len() as u32);
        self.variables.push(Variable {
            name: name.into(),
            kind,
        });
        id
    }

    fn declare(&mut self, name: &Name, kind: VarKind, ty: Type) -> VarId {
        self.notice_shadowing(name);
        let var = self.new_variable(&name.text, kind);
        self.scope.row.push(Entry {
            name: name.text.clone(),
            var,
            ty,
        });
        var
    }

    fn enter_subquery(&mut self) -> Mark {
        let inner = self.scope.for_subquery();
        self.depth += 1;
        Mark {
            scope: std::mem::replace(&mut self.scope, inner),
            aggregating: std::mem::replace(&mut self.aggregating, Aggregating::Refused),
            uses: self.uses.len(),
            variables: self.variables.len(),
            span: self.clause_span,
            guards: std::mem::take(&mut self.guards),
        }
    }

    /// Back to the surrounding query; the variables of it that the subquery used.
    fn leave_subquery(&mut self, mark: Mark) -> Vec<VarId> {
        self.depth -= 1;
        self.scope = mark.scope;
        self.aggregating = mark.aggregating;
        self.clause_span = mark.span;
        self.guards = mark.guards;
        let mut imports: Vec<VarId> = self.uses.drain(mark.uses..).collect();
        imports.retain(|var| (var.0 as usize) < mark.variables);
        imports.sort_unstable();
        imports.dedup();
        imports
    }

    fn query(&mut self, query: &ast::Query) -> Result<BoundQuery> {
        let outer = self.scope.clone();
        let (first, columns) = self.single_query(&query.first)?;
        if query.unions.is_empty() {
            return Ok(BoundQuery {
                branches: vec![first],
                all: true,
                columns,
            });
        }
        let mut branches = vec![first];
        let mut types = self.column_types(&columns);
        for union in &query.unions {
            self.scope = outer.clone();
            let (mut branch, names) = self.single_query(&union.query)?;
            let found = |(name, _): &(Arc<str>, VarId)| {
                let mut names = names.iter();
                names.find(|(other, _)| other == name).map(|(_, var)| *var)
            };
            let in_order: Option<Vec<VarId>> = columns.iter().map(found).collect();
            if let Some(in_order) = in_order.filter(|_| names.len() == columns.len()) {
                if branch.columns != in_order {
                    let message = "the columns of the parts of a UNION stand in different orders";
                    self.notice_at(union.span, "DeprecatedUnionOrder", message);
                }
                branch.columns = in_order;
            } else {
                let list = |columns: &[(Arc<str>, VarId)]| {
                    columns
                        .iter()
                        .map(|(name, _)| format!("`{name}`"))
                        .collect::<Vec<_>>()
                        .join(", ")
                };
                let message = format!(
                    "the parts of a UNION must return the same columns: {} here, {} before",
                    list(&names),
                    list(&columns)
                );
                return Err(self.error(union.span, Code::DifferentColumnsInUnion, message));
            }
            let own = self.column_types(&columns);
            types
                .iter_mut()
                .zip(own)
                .for_each(|(ty, own)| *ty = ty.or(own));
            branches.push(branch);
        }
        // What comes after sees the rows of all parts.
        for ((name, _), ty) in columns.iter().zip(types) {
            let entry = self.scope.row.iter_mut().find(|e| e.name == *name);
            entry.into_iter().for_each(|entry| entry.ty = ty);
        }
        let mut common: Vec<(Arc<str>, VarId)> = Vec::with_capacity(columns.len());
        for (position, (name, _)) in columns.iter().enumerate() {
            let mut kinds = branches
                .iter()
                .map(|b| self.variables[b.columns[position].0 as usize].kind);
            let kind = kinds
                .next()
                .filter(|kind| kinds.all(|k| k == *kind))
                .unwrap_or(VarKind::Value);
            let var = self.new_variable(name, kind);
            self.declares_union(var, branches.iter().map(|it| it.columns[position]));
            common.push((name.clone(), var));
        }
        Ok(BoundQuery {
            branches,
            all: query.unions[0].all,
            columns: common,
        })
    }

    fn single_query(&mut self, query: &ast::SingleQuery) -> Result<(Branch, Columns)> {
        let mut steps: Vec<Step> = Vec::new();
        let mut columns = Vec::new();
        let mut start = 0;
        if self.depth > 0 {
            start = self.importing_with(query)?;
            if std::mem::take(&mut self.scope.imports_by_with) {
                let taken = |e: &Entry| match query.clauses.first().map(|c| &c.kind) {
                    Some(ClauseKind::With { projection, .. }) if start > 0 => {
                        projection.star.is_some()
                            || projection.items.iter().any(|item| {
                                matches!(&item.expr.kind, ast::ExprKind::Variable(name)
                                    if name.text == e.name)
                            })
                    }
                    _ => false,
                };
                self.scope.withhold(taken);
                self.scope.take_into_row();
            }
        }
        let last = query.clauses.len() - 1;
        for (idx, clause) in query.clauses.iter().enumerate().skip(start) {
            self.clause_span = clause.span;
            if let ClauseKind::Match {
                patterns,
                hints,
                filter,
                ..
            } = &clause.kind
            {
                self.check_hints(hints, patterns, filter.as_ref())?;
                self.notice_hints(hints, patterns);
                self.notice_patterns(patterns, filter.as_ref());
            }
            if let ClauseKind::Return(projection) = &clause.kind {
                let (bound, outputs) = self.projection(projection, None, true)?;
                columns = outputs.iter().map(|e| (e.name.clone(), e.var)).collect();
                steps.push(Step::Project(Box::new(bound)));
            } else if let Some(outputs) =
                self.clause(clause, idx == last && idx == 0, &mut steps)?
            {
                columns = outputs;
            }
        }
        let vars = columns.iter().map(|(_, var)| *var).collect();
        Ok((
            Branch {
                steps,
                columns: vars,
            },
            columns,
        ))
    }

    /// Binds a clause; standalone procedure calls give the columns of the result.
    fn clause(
        &mut self,
        clause: &Clause,
        standalone: bool,
        steps: &mut Vec<Step>,
    ) -> Result<Option<Columns>> {
        match &clause.kind {
            ClauseKind::Match {
                optional,
                patterns,
                hints,
                filter,
            } => {
                if patterns.iter().any(|it| it.weighted().is_some()) {
                    let matched = (*optional, &patterns[..]);
                    self.weighted_match(matched, hints, filter.as_ref(), steps)?;
                    return Ok(None);
                }
                if let [pattern] = &patterns[..]
                    && pattern.shortest.is_some_and(|shortest| shortest.closed)
                    && (pattern::is_selective(pattern) || self.names_bound_relationship(pattern))
                {
                    let step = match optional {
                        true => self.optional_selective_match(pattern, filter.as_ref())?,
                        false => self.selective_match(pattern, filter.as_ref())?,
                    };
                    steps.push(step);
                    return Ok(None);
                }
                let merged = match steps.last_mut() {
                    Some(Step::Match(graph)) if !*optional => std::mem::take(graph),
                    _ => QueryGraph::default(),
                };
                let merging = !merged.nodes.is_empty();
                let graph = self.match_clause(merged, patterns, hints, filter.as_ref())?;
                let (graph, split) = graph;
                match (merging, *optional) {
                    (true, _) => {
                        *steps.last_mut().expect("merging") = Step::Match(graph);
                        steps.extend(split.map(Step::Match));
                    }
                    (false, true) => steps.push(Step::OptionalMatch(graph)),
                    (false, false) => steps.push(Step::Match(graph)),
                }
            }
            ClauseKind::With { projection, filter } => {
                let (bound, _) = self.projection(projection, filter.as_ref(), false)?;
                steps.push(Step::Project(Box::new(bound)));
            }
            ClauseKind::Let(items) => {
                let bound = self.let_clause(items, clause.span)?;
                steps.push(Step::Project(Box::new(bound)));
            }
            ClauseKind::Filter(condition) => {
                let all = ast::Projection::of_all(clause.span);
                let (bound, _) = self.projection(&all, Some(condition), false)?;
                steps.push(Step::Project(Box::new(bound)));
            }
            ClauseKind::Return(_) => unreachable!("bound by the caller"),
            ClauseKind::Unwind { list, name } => {
                let declared = self.declared_element(list);
                let (list, ty) = self.expression(list)?;
                self.check_free(name)?;
                let element = if ty.set.is(TypeSet::LIST) {
                    Type::of(ty.element)
                } else {
                    Type::ANY
                };
                let kind = kind_of(element);
                let var = self.declare(name, kind, element);
                self.declared.extend(declared.map(|of| (var, of)));
                steps.push(Step::Unwind { list, var });
            }
            ClauseKind::Call(call) => return self.procedure(call, standalone, steps),
            ClauseKind::Finish => {}
            ClauseKind::Subquery {
                optional,
                imports,
                query,
                transactions,
            } => {
                let transactions = transactions.as_deref();
                if *imports == ast::Imports::ByWith {
                    self.notice_unscoped(query, *optional);
                }
                self.call_subquery(imports, query, transactions, *optional, true, steps)?;
            }
            ClauseKind::Schema(command) => {
                if let Some(SchemaName::Parameter(name)) = command.name() {
                    self.parameter(&Name {
                        text: name.clone(),
                        span: clause.span,
                    })?;
                }
                match command {
                    SchemaCommand::Table(command) => {
                        self.table_command(command, clause.span, steps)?;
                    }
                    SchemaCommand::CreateConstraint {
                        kind:
                            ConstraintKind::Typed {
                                default: Some(default),
                                ..
                            },
                        ..
                    } => self.check_default(default, clause.span)?,
                    _ => {}
                }
                steps.push(Step::Schema(command.clone()));
            }
            ClauseKind::LoadCsv {
                headers,
                url,
                name,
                terminator,
            } => self.load_csv(*headers, url, name, terminator.as_ref(), steps)?,
            ClauseKind::LoadFrom(load) => self.load_from(load, steps)?,
            ClauseKind::CopyFrom(copy) => self.copy_from(copy, steps)?,
            ClauseKind::CopyTo {
                query,
                file,
                options,
                at,
            } => self.copy_to(query, (file, options), *at, steps)?,
            ClauseKind::Create { .. }
            | ClauseKind::Merge { .. }
            | ClauseKind::Set(_)
            | ClauseKind::Remove(_)
            | ClauseKind::Delete { .. }
            | ClauseKind::Foreach { .. } => self.write_clause(clause, steps)?,
        }
        Ok(None)
    }

    /// `LET`: the columns there are, and new ones.
    fn let_clause(&mut self, items: &[(Name, ast::Expr)], span: Span) -> Result<Projection> {
        let mut projection = ast::Projection::of_all(span);
        for (name, value) in items {
            self.check_free(name)?;
            if contains_aggregate(value) {
                let message = "an aggregate cannot stand in `LET`: it makes one row of many";
                return Err(self
                    .error(value.span, Code::InvalidAggregation, message)
                    .with_hint("use WITH"));
            }
            projection.items.push(ast::ProjectionItem {
                expr: value.clone(),
                alias: Some(name.clone()),
                spread: None,
            });
        }
        let (bound, _) = self.projection(&projection, None, false)?;
        Ok(bound)
    }

    fn check_free(&self, name: &Name) -> Result<()> {
        self.check_unshadowed(name, None)?;
        if self.scope.row.iter().any(|e| e.name == name.text) {
            let message = format!("variable `{}` is already bound", name.text);
            return Err(self
                .error(name.span, Code::VariableAlreadyBound, message)
                .with_hint("choose another name"));
        }
        Ok(())
    }

    /// A condition, split at its `AND`s.
    fn conditions(&mut self, filter: Option<&ast::Expr>) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        if let Some(filter) = filter {
            conjuncts(self.condition(filter)?, &mut conditions);
        }
        Ok(conditions)
    }

    /// Types of the columns of the query just bound.
    fn column_types(&self, columns: &[(Arc<str>, VarId)]) -> Vec<Type> {
        let columns = columns.iter();
        columns.map(|(name, _)| self.column_type(name)).collect()
    }

    /// Type of a column of the query just bound.
    fn column_type(&self, name: &str) -> Type {
        self.scope
            .row
            .iter()
            .find(|e| &*e.name == name)
            .map_or(Type::ANY, |e| e.ty)
    }
}

/// The kind of variable that holds values of a type.
fn kind_of(ty: Type) -> VarKind {
    if ty.set.is(TypeSet::NODE) {
        VarKind::Node
    } else if ty.set.is(TypeSet::RELATIONSHIP) {
        VarKind::Relationship
    } else if ty.set.is(TypeSet::PATH) {
        VarKind::Path
    } else {
        VarKind::Value
    }
}

//! Logical plans: what a statement asks for, without what only helps this executor to find it.
//!
//! # How it works
//! Another engine that computes on the same graph (joins over tables of nodes and relationships)
//! takes the plan as JSON ([`Plan::to_json`]) and makes its own operators of it. It has no indexes
//! and no bitmaps, so the statement is planned as if there were no index, and of the rules only
//! those are applied that make the question smaller: unread columns, and searches with
//! repetitions that do not matter (`plan/rules.rs`, `apply_logical`).
//!
//! # Invariants
//! * SK-1 A logical plan has the rows of the executable one. It holds no index access, no fused
//!   count and no condition in an expansion that is about its far end.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::plan::LoadSource;
use crate::plan::expression::Literal;
use crate::{
    FunctionView, IndexView, LabelIndex, Named, ParameterNames, Plan, ProcedureView, SchemaView,
    SourceFault, SourceView, Stop, Stored, StoredSize, TableView, ValueCounts, bind, parser,
    planner, stop,
};

/// Parses, binds and plans one statement for another engine; `stop` as in
/// [`crate::parse_and_plan_until`].
///
/// # Errors
/// As [`crate::parse_and_plan_until`].
pub fn parse_and_plan_logical(
    text: &str,
    schema: &dyn SchemaView,
    params: &ParameterNames,
    stop: Stop,
) -> Result<Plan, Diagnostic> {
    stop::run(text, stop, || {
        let statement = parser::parse(text)?;
        let schema = WithoutIndexes(schema);
        let bound = bind::bind(text, &statement, &schema, params)?;
        planner::plan_logical(bound, &schema)
    })
}

/// What is known of the data, but for its indexes.
struct WithoutIndexes<'a>(&'a dyn SchemaView);

impl SchemaView for WithoutIndexes<'_> {
    fn index(&self, _: &str, _: &str) -> Option<IndexView> {
        None
    }

    fn indexes(&self, _: &str) -> Vec<LabelIndex> {
        Vec::new()
    }

    fn node_count(&self) -> u64 {
        self.0.node_count()
    }

    fn label_count(&self, label: &str) -> Option<u64> {
        self.0.label_count(label)
    }

    fn type_count(&self, rel_type: &str) -> Option<u64> {
        self.0.type_count(rel_type)
    }

    fn nodes_with(&self, rel_type: &str, start: bool) -> Option<u64> {
        self.0.nodes_with(rel_type, start)
    }

    fn endpoint_degree(&self, rel_type: &str, start: bool) -> Option<f64> {
        self.0.endpoint_degree(rel_type, start)
    }

    fn relationship_count(&self) -> u64 {
        self.0.relationship_count()
    }

    fn pattern_count(&self, start: Option<&str>, rel_type: Option<&str>, end: Option<&str>) -> u64 {
        self.0.pattern_count(start, rel_type, end)
    }

    fn knows_key(&self, key: &str) -> bool {
        self.0.knows_key(key)
    }

    fn names(&self, of: Named) -> Vec<String> {
        self.0.names(of)
    }

    fn stored(&self, what: Stored<'_>) -> Option<StoredSize> {
        self.0.stored(what)
    }

    fn values(&self, of: Stored<'_>) -> Option<ValueCounts> {
        self.0.values(of)
    }

    fn share_equal(&self, of: Stored<'_>, value: Option<&Literal>) -> Option<f64> {
        self.0.share_equal(of, value)
    }

    fn share_between(
        &self,
        of: Stored<'_>,
        low: Option<&Literal>,
        high: Option<&Literal>,
    ) -> Option<f64> {
        self.0.share_between(of, low, high)
    }

    fn source(&self, source: &LoadSource) -> Result<SourceView, SourceFault> {
        self.0.source(source)
    }

    fn table(&self, name: &str) -> Option<TableView> {
        self.0.table(name)
    }

    fn table_called(&self, name: &str) -> Option<(Arc<str>, TableView)> {
        self.0.table_called(name)
    }

    fn type_called(&self, name: &str) -> Option<Arc<str>> {
        self.0.type_called(name)
    }

    fn is_called(&self, name: &str) -> bool {
        self.0.is_called(name)
    }

    fn function(&self, name: &str) -> Option<FunctionView> {
        self.0.function(name)
    }

    fn procedures(&self) -> Vec<String> {
        self.0.procedures()
    }

    fn procedure(&self, name: &str) -> Option<ProcedureView> {
        self.0.procedure(name)
    }
}

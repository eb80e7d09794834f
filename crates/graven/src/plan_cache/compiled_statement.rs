//! What a plan does, found once when it is made.

use crate::procedures;
use crate::procedures::registered::Registry;
use crate::right::Right;
use crate::summary::StatementKind;
use graven_cypher::Plan;
use graven_cypher::plan::schema::SchemaCommand;
use graven_cypher::plan::{Operator, PlanMode};
use graven_pagecache::Reservation;
use std::sync::Arc;
use std::time::Duration;

use super::{CompiledStatement, Counted, HIDDEN, PlanProperties};

impl CompiledStatement {
    pub(crate) fn new(
        text: &str,
        plan: Plan,
        counted: Counted,
        memory: Option<Reservation>,
        registry: &Registry,
    ) -> Self {
        let columns = plan.columns.iter().map(|(name, _)| name.to_string());
        let runs = plan.mode != PlanMode::Explain;
        let of_schema = |op: &Operator| matches!(op, Operator::Schema { .. });
        let calls = |kind: StatementKind| {
            plan.root.any(&|op| match op {
                Operator::Procedure { name, .. } => procedures::kind(name) == Some(kind),
                _ => false,
            })
        };
        let kind = match plan.writes() {
            true if plan.root.any(&of_schema) => StatementKind::ChangesSchema,
            _ if calls(StatementKind::OfSystem) => StatementKind::OfSystem,
            true => StatementKind::Writes,
            false if calls(StatementKind::Writes) => StatementKind::Writes,
            false => StatementKind::Reads,
        };
        let about_users = |op: &Operator| match op {
            Operator::Schema {
                command: SchemaCommand::User(command),
                ..
            } => Some(command.is_own()),
            _ => None,
        };
        let secret = plan.root.any(&|op| about_users(op).is_some());
        let own = secret && plan.root.any(&|op| about_users(op) == Some(true));
        let writes_file = plan.root.any(&|op| matches!(op, Operator::CopyTo { .. }));
        let loads = plan.root.any(&|op| matches!(op, Operator::LoadFrom { .. }));
        let needs = match secret || (writes_file && runs) {
            true => Right::Admin,
            false if plan.writes() && runs => Right::Write,
            false => Right::Read,
        };
        let does = PlanProperties {
            needs: (needs, own),
            secret,
            acts: runs
                && (writes_file
                    || plan.root.any(&|op| match op {
                        Operator::Procedure { name, .. } => procedures::acts(name, registry),
                        _ => false,
                    })),
            makes_transactions: runs
                && plan.root.any(&|op| match op {
                    Operator::Procedure { name, .. } => graven_cypher::has_transactions(name),
                    _ => false,
                }),
            on_files: writes_file || loads,
            loads,
            has_macros: false,
            kind,
            write: runs && plan.writes(),
            run_in_transactions: runs && plan.root.in_transactions().is_some(),
            merge: plan.root.any(&|op| {
                matches!(
                    op,
                    Operator::Merge { .. } | Operator::Procedure { writes: true, .. }
                )
            }),
            call: plan
                .root
                .any(&|op| matches!(op, Operator::Procedure { .. })),
        };
        CompiledStatement {
            memory: memory.map(Arc::new),
            does,
            counted: Arc::new(counted),
            // A statement that may hold a password is shown without it.
            text: Arc::from(if secret { HIDDEN } else { text }),
            columns: columns.collect(),
            plan: Arc::new(plan),
            physical: Arc::default(),
            functions: None,
            planning: Duration::ZERO,
        }
    }
}

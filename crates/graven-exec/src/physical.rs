//! The physical plan: what a statement's runs have in common, made once and kept with its plan.
//!
//! # How it works
//! The [`Planner`] turns the operators of the logical plan into [`PhysicalNode`]s: variables become
//! columns, names become ids, expressions are compiled, and what the logical plan leaves open is
//! chosen (lists aggregated whole, a subquery run once for rows alike, keys computed by threads).
//! A node holds what does not change from run to run and knows how to make its operator.
//! [`PhysicalNode::start`] makes the operators of one run, or of one thread of a parallel pipeline:
//! they share what the node holds and have their own state.
//!
//! [`PhysicalPlans`] keeps the physical plans of one logical plan. `EXPLAIN` shows the nodes
//! ([`PhysicalPlan::steps`]), and `PROFILE` counts by them, so both name what runs.
//!
//! # Invariants
//! * EX-83 A physical plan is immutable: it holds no memory of the budget, no view of the data and
//!   no value of a parameter. Any number of runs and threads may start from it at once.
//! * EX-84 A physical plan is started only where its names mean the same: in the same database,
//!   with as many names known ([`PhysicalPlan::fits`]). Names are never forgotten, so their count
//!   tells whether any were added. Serialisable transactions, which note names, have plans of their
//!   own.
//! * EX-85 Every operator of a run is the operator of one node. Choices are made by the planner
//!   alone: starting a node chooses nothing.
//!
//! # Cost
//! Starting a node allocates its operator and takes one count of each shared part. Planning
//! compiles all expressions, which costs more than running a small statement.
//!
//! # Source
//! DuckDB divides physical operators from their states for the same reason; Kuzu copies the
//! operators of a pipeline for each thread.

pub(crate) mod node;
mod planner;

use std::sync::{Arc, PoisonError, RwLock};

use graven_cypher::explain::Step;
use graven_cypher::plan::Plan;
use graven_types::told;

use crate::error::{ExecError, Result};
use crate::query_context::QueryContext;
use crate::writing::Needs;
use node::PhysicalNode;
use planner::Planner;

/// The file header tells what it is.
pub struct PhysicalPlan {
    pub(crate) root: Arc<PhysicalNode>,
    /// Columns of the root's batches in the order of the result.
    pub(crate) columns: Vec<usize>,
    /// How many nodes it has.
    pub(crate) nodes: u32,
    /// Names that were known before it was made.
    names: usize,
    kind: Kind,
    /// Of a statement that writes.
    needs: Option<Needs>,
}

/// What runs a plan is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Reads outside of a transaction: nothing that it sees changes.
    Settled,
    /// Reads in a transaction.
    Unsettled,
    Writes,
}

impl Kind {
    fn of(rt: &QueryContext) -> Self {
        match (rt.writer.is_some(), rt.is_snapshot_stable) {
            (true, _) => Self::Writes,
            (false, true) => Self::Settled,
            (false, false) => Self::Unsettled,
        }
    }
}

impl PhysicalPlan {
    /// Makes the physical plan for runs as this one.
    ///
    /// # Errors
    /// A plan that cannot be run; a missing parameter.
    pub(crate) fn new(plan: &Plan, rt: &QueryContext) -> Result<Self> {
        let names = rt.snapshot.names_known();
        let (root, nodes) = Planner::plan(plan, rt)?;
        let columns = plan.columns.iter().map(|(name, var)| {
            root.layout.slot(*var).ok_or_else(|| ExecError::Plan {
                message: told!("result column {name} is not produced"),
            })
        });
        Ok(Self {
            columns: columns.collect::<Result<_>>()?,
            root,
            nodes,
            names,
            kind: Kind::of(rt),
            needs: rt.writer.as_ref().map(|_| Needs::of(plan)),
        })
    }

    /// Whether it may be started for this run (EX-84). A serialisable transaction notes which names
    /// are asked for, so it plans anew.
    pub(crate) fn fits(&self, rt: &QueryContext) -> bool {
        self.kind == Kind::of(rt)
            && self.names == rt.snapshot.names_known()
            && !rt.snapshot.records_reads()
    }

    /// Its operators as `EXPLAIN` shows them.
    #[must_use]
    pub fn steps(&self, plan: &Plan) -> Step {
        self.root.step(plan)
    }
}

impl std::fmt::Debug for PhysicalPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PhysicalPlan")
            .field("nodes", &self.nodes)
            .field("names", &self.names)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// The physical plans of one logical plan in one database: the last one of each kind of run.
///
/// # Concurrency
/// Runs take a plan under a shared lock; one that finds none that fits makes it without a lock, and
/// the last one made stays.
#[derive(Debug, Default)]
pub struct PhysicalPlans {
    kinds: [RwLock<Option<Arc<PhysicalPlan>>>; 3],
}

impl PhysicalPlans {
    fn kind(&self, kind: Kind) -> &RwLock<Option<Arc<PhysicalPlan>>> {
        &self.kinds[kind as usize]
    }

    fn known(&self, kind: Kind) -> Option<Arc<PhysicalPlan>> {
        let known = self.kind(kind).read();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What a statement that writes needs, where all names are known that its plan writes.
    pub(crate) fn needs(&self, names: usize) -> Option<Needs> {
        let known = self.known(Kind::Writes)?;
        known.needs.filter(|_| known.names == names)
    }

    /// The plan for this run.
    ///
    /// # Errors
    /// As [`PhysicalPlan::new`].
    pub(crate) fn get(&self, plan: &Plan, rt: &QueryContext) -> Result<Arc<PhysicalPlan>> {
        let kind = Kind::of(rt);
        if let Some(known) = self.known(kind).filter(|known| known.fits(rt)) {
            return Ok(known);
        }
        let made = Arc::new(PhysicalPlan::new(plan, rt)?);
        let mut kept = self
            .kind(kind)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(&made));
        Ok(made)
    }
}

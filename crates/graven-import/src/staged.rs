//! The graph between reading and writing: everything by node ordinal, in spools.

use std::sync::Arc;

use crate::error::ImportError;
use crate::plan::{Names, Plan};
use crate::scratch::Scratch;
use crate::spool::Spool;

/// Values of one property key.
#[derive(Debug)]
pub(crate) struct StagedColumn {
    /// Records (ordinal, 0, value), ordinals ascending.
    pub(crate) values: Spool,
    /// Records (ordinal, number of the element, value): elements of a list property, any order.
    pub(crate) elements: Spool,
}

/// Nodes of consecutive ordinals that came from one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) first: u64,
    pub(crate) space: usize,
    /// Property that keeps the id.
    pub(crate) key: Option<usize>,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) labels: Names,
    pub(crate) types: Names,
    /// Distinct label sets, each a list of label numbers.
    pub(crate) label_sets: Vec<Vec<usize>>,
    /// Records (label set, count, -): the label sets of the nodes by ordinal, run-length coded.
    pub(crate) label_runs: Spool,
    open_run: (usize, u64),
    pub(crate) nodes: u64,
    /// By key number.
    pub(crate) columns: Vec<StagedColumn>,
    /// By type number: records (start ordinal, end ordinal, properties).
    pub(crate) relationships: Vec<Spool>,
    pub(crate) origins: Vec<Origin>,
    scratch: Arc<Scratch>,
}

impl Staged {
    pub(crate) fn new(plan: &Plan, scratch: &Arc<Scratch>) -> Self {
        let spool = || Spool::new(scratch);
        let column = |_| StagedColumn {
            values: spool(),
            elements: spool(),
        };
        Self {
            labels: plan.labels.clone(),
            types: plan.types.clone(),
            label_sets: Vec::new(),
            label_runs: spool(),
            open_run: (0, 0),
            nodes: 0,
            columns: (0..plan.keys.len()).map(column).collect(),
            relationships: (0..plan.types.len()).map(|_| spool()).collect(),
            origins: Vec::new(),
            scratch: Arc::clone(scratch),
        }
    }

    /// Adds a node of a label set and returns its ordinal.
    pub(crate) fn node(&mut self, label_set: usize) -> Result<u32, ImportError> {
        let ordinal = u32::try_from(self.nodes).ok().filter(|o| *o < u32::MAX);
        let ordinal = ordinal.ok_or_else(|| {
            ImportError::Option("more than 4,294,967,295 nodes: this release stops there".into())
        })?;
        self.nodes += 1;
        if self.open_run.0 != label_set {
            self.close_run()?;
            self.open_run.0 = label_set;
        }
        self.open_run.1 += 1;
        Ok(ordinal)
    }

    /// Ends the open run of equal label sets; must be called before `label_runs` is read.
    pub(crate) fn close_run(&mut self) -> Result<(), ImportError> {
        let (set, count) = self.open_run;
        if count > 0 {
            self.label_runs.push(set as u64, count, &[])?;
            self.open_run.1 = 0;
        }
        Ok(())
    }

    /// The number of a label set; the order of labels does not matter.
    pub(crate) fn label_set(&mut self, labels: &[usize]) -> usize {
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        self.label_sets
            .iter()
            .position(|s| *s == sorted)
            .unwrap_or_else(|| {
                self.label_sets.push(sorted);
                self.label_sets.len() - 1
            })
    }

    /// The number of a relationship type, new ones included.
    pub(crate) fn rel_type(&mut self, name: &str) -> usize {
        let number = self.types.intern(name);
        if number == self.relationships.len() {
            self.relationships.push(Spool::new(&self.scratch));
        }
        number
    }

    /// Says that all is read: relationships are taken twice from here on, to be sorted by either
    /// end.
    pub(crate) fn complete(&mut self) {
        for spool in &mut self.relationships {
            spool.freed_after(2);
        }
    }

    /// The scratch folder the spools use.
    pub(crate) fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    /// Says that the nodes from here on belong to `space` and keep their id under `key`.
    pub(crate) fn origin(&mut self, space: usize, key: Option<usize>) {
        self.origins.push(Origin {
            first: self.nodes,
            space,
            key,
        });
    }
}

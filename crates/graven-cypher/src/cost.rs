//! Cardinalities: how many rows a scan, an expansion or a condition leaves, from the schema's statistics.
//!
//! # How it works
//! Labels of a node are taken as nested (the smallest count decides); the fan-out of a relationship is the
//! count of its (start label, type, end label) triple divided by the nodes at the near end; conditions are
//! independent. A variable-length pattern multiplies fan-outs. Numbers are for comparing plans, nothing more.

use std::sync::Arc;

use crate::plan::Direction;
use crate::schema_view::SchemaView;

/// Longest walk an unbounded pattern is reckoned with.
const UNBOUNDED: u32 = 6;

/// No estimate exceeds this.
const MOST: f64 = 1e30;

/// Statistics at hand.
pub(crate) struct Cost<'a> {
    pub schema: &'a dyn SchemaView,
}

/// One end of a relationship pattern as far as it is known.
#[derive(Clone, Copy)]
pub(crate) struct Hop<'a> {
    pub types: &'a [Arc<str>],
    pub direction: Direction,
    pub near: Option<&'a str>,
    pub far: Option<&'a str>,
}

impl Cost<'_> {
    /// Nodes with the label, or all.
    pub(crate) fn nodes(&self, label: Option<&str>) -> f64 {
        match label {
            Some(label) => self.schema.label_count(label).unwrap_or(0) as f64,
            None => self.schema.node_count() as f64,
        }
    }

    /// The label with the fewest nodes.
    pub(crate) fn rarest<'l>(&self, labels: impl Iterator<Item = &'l str>) -> Option<&'l str> {
        labels.min_by(|a, b| self.nodes(Some(a)).total_cmp(&self.nodes(Some(b))))
    }

    /// Relationships of the pattern per node at the near end.
    pub(crate) fn fanout(&self, hop: Hop<'_>) -> f64 {
        let near = self.nodes(hop.near).max(1.0);
        let count = |rel_type: Option<&str>| {
            let out = || self.schema.pattern_count(hop.near, rel_type, hop.far) as f64;
            let into = || self.schema.pattern_count(hop.far, rel_type, hop.near) as f64;
            match hop.direction {
                Direction::Out => out(),
                Direction::In => into(),
                Direction::Both => out() + into(),
            }
        };
        let total: f64 = match hop.types {
            [] => count(None),
            types => types.iter().map(|t| count(Some(t))).sum(),
        };
        (total / near).min(MOST)
    }

    /// As `fan`, what [`Cost::fanout`] gives, for nodes that were reached by another relationship: nodes that have some mostly
    /// have more of other kinds as well, so the mean over all nodes is too small and that over nodes which have any is
    /// the other extreme. The middle of the two counts, in orders of magnitude.
    pub(crate) fn fanout_of_reached(&self, hop: Hop<'_>, fan: f64) -> f64 {
        let any = |start: bool| -> Option<f64> {
            let mut mean = 0.0;
            for rel_type in hop.types {
                let nodes = self.schema.nodes_with(rel_type, start)?.max(1) as f64;
                mean += self.schema.type_count(rel_type)? as f64 / nodes;
            }
            Some(mean)
        };
        let mean = match hop.direction {
            Direction::Out => any(true),
            Direction::In => any(false),
            Direction::Both => any(true).zip(any(false)).map(|(out, into)| out + into),
        };
        let of_any_end = self.fanout(Hop { far: None, ..hop });
        match mean {
            Some(mean) if of_any_end > 0.0 && mean > of_any_end => fan * (mean / of_any_end).sqrt(),
            _ => fan,
        }
    }

    /// Trails of `min..=max` relationships per start.
    pub(crate) fn trails(&self, hop: Hop<'_>, min: u32, max: Option<u32>) -> f64 {
        let any = self.fanout(Hop {
            near: hop.near,
            far: None,
            ..hop
        });
        let last = self.fanout(hop);
        let onward = self
            .fanout(Hop {
                near: None,
                far: None,
                ..hop
            })
            .max(any.min(1e6));
        let share = if any > 0.0 {
            (last / any).min(1.0)
        } else {
            0.0
        };
        let max = max
            .unwrap_or(min.saturating_add(UNBOUNDED))
            .min(min.saturating_add(24));
        let mut total = if min == 0 { 1.0 } else { 0.0 };
        let mut walks = 1.0;
        for length in 1..=max {
            walks = (walks * if length == 1 { any } else { onward }).min(MOST);
            if length >= min {
                total += walks * share;
            }
        }
        total.min(MOST)
    }

    /// Rows of an equality on an index of the label; `None` without an index.
    pub(crate) fn seek(&self, label: &str, key: &str) -> Option<f64> {
        let index = self.schema.index(label, key)?;
        if index.unique {
            return Some(1.0);
        }
        Some((self.nodes(Some(label)) / index.distinct.max(1) as f64).max(1.0))
    }

    /// Share of nodes that have the label.
    pub(crate) fn label_share(&self, label: &str) -> f64 {
        (self.nodes(Some(label)) / self.nodes(None).max(1.0)).min(1.0)
    }
}

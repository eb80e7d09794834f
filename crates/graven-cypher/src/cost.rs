//! Cardinalities: how many rows a scan, an expansion or a condition leaves, from the schema's
//! statistics.
//!
//! # How it works
//! Labels of a node are taken as nested (the smallest count decides); the fan-out of a relationship
//! is the count of its (start label, type, end label) triple divided by the nodes at the near end;
//! conditions are independent. What a comparison with a property leaves is read off counts and
//! bounds of its values, where they are known, and is a usual share otherwise. A variable-length
//! pattern multiplies fan-outs. Numbers are for comparing plans, nothing more.

use std::sync::Arc;

use crate::plan::Direction;
use crate::plan::expression::{BinaryOp, Literal};
use crate::schema_view::{SchemaView, Stored};

/// Longest walk an unbounded pattern is reckoned with.
const UNBOUNDED: u32 = 6;

/// No estimate exceeds this.
pub(crate) const MOST: f64 = 1e30;

/// Share of values on one side of a bound that is not known yet.
const UNKNOWN_BOUND: f64 = 0.3;

/// One end of a range: none; not known yet; this value.
pub(crate) type Bound<'a> = Option<Option<&'a Literal>>;

/// Whose property it is.
#[derive(Clone, Copy)]
pub(crate) enum Owner<'a> {
    /// A node's, with this label.
    Node(Option<&'a str>),
    /// A relationship's of this type.
    Relationship(&'a str),
}

impl<'a> Owner<'a> {
    /// A property of its.
    fn property(self, key: &'a str) -> Stored<'a> {
        match self {
            Owner::Node(Some(label)) => Stored::LabelProperty { label, key },
            Owner::Node(None) => Stored::NodeProperty(key),
            Owner::Relationship(rel_type) => Stored::RelationshipProperty { rel_type, key },
        }
    }
}

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

    /// As `fan`, what [`Cost::fanout`] gives, for nodes that were reached by another relationship:
    /// nodes that have some mostly have more of other kinds as well, so the mean over all nodes is
    /// too small and that over nodes which have any is the other extreme. The middle of the two
    /// counts, in orders of magnitude.
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

    /// As [`Cost::fanout_of_reached`] for nodes that were reached by a relationship of the same
    /// types at the same end: from others back to the end where they meet. A node with many is
    /// reached as many times, so the mean is that over relationships, not over nodes. One of these
    /// led there, which counts no more if they must differ.
    pub(crate) fn fanout_back(&self, hop: Hop<'_>, fan: f64, differs: bool) -> f64 {
        let reached = self.fanout_of_reached(hop, fan);
        let of_any_end = self.fanout(Hop { far: None, ..hop });
        let back = |start: bool| -> f64 {
            let led_there = f64::from(u8::from(differs));
            let of_type = |rel_type: &Arc<str>| {
                Some(self.schema.endpoint_degree(rel_type, start)? - led_there)
            };
            hop.types.iter().filter_map(of_type).sum()
        };
        let back = match hop.direction {
            Direction::Out => back(true),
            Direction::In => back(false),
            Direction::Both => back(true) + back(false),
        };
        match of_any_end > 0.0 {
            true => reached.max(fan * (back / of_any_end)).min(MOST),
            false => reached,
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

    /// Rows of an equality on an index of the label, with this value if it is known; `None` without
    /// an index.
    pub(crate) fn seek(&self, label: &str, key: &str, value: Option<&Literal>) -> Option<f64> {
        let index = self.schema.index(label, key)?;
        if index.unique {
            return Some(1.0);
        }
        let nodes = self.nodes(Some(label));
        let share = self.equal_share(Owner::Node(Some(label)), key, value)?;
        let of = Stored::LabelProperty { label, key };
        Some((nodes * self.having(of, nodes) * share).max(1.0))
    }

    /// Share of the values of a property of `owner` that equal one, if anything is known of them.
    /// Those of an index are counted for its label; statistics, which may be those of more labels,
    /// tell whether a value is a frequent one, or one that is not there.
    fn equal_share(&self, owner: Owner<'_>, key: &str, value: Option<&Literal>) -> Option<f64> {
        let of = owner.property(key);
        let of_any = self.schema.share_equal(of, None);
        let of_value = value.and_then(|value| self.schema.share_equal(of, Some(value)));
        let indexed = match owner {
            Owner::Node(Some(label)) => self.schema.index(label, key).map(|index| {
                let nodes = self.nodes(Some(label)).max(1.0);
                1.0 / if index.unique {
                    nodes
                } else {
                    index.distinct.max(1) as f64
                }
            }),
            _ => None,
        };
        let usual = indexed.or(of_any)?;
        Some(match of_any.zip(of_value) {
            Some((any, own)) if own > any => usual.max(own),
            Some((any, own)) if own < any => usual.min(own),
            _ => usual,
        })
    }

    /// Rows of a range on an index of the label; a bound that is not known yet is `Some(None)`.
    pub(crate) fn range(&self, label: &str, key: &str, low: Bound<'_>, high: Bound<'_>) -> f64 {
        let nodes = self.nodes(Some(label));
        let of = Stored::LabelProperty { label, key };
        nodes * self.having(of, nodes) * self.between(of, low, high)
    }

    /// Share of so many nodes or relationships that have the property.
    fn having(&self, of: Stored<'_>, all: f64) -> f64 {
        match self.schema.values(of) {
            Some(counts) => (counts.values as f64 / all.max(1.0)).min(1.0),
            None => 1.0,
        }
    }

    /// Share of the values of a property between two.
    fn between(&self, of: Stored<'_>, low: Bound<'_>, high: Bound<'_>) -> f64 {
        let known = |bound: Bound<'_>| !matches!(bound, Some(None));
        let unknown = u32::from(!known(low)) + u32::from(!known(high));
        let guess = UNKNOWN_BOUND.powf(f64::from(unknown));
        let (low, high) = (low.flatten(), high.flatten());
        if low.is_none() && high.is_none() {
            return guess;
        }
        let share = self.schema.share_between(of, low, high);
        let guessed = || {
            UNKNOWN_BOUND.powf(f64::from(
                u8::from(low.is_some()) + u8::from(high.is_some()),
            ))
        };
        guess * share.unwrap_or_else(guessed)
    }

    /// Relationships of the type.
    pub(crate) fn relationships(&self, rel_type: &str) -> Option<f64> {
        Some(self.schema.type_count(rel_type)? as f64)
    }

    /// Nodes or relationships that the property may belong to, if they were counted.
    fn owners(&self, owner: Owner<'_>) -> Option<f64> {
        match owner {
            Owner::Node(label) => Some(self.nodes(label)),
            Owner::Relationship(rel_type) => self.relationships(rel_type),
        }
    }

    /// Different values of a property of `owner`, null included, if they were counted; at most one
    /// for each that has it.
    pub(crate) fn property_values(&self, owner: Owner<'_>, key: &str) -> Option<f64> {
        let of = owner.property(key);
        let all = self.owners(owner)?;
        let counts = self.schema.values(of)?;
        Some((counts.distinct as f64 + 1.0).min(all))
    }

    /// Share of rows in which a property of `owner` compares so with a value, if anything is known
    /// of it.
    pub(crate) fn property_share(
        &self,
        owner: Owner<'_>,
        key: &str,
        op: BinaryOp,
        value: Option<&Literal>,
    ) -> Option<f64> {
        let of = owner.property(key);
        let all = self.owners(owner)?;
        // The values may be those of all labels, while these nodes have at most as many as they
        // are.
        let equal = || {
            let share = self.equal_share(owner, key, value)?;
            Some(share.max(1.0 / all.max(1.0)).min(1.0))
        };
        let share = match op {
            BinaryOp::Equal => equal()?,
            BinaryOp::NotEqual => 1.0 - equal()?,
            _ if self.schema.values(of).is_none() => return None,
            BinaryOp::Less | BinaryOp::LessOrEqual => self.between(of, None, Some(value)),
            BinaryOp::Greater | BinaryOp::GreaterOrEqual => self.between(of, Some(value), None),
            _ => return None,
        };
        Some(share * self.having(of, all))
    }

    /// Share of rows in which a property of `owner` lies between two values, of which one that is
    /// not known yet is `None`; `None` if nothing is known of the property.
    pub(crate) fn range_share(
        &self,
        owner: Owner<'_>,
        key: &str,
        low: Option<&Literal>,
        high: Option<&Literal>,
    ) -> Option<f64> {
        let of = owner.property(key);
        let all = self.owners(owner)?;
        self.schema.values(of)?;
        Some(self.between(of, Some(low), Some(high)) * self.having(of, all))
    }

    /// Share of nodes that have the label.
    pub(crate) fn label_share(&self, label: &str) -> f64 {
        (self.nodes(Some(label)) / self.nodes(None).max(1.0)).min(1.0)
    }
}

//! Where the writes of one operator meet what another one reads or writes, and the reason as a
//! text.
//!
//! # How it works
//! A variable that is *unique* holds another entity in each row: reading, changing or deleting that
//! entity cannot meet another row's.

use std::collections::BTreeSet;

use super::Rule;
use super::effects::{Access, Effects, Write};
use crate::plan::mutant::{self, Mutant};
use crate::plan::{VarId, VarKind};

impl Rule<'_> {
    /// Why a barrier is needed between what is below and an operator, if it is.
    pub(super) fn meeting(&self, below: &Effects, own: &Effects) -> Option<String> {
        for write in &own.writes {
            for read in &below.reads {
                if meets(write, read, &below.unique) {
                    return Some(format!("{} after {}", self.written(write), self.read(read)));
                }
            }
        }
        for write in &below.writes {
            for read in &own.reads {
                if meets(write, read, &below.unique) {
                    return Some(format!("{} after {}", self.read(read), self.written(write)));
                }
            }
            for later in &own.writes {
                if collides(write, later, &below.unique) {
                    return Some(format!(
                        "{} after {}",
                        self.written(later),
                        self.written(write)
                    ));
                }
            }
        }
        None
    }

    fn read(&self, read: &Access) -> String {
        match read {
            Access::Nodes(Some(label)) => format!("finding :{label}"),
            Access::Nodes(None) => "finding nodes".to_owned(),
            Access::Relationships(types) if types.is_empty() => {
                "following relationships".to_owned()
            }
            Access::Relationships(types) => format!("following :{}", types.join("|")),
            Access::Property(Some(key), ..) => format!("reading .{key}"),
            Access::Property(None, ..) => "reading properties".to_owned(),
            Access::Label(Some(label), _) => format!("reading :{label}"),
            Access::Label(None, _) => "reading labels".to_owned(),
        }
    }

    fn written(&self, write: &Write) -> String {
        match write {
            Write::Node { labels, .. } if labels.is_empty() => "creating a node".to_owned(),
            Write::Node { labels, .. } => format!("creating :{}", labels.join(":")),
            Write::Relationship(Some(rel_type)) => format!("creating :{rel_type}"),
            Write::Relationship(None) => "creating a relationship".to_owned(),
            Write::Property(Some(key), ..) => format!("setting .{key}"),
            Write::Property(None, ..) => "setting properties".to_owned(),
            Write::Label(Some(label), _) => format!("changing :{label}"),
            Write::Label(None, _) => "changing labels".to_owned(),
            Write::Delete { .. } => "deleting".to_owned(),
        }
    }
}

/// Whether two optional restrictions can hold of one thing.
fn overlap<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b,
        _ => true,
    }
}

/// Whether both are the same variable, and no two rows hold the same entity in it.
fn own_entity(a: Option<VarId>, b: Option<VarId>, unique: &BTreeSet<VarId>) -> bool {
    let is_unique = |var| unique.contains(&var) || mutant::active(Mutant::EagerAllUnique);
    a == b && a.is_some_and(is_unique)
}

/// Whether the write on one row may be seen by the read on another.
fn meets(write: &Write, read: &Access, unique: &BTreeSet<VarId>) -> bool {
    if mutant::active(Mutant::EagerIgnoresReads) {
        return false;
    }
    match (write, read) {
        (Write::Node { labels, any }, Access::Nodes(label)) => {
            *any || label.as_ref().is_none_or(|l| labels.contains(l))
        }
        (Write::Relationship(rel_type), Access::Relationships(types)) => {
            types.is_empty() || rel_type.as_ref().is_none_or(|t| types.contains(t))
        }
        (Write::Property(key, kind, var), Access::Property(read_key, read_kind, read_var)) => {
            overlap(key.as_ref(), read_key.as_ref())
                && overlap(kind.as_ref(), read_kind.as_ref())
                && !own_entity(*var, *read_var, unique)
        }
        (Write::Label(label, _), Access::Nodes(Some(scanned))) => {
            overlap(label.as_ref(), Some(scanned))
        }
        (Write::Label(label, var), Access::Label(read, read_var)) => {
            overlap(label.as_ref(), read.as_ref()) && !own_entity(*var, *read_var, unique)
        }
        (Write::Delete { nodes, .. }, Access::Nodes(_)) => *nodes,
        (Write::Delete { relationships, .. }, Access::Relationships(_)) => *relationships,
        (
            Write::Delete {
                var,
                nodes,
                relationships,
            },
            Access::Property(_, kind, read_var),
        ) => {
            let kind_hit = match kind {
                Some(VarKind::Node) => *nodes,
                Some(VarKind::Relationship) => *relationships,
                _ => true,
            };
            kind_hit && !own_entity(*var, *read_var, unique)
        }
        (Write::Delete { var, nodes, .. }, Access::Label(_, read_var)) => {
            *nodes && !own_entity(*var, *read_var, unique)
        }
        _ => false,
    }
}

/// Whether the order of two writes on different rows may matter.
fn collides(a: &Write, b: &Write, unique: &BTreeSet<VarId>) -> bool {
    if mutant::active(Mutant::EagerIgnoresWrites) {
        return false;
    }
    match (a, b) {
        (Write::Property(key, kind, var), Write::Property(key2, kind2, var2)) => {
            overlap(key.as_ref(), key2.as_ref())
                && overlap(kind.as_ref(), kind2.as_ref())
                && !own_entity(*var, *var2, unique)
        }
        (Write::Label(label, var), Write::Label(label2, var2)) => {
            overlap(label.as_ref(), label2.as_ref()) && !own_entity(*var, *var2, unique)
        }
        // Deleting twice is deleting once.
        (Write::Delete { .. }, Write::Delete { .. }) => false,
        (
            Write::Delete {
                var,
                nodes,
                relationships,
            },
            other,
        )
        | (
            other,
            Write::Delete {
                var,
                nodes,
                relationships,
            },
        ) => match other {
            Write::Property(_, kind, touched) => {
                let kind_hit = match kind {
                    Some(VarKind::Node) => *nodes,
                    Some(VarKind::Relationship) => *relationships,
                    _ => true,
                };
                kind_hit && !own_entity(*var, *touched, unique)
            }
            Write::Label(_, touched) => *nodes && !own_entity(*var, *touched, unique),
            // A new relationship needs its ends; a new node belongs to its row alone.
            Write::Relationship(_) => *nodes,
            _ => false,
        },
        _ => false,
    }
}

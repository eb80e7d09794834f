//! Unnamed relationships of one `MATCH` are told apart by their ends, without looking up their ids.
//!
//! # How it works
//! Finding the id of a relationship costs a look-up for every entry of a list. Where nothing but
//! the rule "no relationship twice" asks for ids, only their number matters: an earlier
//! relationship can be met again only between the same two nodes, and it is exactly one of those
//! found there, so one of them is left out, no matter which. The executor compares nodes that the
//! row holds already.
//!
//! # Invariants
//! * CY-45 Every relationship that the earlier pattern admits between two nodes is admitted by the
//!   later one: its types and directions include those of the earlier one, and it has no condition
//!   of its own.
//! * CY-46 Neither of the two is read by anything else, directly, as part of a repetition, or by a
//!   third pattern that goes by ids.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::mutant::{self, Mutant};
use crate::plan::{Direction, Operator, Plan, RelPattern, VarId};

/// One expansion along a single relationship.
struct Expansion {
    rel: Option<VarId>,
    from: VarId,
    to: VarId,
    pattern: RelPattern,
}

pub(crate) fn apply(plan: &mut Plan) {
    let mut expansions = Vec::new();
    let mut read: BTreeSet<VarId> = plan.columns.iter().map(|(_, var)| *var).collect();
    plan.root.visit(&mut |node| {
        let mut reads = node.op.reads();
        if let Operator::Expand {
            from,
            rel,
            to,
            pattern,
            ..
        }
        | Operator::ExpandInto {
            from,
            rel,
            to,
            pattern,
            ..
        } = &node.op
        {
            reads.retain(|var| !pattern.distinct_from.contains(var));
            reads.extend(pattern.filter.iter().flat_map(|f| f.variables()));
            expansions.push(Expansion {
                rel: *rel,
                from: *from,
                to: *to,
                pattern: pattern.clone(),
            });
        }
        node.op.reads_inside(&mut reads);
        read.extend(reads);
    });
    if expansions
        .iter()
        .all(|e| e.pattern.distinct_from.is_empty())
    {
        return;
    }
    let ends = by_ends(&expansions, &read);
    plan.root.visit_mut(&mut |node| {
        if let Operator::Expand {
            from, to, pattern, ..
        }
        | Operator::ExpandInto {
            from, to, pattern, ..
        } = &mut node.op
            && let Some(pairs) = ends.get(&(*from, *to, pattern.distinct_from.clone()))
        {
            pattern.distinct_from.clear();
            pattern.distinct_ends.clone_from(pairs);
        }
    });
}

/// What identifies an expansion, and the ends of those it must differ from.
type Ends = BTreeMap<(VarId, VarId, Vec<VarId>), Vec<(VarId, VarId)>>;

fn by_ends(expansions: &[Expansion], read: &BTreeSet<VarId>) -> Ends {
    let mut bound: BTreeMap<VarId, &Expansion> = BTreeMap::new();
    let mut free: BTreeSet<VarId> = BTreeSet::new();
    for expansion in expansions {
        let Some(rel) = expansion.rel else { continue };
        let again = bound.insert(rel, expansion).is_some();
        let is_read = read.contains(&rel) && !mutant::active(Mutant::UniquenessByEndpointsRead);
        if again || is_read {
            free.remove(&rel);
        } else {
            free.insert(rel);
        }
    }
    // One that goes by ids takes those it looks at with it, and so on.
    loop {
        let before = free.len();
        for later in expansions {
            if !converts(later, &bound, &free) {
                later.pattern.distinct_from.iter().for_each(|earlier| {
                    free.remove(earlier);
                });
            }
        }
        if free.len() == before {
            break;
        }
    }
    let converted = expansions
        .iter()
        .filter(|later| !later.pattern.distinct_from.is_empty() && converts(later, &bound, &free));
    converted
        .map(|later| {
            let pairs = later.pattern.distinct_from.iter();
            let pairs = pairs.map(|earlier| start_and_end(bound[earlier])).collect();
            let key = (later.from, later.to, later.pattern.distinct_from.clone());
            (key, pairs)
        })
        .collect()
}

/// Whether `later` can go by ends.
fn converts(
    later: &Expansion,
    bound: &BTreeMap<VarId, &Expansion>,
    free: &BTreeSet<VarId>,
) -> bool {
    let own = later.rel.is_none_or(|rel| free.contains(&rel));
    own && later.pattern.filter.is_none()
        && later.pattern.disjoint_from.is_empty()
        && later.pattern.distinct_from.iter().all(|earlier| {
            free.contains(earlier)
                && bound
                    .get(earlier)
                    .is_some_and(|earlier| includes(&later.pattern, &earlier.pattern))
        })
}

/// CY-45.
fn includes(later: &RelPattern, earlier: &RelPattern) -> bool {
    let types = later.types.is_empty()
        || !earlier.types.is_empty() && earlier.types.iter().all(|t| later.types.contains(t));
    // Directed ones are compared from start to end, whichever end they were followed from.
    let directions = later.direction == Direction::Both || earlier.direction != Direction::Both;
    types && directions || mutant::active(Mutant::UniquenessByEndpointsAnyPattern)
}

fn start_and_end(expansion: &Expansion) -> (VarId, VarId) {
    match expansion.pattern.direction {
        Direction::In => (expansion.to, expansion.from),
        Direction::Out | Direction::Both => (expansion.from, expansion.to),
    }
}

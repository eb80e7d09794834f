//! Relationships between two known nodes: one is sought in the list of the other.
//!
//! # How it works
//! Each list is decoded once for all that is sought in it, and searched there. In a list that is
//! long for so few, each is sought in the part of the list where it would stand ([`SEARCHED`]).

use crate::error::Result;
use crate::pattern::Pattern;
use crate::pattern::PatternPart;
use crate::pattern::sweep;
use graven_storage::{Direction, NodeId, Sweep};
use std::ops::{ControlFlow, Range};

/// Neighbours that are decoded in the time in which one is sought in a long list: those of a part.
const SEARCHED: usize = 4096;

/// A row's two nodes as one part sees them.
pub(crate) struct Probe {
    pub(crate) key: u64,
    pub(crate) sought: u64,
    pub(crate) row: u32,
}

/// The relationships of `pattern` from one node to another, in the order of its parts; none is left
/// out but loops met twice.
pub(crate) fn between(pattern: &Pattern, from: u64, to: u64) -> Result<Vec<u64>> {
    let mut matches = Vec::new();
    for part in pattern
        .parts
        .iter()
        .filter(|part| !(part.skip_loops && from == to))
    {
        // Forward lists know their relationships.
        let from_the_end = part.direction == Direction::In;
        let (key, sought) = if from_the_end { (to, from) } else { (from, to) };
        let probes = [Probe {
            key,
            sought,
            row: 0,
        }];
        probe(part, from_the_end, &probes, true, &mut matches)?;
    }
    Ok(matches.into_iter().map(|(_, id)| id).collect())
}

/// Looks for each probe's sought node in the list of its key.
pub(crate) fn probe(
    part: &PatternPart,
    from_the_end: bool,
    probes: &[Probe],
    wants_ids: bool,
    matches: &mut Vec<(u32, u64)>,
) -> Result<()> {
    let adjacency = if from_the_end {
        &part.reversed
    } else {
        &part.adjacency
    };
    let mut keys: Vec<u64> = probes.iter().map(|p| p.key).collect();
    keys.dedup();
    let (narrow, mut scratch, mut wide) = (adjacency.ids_fit_u32(), Vec::new(), Vec::new());
    let mut relationships = Vec::new();
    let mut at = 0;
    sweep(adjacency, &keys, Sweep::Up, |node, list| {
        while probes[at].key < node.0 {
            at += 1;
        }
        let rows = probes[at..].partition_point(|probe| probe.key == node.0);
        let sought = &probes[at..at + rows];
        at += rows;
        let mut find = |probe: &Probe, found: Range<usize>| -> graven_storage::Result<()> {
            if wants_ids && !found.is_empty() {
                relationships.clear();
                list.append_relationships(found, &mut relationships)?;
                matches.extend(relationships.iter().map(|r| (probe.row, r.0)));
            } else {
                matches.extend(found.map(|_| (probe.row, 0)));
            }
            Ok(())
        };
        if rows.saturating_mul(SEARCHED) < list.len() {
            for probe in sought {
                find(probe, list.positions(NodeId(probe.sought))?)?;
            }
        } else if narrow {
            let ids = list.decode(&mut scratch)?;
            for probe in sought {
                find(probe, equal_range(ids, |id| u64::from(*id), probe.sought))?;
            }
        } else {
            let ids = list.decode_wide(&mut wide)?;
            for probe in sought {
                find(probe, equal_range(ids, |id| *id, probe.sought))?;
            }
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Positions of the entries equal to `sought` in a sorted list.
fn equal_range<T>(list: &[T], id: impl Fn(&T) -> u64, sought: u64) -> Range<usize> {
    let first = list.partition_point(|x| id(x) < sought);
    let count = list[first..].iter().take_while(|x| id(x) == sought).count();
    first..first + count
}

//! Relationships between two known nodes: one is sought in the list of the other.

use crate::error::Result;
use crate::pattern::Pattern;
use crate::pattern::PatternPart;
use crate::pattern::sweep;
use graven_storage::Direction;
use graven_storage::Sweep;
use std::ops::ControlFlow;

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
        while at < probes.len() && probes[at].key == node.0 {
            let Probe { sought, row, .. } = probes[at];
            let (first, count) = if narrow {
                equal_range(list.decode(&mut scratch)?, |id| u64::from(*id), sought)
            } else {
                equal_range(list.decode_wide(&mut wide)?, |id| *id, sought)
            };
            if wants_ids {
                relationships.clear();
                list.append_relationships(first..first + count, &mut relationships)?;
                matches.extend(relationships.iter().map(|r| (row, r.0)));
            } else {
                matches.extend(std::iter::repeat_n((row, 0), count));
            }
            at += 1;
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Position and number of entries equal to `sought` in a sorted list.
fn equal_range<T>(list: &[T], id: impl Fn(&T) -> u64, sought: u64) -> (usize, usize) {
    let first = list.partition_point(|x| id(x) < sought);
    let count = list[first..].iter().take_while(|x| id(x) == sought).count();
    (first, count)
}

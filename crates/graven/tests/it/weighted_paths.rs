//! Goal: the paths of least cost are those that an enumeration of all paths finds, with any number
//! of relationships and with so many at most, to all ends and to one, also where relationships cost
//! nothing.

use std::collections::BTreeMap;

use graven_types::rng::SplitMix64;

use crate::graph::{Social, social};
use crate::neo4j_compat::rows;

/// Start, end and cost of a relationship.
type Way = (u64, u64, u64);
/// Ends, cost and length of a path.
type Found = (u64, u64, u64, usize);

/// Adds the paths of at most so many relationships that go on from this one and meet no node twice.
fn enumerate(ways: &[Way], most: usize, path: &mut Vec<u64>, cost: u64, all: &mut Vec<Found>) {
    let last = path[path.len() - 1];
    for (from, to, own) in ways {
        if *from != last || path.contains(to) || path.len() > most {
            continue;
        }
        path.push(*to);
        all.push((path[0], *to, cost + own, path.len() - 1));
        enumerate(ways, most, path, cost + own, all);
        path.pop();
    }
}

/// Those of least cost between each two ends.
fn least(all: Vec<Found>) -> Vec<Found> {
    let mut costs = BTreeMap::new();
    for (from, to, cost, _) in &all {
        let known = costs.entry((*from, *to)).or_insert(*cost);
        *known = (*known).min(*cost);
    }
    let mut kept = all;
    kept.retain(|(from, to, cost, _)| costs[&(*from, *to)] == *cost);
    kept.sort_unstable();
    kept
}

fn graph(random: &mut SplitMix64, nodes: u64) -> (Social, Vec<Way>) {
    let social = social();
    social.rows(&format!(
        "UNWIND range(0, {nodes} - 1) AS i CREATE (:V {{i: i}})"
    ));
    let mut ways = Vec::new();
    for _ in 0..2 * nodes + 2 {
        let (from, to) = (random.below(nodes), random.below(nodes));
        let cost = random.below(4);
        ways.push((from, to, cost));
        social.rows(&format!(
            "MATCH (a:V {{i: {from}}}), (b:V {{i: {to}}}) CREATE (a)-[:R {{c: {cost}}}]->(b)"
        ));
    }
    (social, ways)
}

fn lines(found: &[Found]) -> Vec<String> {
    let line = |(from, to, cost, length): &Found| format!("{from} {to} {cost} {length}");
    found.iter().map(line).collect()
}

#[test]
fn paths_of_least_cost_are_those_that_an_enumeration_finds() {
    let mut random = SplitMix64::new(26);
    for _ in 0..8 {
        let nodes = 4 + random.below(3);
        let (social, ways) = graph(&mut random, nodes);
        for (bounds, most) in [("", 20), ("1..1", 1), ("..2", 2), ("1..3", 3), ("1..4", 4)] {
            let mut all = Vec::new();
            for start in 0..nodes {
                enumerate(&ways, most, &mut vec![start], 0, &mut all);
            }
            let expected = least(all);
            let told = "RETURN a.i AS a, b.i AS b, toInteger(cost(e)) AS c, size(e) AS l \
                ORDER BY a, b, c, l";
            let to_all = format!("MATCH (a:V)-[e:R* ALL WSHORTEST(c) {bounds}]->(b) {told}");
            assert_eq!(
                rows(&social, &to_all),
                lines(&expected),
                "{to_all}: {ways:?}"
            );
            let to_one = format!("MATCH (b:V) {to_all}");
            assert_eq!(
                rows(&social, &to_one),
                lines(&expected),
                "{to_one}: {ways:?}"
            );
            // One path for each two ends: any of those.
            let one = to_all.replace("ALL WSHORTEST", "WSHORTEST");
            let found = rows(&social, &one);
            let pairs: BTreeMap<_, _> = expected.iter().map(|it| ((it.0, it.1), ())).collect();
            assert_eq!(found.len(), pairs.len(), "{one}: {ways:?}");
            let expected = lines(&expected);
            assert!(
                found.iter().all(|it| expected.contains(it)),
                "{one}: {ways:?}"
            );
            let one_of_one = format!("MATCH (b:V) {one}");
            let found = rows(&social, &one_of_one);
            assert_eq!(found.len(), pairs.len(), "{one_of_one}: {ways:?}");
            assert!(
                found.iter().all(|it| expected.contains(it)),
                "{one_of_one}: {ways:?}"
            );
        }
    }
}

//! Goal: counting the matches that hang on nodes gives what listing them gives, on random
//! multigraphs with loops and parallel relationships, and the plans really count.

use graven::{Database, Params, Value};
use graven_io::OpenOptions;
use graven_storage::{GraphBuilder, PropertyValue};

use crate::graph::small;

/// A query that counts, and one that lists the same matches and takes the length.
const PAIRS: &[(&str, &str)] = &[
    (
        "MATCH (a:A)-[:R]->(b) RETURN count(*) AS n",
        "MATCH (a:A)-[r:R]->(b) RETURN size(collect([a, r, b])) AS n",
    ),
    (
        "MATCH (a:A)-[:R]->(b:B)-[:S]-(c) RETURN count(*) AS n",
        "MATCH (a:A)-[r:R]->(b:B)-[s:S]-(c) RETURN size(collect([a, r, b, s, c])) AS n",
    ),
    (
        "MATCH (a)-[:R]-(b:B:A)<-[:S]-(c:C) RETURN count(c) AS n",
        "MATCH (a)-[r:R]-(b:B:A)<-[s:S]-(c:C) RETURN size(collect([a, r, b, s, c])) AS n",
    ),
    (
        "MATCH (m:A)-[:R]->(x), (m)<-[:S]-(y:B), (m)-[:T]-(z) RETURN count(*) AS n",
        "MATCH (m:A)-[r:R]->(x), (m)<-[s:S]-(y:B), (m)-[t:T]-(z) \
         RETURN size(collect([m, r, x, s, y, t, z])) AS n",
    ),
    (
        "MATCH (a:A)-[:R]-(b)-[:R]-(c)-[:S]-(d:C) RETURN count(*) AS n",
        "MATCH (a:A)-[r:R]-(b)-[q:R]-(c)-[s:S]-(d:C) RETURN size(collect([a, r, b, q, c, s, d])) \
            AS n",
    ),
    (
        "MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b:B) OPTIONAL MATCH (a)-[:S]-(c) RETURN count(*) AS \
            n",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b:B) OPTIONAL MATCH (a)-[s:S]-(c) \
         RETURN size(collect([a, r, b, s, c])) AS n",
    ),
    (
        "MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b:B) MATCH (b)-[:R]->(c) RETURN count(*) AS n",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b:B) MATCH (b)-[s:R]->(c) RETURN size(collect([a, \
            r, b, s, c])) AS n",
    ),
    (
        "MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b:B) OPTIONAL MATCH (b)-[:S]-(c) RETURN count(*) AS \
            n",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b:B) OPTIONAL MATCH (b)-[s:S]-(c) \
         RETURN size(collect([a, r, b, s, c])) AS n",
    ),
    (
        "MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b) WITH a, b MATCH (b)-[:S]-(c) RETURN count(*) AS \
            n",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b) WITH * MATCH (b)-[s:S]-(c) RETURN \
            size(collect([a, r, b, s, c])) AS n",
    ),
    (
        "MATCH (a:B) RETURN sum(COUNT { (a)-[:R]->(:A)-[:S]-() }) AS n",
        "MATCH (a:B) RETURN sum(size([(a)-[r:R]->(b:A)-[s:S]-(c) | [r, s]])) AS n",
    ),
];

/// Pairs with groups: key and count.
const GROUPED: &[(&str, &str)] = &[
    (
        "MATCH (a:A)-[:R]->(b)-[:S]->(c:C) RETURN id(a) AS k, count(*) AS n ORDER BY k",
        "MATCH (a:A)-[r:R]->(b)-[s:S]->(c:C) RETURN id(a) AS k, size(collect([r, b, s, c])) AS n \
            ORDER BY k",
    ),
    (
        "MATCH (a:A)-[:R]->(b)-[:S]-(c) RETURN id(b) AS k, count(c) AS n ORDER BY k",
        "MATCH (a:A)-[r:R]->(b)-[s:S]-(c) RETURN id(b) AS k, size(collect([r, a, s, c])) AS n \
            ORDER BY k",
    ),
    (
        "MATCH (a)-[r:R|T]-(b:B) RETURN id(a) AS k, min(r.w) AS m, max(r.w) AS w, count(*) AS n \
            ORDER BY k",
        "MATCH (a)-[r:R|T]-(b:B) RETURN id(a) AS k, min(r.w) AS m, max(r.w) AS w, \
            size(collect([r, b])) AS n ORDER BY k",
    ),
    (
        "MATCH (b:B)<-[r:S]-(a:A)-[s:R]->(c) RETURN id(a) AS k, max(r.w) AS m, max(s.w) AS w, \
            count(c) AS n ORDER BY k",
        "MATCH (b:B)<-[r:S]-(a:A)-[s:R]->(c) RETURN id(a) AS k, max(r.w) AS m, max(s.w) AS w, \
            size(collect([r, b, s, c])) AS n ORDER BY k",
    ),
    (
        "MATCH (a:A)-[r:R]->(b)-[:S]-(c) RETURN id(a) AS k, max(r.w) AS m, min(b.n) AS w, \
            count(DISTINCT b) AS d, count(*) AS n ORDER BY k",
        "MATCH (a:A)-[r:R]->(b)-[s:S]-(c) RETURN id(a) AS k, max(r.w) AS m, min(b.n) AS w, \
            count(DISTINCT b) AS d, size(collect([r, b, s, c])) AS n ORDER BY k",
    ),
    (
        "MATCH (a) OPTIONAL MATCH (a)-[r:R]->(b:B) RETURN id(a) AS k, min(r.w) AS m, count(*) AS n \
            ORDER BY k",
        "MATCH (a) OPTIONAL MATCH (a)-[r:R]->(b:B) RETURN id(a) AS k, min(r.w) AS m, \
            size(collect([a, r])) AS n ORDER BY k",
    ),
];

/// A generator of numbers, the same on every run (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn random_graph(seed: u64, folder: &std::path::Path) -> Database {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut graph = GraphBuilder::new();
    let size = 2 + chance.below(12);
    let nodes: Vec<_> = (0..size)
        .map(|id| {
            let sets: [&[&str]; 6] = [&["A"], &["B"], &["C"], &["A", "B"], &["B", "C"], &[]];
            let labels = sets[chance.below(6) as usize];
            graph.node(labels, &[("n", PropertyValue::Integer(id as i64))])
        })
        .collect();
    for _ in 0..chance.below(40) {
        let rel_type = ["R", "S", "T"][chance.below(3) as usize];
        let (from, to) = (chance.below(size), chance.below(size));
        let weight = PropertyValue::Integer((from * 5 + to * 3) as i64 % 7);
        let properties = [("w", weight)];
        // Some have none.
        let properties = &properties[usize::from((from + to) % 4 == 0)..];
        graph.relationship(
            nodes[from as usize],
            rel_type,
            nodes[to as usize],
            properties,
        );
    }
    let path = folder.join(format!("{seed}.graven"));
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = graven_io::open(&path, &options).expect("created");
    graph.build(file).expect("built");
    Database::open(&path, small()).expect("opened")
}

fn rows(db: &Database, query: &str) -> Vec<Vec<Value>> {
    let result = db.connect().query(query, &Params::new()).expect(query);
    result.map(|row| row.expect(query).into_values()).collect()
}

#[test]
fn counting_is_listing_and_taking_the_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut matches = 0;
    for seed in 1..=60 {
        let db = random_graph(seed, folder.path());
        for (counted, listed) in PAIRS.iter().chain(GROUPED) {
            let counts = rows(&db, counted);
            assert_eq!(counts, rows(&db, listed), "seed {seed}: {counted}");
            matches += counts
                .iter()
                .filter_map(|row| row.last()?.as_integer())
                .sum::<i64>();
        }
    }
    assert!(
        matches > 2_000,
        "the graphs are too thin to tell: {matches}"
    );
}

/// A random statement that counts, one that adds up the lengths of what it lists, and that length:
/// clauses hang on variables of those before, which may be optional.
fn random_pair(chance: &mut Chance) -> (String, String, i64) {
    let (mut counted, mut listed) = (String::new(), String::new());
    let (mut nodes, mut names) = (Vec::<String>::new(), Vec::<String>::new());
    for clause in 0..2 + chance.below(2) {
        let optional = clause > 0 && chance.below(2) == 0;
        let word = if optional {
            " OPTIONAL MATCH "
        } else {
            " MATCH "
        };
        let label = |chance: &mut Chance| ["", "", ":A", ":B", ":C"][chance.below(5) as usize];
        let known = !nodes.is_empty() && chance.below(8) > 0;
        let at = match known {
            true => nodes[chance.below(nodes.len() as u64) as usize].clone(),
            false => format!("v{}", names.len()),
        };
        let first = format!("{word}({at}{})", label(chance));
        if !known {
            nodes.push(at.clone());
            names.push(at);
        }
        counted += &first;
        listed += &first;
        for _ in 0..1 + chance.below(2) {
            let rel = format!("r{}", names.len());
            let [left, right] =
                [["-[", "]->"], ["<-[", "]-"], ["-[", "]-"]][chance.below(3) as usize];
            let types = [":R", ":S", ":R|T", ""][chance.below(4) as usize];
            let known = chance.below(6) == 0;
            let to = match known {
                true => nodes[chance.below(nodes.len() as u64) as usize].clone(),
                false => format!("v{}", names.len() + 1),
            };
            let label = label(chance);
            let shown = if known || chance.below(2) == 0 {
                &*to
            } else {
                ""
            };
            counted += &format!("{left}{types}{right}({shown}{label})");
            listed += &format!("{left}{rel}{types}{right}({to}{label})");
            names.push(rel);
            if !known {
                names.push(to.clone());
            }
            if !known && !shown.is_empty() {
                nodes.push(to);
            }
        }
        if chance.below(4) == 0 {
            counted += &format!(" WITH {}", nodes.join(", "));
            listed += " WITH *";
        }
    }
    let list = format!("size([{}])", names.join(", "));
    let var = &nodes[chance.below(nodes.len() as u64) as usize];
    let (call, each) = match chance.below(3) {
        0 => (
            format!("count({var})"),
            format!("CASE WHEN {var} IS NULL THEN 0 ELSE {list} END"),
        ),
        _ => ("count(*)".to_owned(), list),
    };
    counted += &format!(" RETURN {call} AS n");
    listed += &format!(" RETURN sum({each}) AS n");
    (counted, listed, names.len() as i64)
}

/// Goal: patterns that hang on optional variables, or on each other in any way, are counted as they
/// are listed.
#[test]
fn random_patterns_are_counted_as_they_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut matches, mut optional) = (0, 0);
    for seed in 101..=130 {
        let db = random_graph(seed, folder.path());
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..40 {
            let (counted, listed, length) = random_pair(&mut chance);
            let number = |text: &str| rows(&db, text)[0][0].as_integer().expect(text);
            let count = number(&counted);
            assert_eq!(
                count * length,
                number(&listed),
                "seed {seed}: {counted}\n{listed}"
            );
            matches += count;
            optional += usize::from(count > 0 && counted.contains("OPTIONAL"));
        }
    }
    assert!(
        matches > 2_000 && optional > 100,
        "{matches} matches, {optional} of optional patterns"
    );
}

#[test]
fn the_plans_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = random_graph(7, folder.path());
    let mut counting = 0;
    for (counted, listed) in PAIRS.iter().chain(GROUPED) {
        let plan = |query: &str| {
            let explain = format!("EXPLAIN {query}");
            let result = db.connect().query(&explain, &Params::new()).expect(query);
            result.plan().expect("a plan")
        };
        counting += usize::from(plan(counted).contains("CountMatches"));
        assert!(!plan(listed).contains("CountMatches"), "{listed}");
    }
    // Where the last relationship must differ from another of its pattern, rows are made.
    assert!(
        counting * 3 >= 2 * (PAIRS.len() + GROUPED.len()),
        "{counting} plans count"
    );
}

/// 40 nodes with 30 ends each, on which two relationships hang, and a lonely one whose only end
/// has 302.
fn hubs(folder: &std::path::Path) -> Database {
    let mut graph = GraphBuilder::new();
    let starts: Vec<_> = (0..40).map(|_| graph.node(&["A"], &[])).collect();
    let inner: Vec<_> = (0..50).map(|_| graph.node(&["M"], &[])).collect();
    let behind: Vec<_> = (0..50).map(|_| graph.node(&["X"], &[])).collect();
    let leaf = graph.node(&["L"], &[]);
    let lonely = graph.node(&["B"], &[]);
    let (asked, unasked) = (&inner[..49], inner[49]);
    for (number, start) in starts.iter().enumerate() {
        for step in 0..30 {
            graph.relationship(*start, "T", asked[(number * 7 + step) % asked.len()], &[]);
        }
    }
    for (from, to) in inner.iter().zip(&behind) {
        graph.relationship(*from, "S", *to, &[]);
        graph.relationship(*to, "R", leaf, &[]);
        graph.relationship(*to, "R", leaf, &[]);
    }
    for _ in 0..300 {
        graph.relationship(behind[49], "R", leaf, &[]);
    }
    graph.relationship(lonely, "T", unasked, &[]);
    let path = folder.join("graph.graven");
    let options = OpenOptions {
        create: true,
        ..OpenOptions::default()
    };
    let file = graven_io::open(&path, &options).expect("created");
    graph.build(file).expect("built");
    Database::open(&path, small()).expect("opened")
}

/// Counts what hangs on the nodes with a label, so many times multiplied.
fn counting(label: &str, times: usize) -> String {
    let hanging = " MATCH (x)-[:R]->()".repeat(times);
    let counted = format!("COUNT {{ MATCH (a)-[:T]->(m)-[:S]->(x){hanging} }}");
    format!("MATCH (a:{label}) RETURN id(a) AS k, {counted} AS n ORDER BY k")
}

/// Goal: numbers beyond 32 bits are exact, also where those of all nodes are found at once and most
/// of them are small.
#[test]
fn large_numbers_are_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = hubs(folder.path());
    let both = "A|B";
    let counts = rows(&db, &counting(both, 4));
    assert_eq!(counts.len(), 41);
    for row in &counts[..40] {
        assert_eq!(row[1].as_integer(), Some(30 << 4));
    }
    assert_eq!(counts[40][1].as_integer(), Some(302_i64.pow(4)));
}

/// Goal: an overflow at a node that is never asked for is no error, also where the numbers of all
/// nodes are found at once (EX-59); at one that is asked for it is.
#[test]
fn a_number_that_is_never_asked_for_may_overflow() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = hubs(folder.path());
    // 302 to the power of 8 does not fit 63 bits.
    let counted = |label: &str| counting(label, 8);
    let explained = format!("EXPLAIN {}", counted("A"));
    let plan = db.connect().query(&explained, &Params::new());
    let plan = plan.expect("planned").plan().expect("a plan");
    assert!(plan.contains("CountMatches"), "{plan}");
    let counts = rows(&db, &counted("A"));
    assert_eq!(counts.len(), 40);
    for row in counts {
        assert_eq!(row[1].as_integer(), Some(30 << 8));
    }
    let text = counted("B");
    let failed = db.connect().query(&text, &Params::new());
    let failed = failed.and_then(|mut result| result.try_for_each(|row| row.map(drop)));
    let message = failed.expect_err("it does not fit").to_string();
    assert!(message.contains("63 bits"), "{message}");
}

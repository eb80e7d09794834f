//! Goal: quantified patterns of several relationships, and the shortest of them, give what naive
//! enumeration gives, on random multigraphs with loops and parallel relationships: ends, lists of
//! parts, paths, whichever end is known.

use std::collections::BTreeMap;

use graven::{Config, Connection, Database, Params};

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

/// Nodes are numbers; a node is `:A` if it is even. Relationships by number: type, start, end,
/// weight.
struct Graph {
    nodes: i64,
    edges: Vec<(char, i64, i64, i64)>,
}

/// One step of a pattern: type, whether it goes forward (none: either way).
type Step = (char, Option<bool>);

/// A condition on the nodes and relationships of one repetition.
type Fits<'a> = dyn Fn(&Graph, &[i64], &[usize]) -> bool + 'a;

/// What is repeated: steps, and a condition on (nodes, relationships) of one repetition.
struct Pattern<'a> {
    steps: &'a [Step],
    fits: &'a Fits<'a>,
}

/// A way: nodes and relationships of each repetition.
type Way = Vec<(Vec<i64>, Vec<usize>)>;

impl Graph {
    fn random(chance: &mut Chance) -> Self {
        let nodes = 5;
        let edges = (0..9).map(|_| {
            let kind = if chance.below(2) == 0 { 'R' } else { 'S' };
            let mut node = || chance.below(nodes) as i64;
            (kind, node(), node())
        });
        let edges: Vec<_> = edges.collect();
        let edges = edges
            .into_iter()
            .map(|(k, a, b)| (k, a, b, chance.below(4) as i64));
        Graph {
            nodes: nodes as i64,
            edges: edges.collect(),
        }
    }

    fn load(&self, connection: &Connection) {
        for node in 0..self.nodes {
            let label = if node % 2 == 0 { "A" } else { "B" };
            run(connection, &format!("CREATE (:{label} {{n: {node}}})"));
        }
        for (number, (kind, a, b, w)) in self.edges.iter().enumerate() {
            let create = format!("CREATE (a)-[:{kind} {{e: {number}, w: {w}}}]->(b)");
            run(
                connection,
                &format!("MATCH (a {{n: {a}}}), (b {{n: {b}}}) {create}"),
            );
        }
    }

    /// All single repetitions from a node.
    fn once(&self, from: i64, pattern: &Pattern<'_>) -> Vec<(Vec<i64>, Vec<usize>)> {
        let mut ways = vec![(vec![from], Vec::new())];
        for (kind, forward) in pattern.steps {
            let mut longer = Vec::new();
            for (nodes, rels) in &ways {
                let here = *nodes.last().expect("a node");
                for (number, (k, a, b, _)) in self.edges.iter().enumerate() {
                    let mut ends = Vec::new();
                    if *forward != Some(false) && *a == here {
                        ends.push(*b);
                    }
                    if *forward != Some(true) && *b == here && !(forward.is_none() && a == b) {
                        ends.push(*a);
                    }
                    if k == kind && !rels.contains(&number) {
                        for end in ends {
                            let (mut nodes, mut rels) = (nodes.clone(), rels.clone());
                            nodes.push(end);
                            rels.push(number);
                            longer.push((nodes, rels));
                        }
                    }
                }
            }
            ways = longer;
        }
        ways.retain(|(nodes, rels)| (pattern.fits)(self, nodes, rels));
        ways
    }

    /// All ways of `min..=max` repetitions from a node that avoid some relationships, with their
    /// ends.
    fn ways(
        &self,
        from: i64,
        avoid: &[usize],
        pattern: &Pattern<'_>,
        (min, max): (usize, usize),
    ) -> Vec<(Way, i64)> {
        let (mut found, mut open) = (Vec::new(), vec![(Way::new(), from)]);
        while let Some((way, end)) = open.pop() {
            if way.len() >= min {
                found.push((way.clone(), end));
            }
            if way.len() == max {
                continue;
            }
            for (nodes, rels) in self.once(end, pattern) {
                let used = |rel: &usize| {
                    avoid.contains(rel) || way.iter().any(|(_, own)| own.contains(rel))
                };
                if !rels.iter().any(used) {
                    let (mut longer, end) = (way.clone(), *nodes.last().expect("a node"));
                    longer.push((nodes, rels));
                    open.push((longer, end));
                }
            }
        }
        found
    }
}

fn run(connection: &Connection, text: &str) -> Vec<String> {
    let result = connection.query(text, &Params::new());
    let result = result.unwrap_or_else(|e| panic!("{text}: {}", e.render()));
    let mut rows: Vec<String> = result
        .map(|row| {
            let row = row.unwrap_or_else(|e| panic!("{text}: {e}"));
            row.values()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    rows.sort();
    rows
}

/// Start, end, and the lists of nodes and relationships at each place of the repetition, as the
/// statements return them.
fn told(from: i64, way: &Way, end: i64, places: usize) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let mut parts = vec![from.to_string(), end.to_string()];
    for place in 0..places {
        parts.push(list(
            way.iter()
                .map(|(nodes, _)| nodes[place].to_string())
                .collect(),
        ));
        if place + 1 < places {
            parts.push(list(
                way.iter()
                    .map(|(_, rels)| rels[place].to_string())
                    .collect(),
            ));
        }
    }
    parts.join(" ")
}

const LISTS: &str =
    "s.n, t.n, [x IN a | x.n], [x IN r | x.e], [x IN b | x.n], [x IN q | x.e], [x IN c | x.n]";

#[test]
fn ways_are_those_of_naive_enumeration() {
    let mut chance = Chance(77);
    let any = |_: &Graph, _: &[i64], _: &[usize]| true;
    let weights = |g: &Graph, _: &[i64], r: &[usize]| g.edges[r[0]].3 <= g.edges[r[1]].3;
    let labels = |_: &Graph, n: &[i64], _: &[usize]| n[0] % 2 == 0 && n[1] != 3;
    let (r, s) = (('R', Some(true)), ('S', Some(true)));
    let cases: [(&str, Pattern<'_>, (usize, usize)); 4] = [
        (
            "((a)-[r:R]->(b)-[q:S]->(c)){1,3}",
            Pattern {
                steps: &[r, s],
                fits: &any,
            },
            (1, 3),
        ),
        (
            "((a)-[r:R]->(b)-[q:S]->(c) WHERE r.w <= q.w){0,2}",
            Pattern {
                steps: &[r, s],
                fits: &weights,
            },
            (0, 2),
        ),
        (
            "((a:A)-[r:R]-(b WHERE b.n <> 3)<-[q:S]-(c)){1,2}",
            Pattern {
                steps: &[('R', None), ('S', Some(false))],
                fits: &labels,
            },
            (1, 2),
        ),
        (
            "((a)-[r:S]-(b)-[q:S]-(c)){2}",
            Pattern {
                steps: &[('S', None), ('S', None)],
                fits: &any,
            },
            (2, 2),
        ),
    ];
    for _ in 0..6 {
        let graph = Graph::random(&mut chance);
        let folder = tempfile::tempdir().expect("folder");
        let mut config = Config::default();
        (config.memory, config.create) = (16 << 20, true);
        let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
        let connection = db.connect();
        graph.load(&connection);
        for (text, pattern, bounds) in &cases {
            let all = |from: i64, avoid: &[usize]| graph.ways(from, avoid, pattern, *bounds);
            let mut expected = Vec::new();
            for from in 0..graph.nodes {
                expected.extend(
                    all(from, &[])
                        .iter()
                        .map(|(way, end)| told(from, way, *end, 3)),
                );
            }
            expected.sort();
            let found = run(&connection, &format!("MATCH (s){text}(t) RETURN {LISTS}"));
            assert_eq!(found, expected, "{text} on {:?}", graph.edges);
            // The end is known, or both.
            let to_three: Vec<String> = expected
                .iter()
                .filter(|row| row.split(' ').nth(1) == Some("3"))
                .cloned()
                .collect();
            let found = run(
                &connection,
                &format!("MATCH (t {{n: 3}}) WITH t MATCH (s){text}(t) RETURN {LISTS}"),
            );
            assert_eq!(found, to_three, "{text} to 3 on {:?}", graph.edges);
            let found = run(
                &connection,
                &format!("MATCH (s), (t {{n: 3}}) WITH s, t MATCH (s){text}(t) RETURN {LISTS}"),
            );
            assert_eq!(found, to_three, "{text} between on {:?}", graph.edges);
            // Beside another relationship, from which all must differ; and the path.
            let mut beside = Vec::new();
            for (number, (_, a, b, _)) in graph.edges.iter().enumerate() {
                for (way, end) in all(*b, &[number]) {
                    let rels: Vec<String> = way
                        .iter()
                        .flat_map(|(_, rels)| rels)
                        .map(ToString::to_string)
                        .collect();
                    let rels = [vec![number.to_string()], rels].concat().join(", ");
                    beside.push(format!("{a} {end} {number} [{rels}]"));
                }
            }
            beside.sort();
            let path = format!(
                "MATCH p = (s)-[k]->(m){text}(t) RETURN s.n, t.n, k.e, [x IN relationships(p) | \
                    x.e]"
            );
            assert_eq!(
                run(&connection, &path),
                beside,
                "{path} on {:?}",
                graph.edges
            );
            // The shortest between each two.
            let mut by_ends: BTreeMap<(i64, i64), Vec<Way>> = BTreeMap::new();
            for from in 0..graph.nodes {
                for (way, end) in all(from, &[]) {
                    by_ends.entry((from, end)).or_default().push(way);
                }
            }
            let mut shortest = Vec::new();
            let mut counted = Vec::new();
            for ((from, end), ways) in &by_ends {
                let least = ways.iter().map(Vec::len).min().expect("a way");
                let own = ways.iter().filter(|way| way.len() == least);
                shortest.extend(own.map(|way| told(*from, way, *end, 3)));
                counted.push(format!("{from} {end} {}", ways.len().min(2)));
            }
            shortest.sort();
            counted.sort();
            let found = run(
                &connection,
                &format!("MATCH ALL SHORTEST (s){text}(t) RETURN {LISTS}"),
            );
            assert_eq!(found, shortest, "{text} on {:?}", graph.edges);
            let found = run(
                &connection,
                &format!("MATCH SHORTEST 2 (s){text}(t) RETURN s.n, t.n, count(*)"),
            );
            assert_eq!(found, counted, "{text} on {:?}", graph.edges);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let mut config = Config::default();
    (config.memory, config.create) = (16 << 20, true);
    let db = Database::open(folder.path().join("test.graven"), config).expect("opens");
    let connection = db.connect();
    run(
        &connection,
        "CREATE (:A {n: 1})-[:R]->(:A {n: 2})-[:S]->(:A {n: 3})",
    );
    for (text, code) in [
        (
            "MATCH (s)((a)-[:R]->(b)-[:S*]->(c)){1,2}(t) RETURN s",
            "SyntaxError.InvalidRelationshipPattern",
        ),
        (
            "MATCH (s)((a)((x)-[:R]->(y)-[:S]->(z)){1,2}(b)){1,2}(t) RETURN s",
            "SyntaxError.InvalidRelationshipPattern",
        ),
        (
            "MATCH (s)((s)-[:R]->(b)-[:S]->(c)){1,2}(t) RETURN s",
            "SyntaxError.VariableAlreadyBound",
        ),
        (
            "MATCH p = (s)((a)-[:R]->(b)-[:S]->(c) WHERE length(p) > 1){1,2}(t) RETURN s",
            "SyntaxError.UndefinedVariable",
        ),
        (
            "MATCH (s)((a)-[:R]->(b)-[:S]->(c) WHERE size(d) > 0){1,2}(t)\
                ((d)-[:R]->(e)-[:S]->(f) WHERE size(a) > 0){1,2}(u) RETURN s",
            "SyntaxError.UndefinedVariable",
        ),
        (
            "MATCH (s)((a)-[:R]->(b)-[:S]->(c)){1,2}(t) RETURN a.n",
            "TypeError.InvalidArgumentType",
        ),
        (
            "MATCH p = shortestPath((s)-[:R]->()-[:S]->(t)) RETURN s",
            "NotAvailable.FeatureNotAvailable",
        ),
    ] {
        let error = connection.query(text, &Params::new()).err();
        let error = error.unwrap_or_else(|| panic!("{text} works"));
        assert!(
            error.code() == code
                || error.code().starts_with("SyntaxError") && code.starts_with("TypeError"),
            "{text}: {}",
            error.render()
        );
    }
    let found = run(
        &connection,
        "MATCH (s)((a)-[:R]->(b)-[:S]->(c)){1,2}(t) WHERE size(a) = 1 RETURN s.n, t.n, [x IN b | \
            x.n]",
    );
    assert_eq!(found, ["1 3 [2]"]);
    let with_outer = "MATCH (x:A {n: 3}) MATCH (s)((a)-[:R]->(b)-[:S]->(c) WHERE c.n = \
        x.n){1,2}(t) RETURN s.n, t.n";
    assert_eq!(run(&connection, with_outer), ["1 3"]);
    let selective =
        "MATCH SHORTEST 1 p = (s:A {n: 1})-[:R]->(m)-[:S]->+(t) WHERE t.n = 3 RETURN length(p)";
    assert_eq!(
        run(
            &connection,
            selective
                .replace("SHORTEST 1 p =", "p = SHORTEST 1")
                .as_str()
        ),
        ["2"]
    );
}

/// Goal: what a clause before computed by a subquery is a value for conditions inside repeated
/// patterns of inner subqueries.
#[test]
fn a_column_of_a_subquery_is_a_value_inside() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.create = true;
    let db = Database::open(folder.path().join("columns.graven"), config).expect("opened");
    let connection = db.connect();
    run(
        &connection,
        "CREATE (:A)-[:R]->(:B)-[:R]->(:C) RETURN 1 AS done",
    );
    for (limit, expected) in [(2, "0"), (3, "1")] {
        for relationships in [
            "(()-[:R]->() WHERE lists < LIMIT){2,2}",
            "(()-[:R]->()-[:R]->() WHERE lists < LIMIT){1,1}",
        ] {
            let relationships = relationships.replace("LIMIT", &limit.to_string());
            let text = format!(
                "WITH COUNT {{ MATCH (a)-[:R]->(b) }} AS lists \
                 RETURN COUNT {{ MATCH (s){relationships}(t) }} AS ways"
            );
            assert_eq!(run(&connection, &text), [expected], "{text}");
        }
    }
}

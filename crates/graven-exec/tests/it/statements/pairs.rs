//! Statements that must give the same rows, though their plans differ.

/// Pairs, and the operator that the first one's plan must contain.
pub(super) const PAIRS: &[(&str, &str, &str)] = &[
    (
        "ReachableCount",
        "MATCH (p:A {id: $s})-[:R*1..3]-(f) RETURN count(DISTINCT f)",
        "MATCH (p:A {id: $s})-[r:R*1..3]-(f) WHERE size(r) > 0 RETURN count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A {id: $s})-[:R|S*0..3]->(f:B) WHERE f.x > 1 RETURN count(DISTINCT f)",
        "MATCH (p:A {id: $s})-[r:R|S*0..3]->(f:B) WHERE f.x > 1 AND size(r) >= 0 RETURN \
            count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A {id: $s})<-[:R*1..4 {w: 1}]-(f) RETURN count(DISTINCT f)",
        "MATCH (p:A {id: $s})<-[r:R*1..4]-(f) WHERE reduce(o = true, q IN r | o AND q.w = 1) \
            RETURN count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "UNWIND $ids AS i MATCH (p:A {id: i})-[:R*1..2]-(f) RETURN i, count(DISTINCT f)",
        "UNWIND $ids AS i MATCH (p:A {id: i})-[r:R*1..2]-(f) WHERE size(r) > 0 RETURN i, \
            count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "UNWIND $ids AS i MATCH (p:A {id: i})-[:R*1..2]-(f) RETURN p.x AS k, p, count(DISTINCT f)",
        "UNWIND $ids AS i MATCH (p:A {id: i})-[r:R*1..2]-(f) WHERE size(r) > 0 RETURN p.x AS k, p, \
            count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A {id: $s})-[:S]->(m) MATCH (p)-[:R*1..2]-(f) RETURN m.x % 2 AS k, \
            count(DISTINCT f)",
        "MATCH (p:A {id: $s})-[:S]->(m) MATCH (p)-[r:R*1..2]-(f) WHERE size(r) > 0 RETURN m.x % 2 \
            AS k, count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A {id: $s})-[:R]-(q) WITH DISTINCT q MATCH (q)-[:R*1..2]-(f) WITH DISTINCT q, f \
            RETURN q, count(f)",
        "MATCH (p:A {id: $s})-[:R]-(q) WITH DISTINCT q MATCH (q)-[r:R*1..2]-(f) WHERE size(r) > 0 \
            RETURN q, count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A {id: $s})-[:R*1..3]-(f) WHERE f <> p RETURN count(DISTINCT f)",
        "MATCH (p:A {id: $s})-[r:R*1..3]-(f) WHERE f <> p AND size(r) > 0 RETURN count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A {id: $s}) OPTIONAL MATCH (q:B {id: $s}) WITH p, q MATCH (p)-[:R*0..2]-(f) \
            WHERE f <> q AND p <> f RETURN p, q, count(DISTINCT f)",
        "MATCH (p:A {id: $s}) OPTIONAL MATCH (q:B {id: $s}) WITH p, q MATCH (p)-[r:R*0..2]-(f) \
            WHERE f <> q AND p <> f AND size(r) >= 0 RETURN p, q, count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "UNWIND $ids AS i MATCH (p:A {id: i})-[:R*0..3]-(f) WHERE f <> p RETURN i, count(DISTINCT \
            f)",
        "UNWIND $ids AS i MATCH (p:A {id: i})-[r:R*0..3]-(f) WHERE f <> p AND size(r) >= 0 RETURN \
            i, count(DISTINCT f)",
    ),
    (
        "ReachableCount",
        "MATCH (p:A)-[:S]->(m) MATCH (p)-[:R|S*1..3]-(f:B) WHERE f <> m AND p <> f AND f.x <> m.x \
            RETURN p, m, count(DISTINCT f)",
        "MATCH (p:A)-[:S]->(m) MATCH (p)-[r:R|S*1..3]-(f:B) WHERE f <> m AND p <> f AND f.x <> m.x \
            AND size(r) > 0 RETURN p, m, count(DISTINCT f)",
    ),
    (
        "VarExpand",
        "MATCH (p:A {x: 2})-[:R*1..3]-(f) RETURN count(DISTINCT f)",
        "MATCH (p:A {x: 2})-[r:R*1..3]-(f) WHERE size(r) > 0 RETURN count(DISTINCT f)",
    ),
    (
        "VarExpand",
        "MATCH (p:A {id: $s})-[:R]-(x)-[:R*1..2]-(f) RETURN DISTINCT x, f",
        "MATCH (p:A {id: $s})-[a:R]-(x) MATCH (x)-[r:R*1..2]-(f) WHERE NOT a IN r RETURN DISTINCT \
            x, f",
    ),
    (
        "VarExpand",
        "MATCH (p:A {id: $s})-[:R*2..3]-(f) RETURN count(DISTINCT f)",
        "MATCH (p:A {id: $s})-[r:R*2..3]-(f) WHERE size(r) > 0 RETURN count(DISTINCT f)",
    ),
    (
        "VarExpand",
        "MATCH (p:A {id: $s})-[:R*1..2]-(x)-[:R*1..2]-(f) RETURN count(DISTINCT f)",
        "MATCH (p:A {id: $s})-[a:R*1..2]-(x) MATCH (x)-[b:R*1..2]-(f) WHERE none(q IN a WHERE q IN \
            b) RETURN count(DISTINCT f)",
    ),
    (
        "VarExpand",
        "MATCH (p:A {id: $s})-[:R*1..3]-(f) RETURN min(f.x), max(f.x)",
        "MATCH (p:A {id: $s})-[r:R*1..3]-(f) WHERE size(r) > 0 RETURN min(f.x), max(f.x)",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) WHERE (a)-[:R*1..3]->(b) RETURN a, b",
        "MATCH (a:A {id: $s})-[r:R*1..3]->(b:A {id: $t}) WITH a, b, count(r) AS c WHERE c > 0 \
            RETURN a, b",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}) MATCH (a)-[:R*1..3]-(a) RETURN DISTINCT a",
        "MATCH (a:A {id: $s})-[r:R*1..3]-(b) WHERE id(a) = id(b) AND size(r) > 0 RETURN DISTINCT a",
    ),
    (
        "Expand",
        "MATCH (a)-[:R]->(b)-[:R]-(c:B) RETURN a.id, b.id, c.id",
        "MATCH (a)-[r:R]->(b) MATCH (b)-[q:R]-(c:B) WHERE id(r) <> id(q) RETURN a.id, b.id, c.id",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c:B)-[:R]-(a) RETURN count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[s:R]-(d) WHERE id(d) = id(a) AND \
            id(q) <> id(r) AND id(r) <> id(s) AND id(q) <> id(s) AND c:B RETURN count(*)",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c)-[:R]-(a), (c)-[:S]->(e:B) RETURN count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[s:R]-(d) WHERE id(d) = id(a) AND \
            id(q) <> id(r) AND id(r) <> id(s) AND id(q) <> id(s) MATCH (c)-[:S]->(e:B) RETURN \
            count(*)",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c)-[:S]->(d) WHERE a <> c RETURN count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[:S]->(d) WHERE id(q) <> id(r) AND \
            id(a) <> id(c) RETURN count(*)",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c)-[:S]->(d) RETURN a.x AS x, count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[:S]->(d) WHERE id(q) <> id(r) RETURN \
            a.x AS x, count(d)",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c)-[:S]->(d) WHERE a <> c AND NOT EXISTS { (a)-[:S]-(c) } \
            RETURN count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[:S]->(d) WHERE id(q) <> id(r) AND \
            id(a) <> id(c) AND size([(a)-[:S]-(c) | 1]) = 0 RETURN count(*)",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b)-[:R]-(c:A) WHERE EXISTS { (c)-[:S]->(a) } RETURN count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (b)-[r:R]-(c) WHERE id(q) <> id(r) AND size([(c)-[:S]->(a) | \
            1]) > 0 RETURN count(*)",
    ),
    (
        "CountMatches",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a) RETURN count(*)",
        "MATCH (a)-[q:R]-(b)-[r:R]-(c)-[s:R]-(d)-[t:R]-(a) WHERE id(q) >= 0 AND id(r) >= 0 AND \
            id(s) >= 0 AND id(t) >= 0 RETURN count(*)",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]-(b), (a)-[:R]-(c) WHERE b <> c RETURN count(*)",
        "MATCH (a:A)-[q:R]-(b) MATCH (a)-[r:R]-(c) WHERE id(q) <> id(r) AND id(b) <> id(c) RETURN \
            count(*)",
    ),
    (
        "Expand",
        "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN a.id, b.id, c.id",
        "MATCH (a)-[q:R]->(b) MATCH (b)-[r:R]->(c) MATCH (c)-[s:R]->(d) WHERE id(d) = id(a) AND \
            id(q) <> id(r) AND id(r) <> id(s) AND id(q) <> id(s) RETURN a.id, b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (a)-[:R]->(b)-[:R|S]-(c) RETURN a.id, b.id, c.id",
        "MATCH (a)-[q:R]->(b) MATCH (b)-[r:R|S]-(c) WHERE id(q) <> id(r) RETURN a.id, b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (a)-[:R]-(b)-[:R]->(c) RETURN a.id, b.id, c.id",
        "MATCH (a)-[q:R]-(b) MATCH (b)-[r:R]->(c) WHERE id(q) <> id(r) RETURN a.id, b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (a)-[:R {w: 1}]-(b)-[:R]-(c) RETURN a.id, b.id, c.id",
        "MATCH (a)-[q:R]-(b) MATCH (b)-[r:R]-(c) WHERE id(q) <> id(r) AND q.w = 1 RETURN a.id, \
            b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[s:R]-(d) RETURN a.id, b.id, c.id, d.id, id(s)",
        "MATCH (a)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[s:R]-(d) WHERE id(q) <> id(r) AND \
            id(r) <> id(s) AND id(q) <> id(s) RETURN a.id, b.id, c.id, d.id, id(s)",
    ),
    (
        "Expand",
        "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(d) RETURN a.id, b.id, c.id, d.id",
        "MATCH (a)-[q:R]-(b) MATCH (b)-[r:R]-(c) MATCH (c)-[s:R]-(d) WHERE id(q) <> id(r) AND \
            id(r) <> id(s) AND id(q) <> id(s) RETURN a.id, b.id, c.id, d.id",
    ),
    (
        "Expand",
        "MATCH (a:A)-[:R]-(b)-[:S]-(c:B) WHERE c <> a AND NOT EXISTS { (a)-[:R]->(c) } RETURN \
            a.id, b.id, c.id",
        "MATCH (a:A)-[:R]-(b)-[:S]-(c) WHERE c:B AND id(c) <> id(a) AND size([(a)-[:R]->(c) | 1]) \
            = 0 RETURN a.id, b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) MATCH (a)-[:R]-(b) WHERE b <> x RETURN a.id, \
            b.id",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) MATCH (a)-[:R]-(b) WHERE id(b) <> id(x) RETURN \
            a.id, b.id",
    ),
    (
        "Expand",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) MATCH (a)-[:R]-(b) WHERE NOT EXISTS { \
            (x)-[:R]-(b) } RETURN a.id, b.id",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) MATCH (a)-[:R]-(b) WHERE size([(x)-[:R]-(b) | \
            1]) = 0 RETURN a.id, b.id",
    ),
    (
        "Expand",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(x) MATCH (a)-[:R]-(b), (x)-[:R]->(b) RETURN a.id, \
            b.id",
        "MATCH (a:A)-[:S]->(x) MATCH (a)-[q:R]-(b) MATCH (x)-[r:R]->(d) WHERE id(d) = id(b) AND \
            id(q) <> id(r) RETURN a.id, b.id",
    ),
    (
        "Expand",
        "MATCH (x:A {id: $s}), (y:A {id: $t}) MATCH (a:A)-[:R]-(b)-[:S]->(c) WHERE c = x OR y = c \
            RETURN a.id, b.id, c.id",
        "MATCH (x:A {id: $s}), (y:A {id: $t}) MATCH (a:A)-[:R]-(b)-[:S]->(c) WHERE id(c) = id(x) \
            OR id(y) = id(c) RETURN a.id, b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (x:A {id: $s}) OPTIONAL MATCH (x)-[:S]->(y) MATCH (a:A)<-[:R]-(b)-[:R|S]-(c) WHERE \
            c = y AND b.x > 1 RETURN a.id, b.id, count(*) AS n",
        "MATCH (x:A {id: $s}) OPTIONAL MATCH (x)-[:S]->(y) MATCH (a:A)<-[:R]-(b)-[:R|S]-(c) WHERE \
            id(c) = id(y) AND b.x > 1 RETURN a.id, b.id, count(*) AS n",
    ),
    (
        "HashJoin",
        "MATCH (a:A), (b:A) WHERE a.x + 0 = b.x + 0 RETURN a.id, b.id",
        "MATCH (a:A), (b:A) WHERE NOT a.x <> b.x RETURN a.id, b.id",
    ),
    (
        "HashJoin",
        "MATCH (a:A)-[:R]->(b), (c:A)-[:S]->(d) WHERE b.x = d.x AND a.id <> c.id RETURN a.id, \
            b.id, c.id, d.id",
        "MATCH (a:A)-[:R]->(b), (c:A)-[:S]->(d) WHERE NOT b.x <> d.x AND a.id <> c.id RETURN a.id, \
            b.id, c.id, d.id",
    ),
    (
        "Expand",
        "MATCH (a:A)-[:R]->(b), (c:A)-[:R]->(d) WHERE b.x = d.x RETURN a.id, b.id, c.id, d.id",
        "MATCH (a:A)-[q:R]->(b) MATCH (c:A)-[r:R]->(d) WHERE NOT b.x <> d.x AND id(q) <> id(r) \
            RETURN a.id, b.id, c.id, d.id",
    ),
    (
        "HashJoin",
        "MATCH (a:A)-[:R]->(b) WITH a, b.x + 1 AS y MATCH (c:A) WHERE c.x + 0 = y RETURN a.id, \
            c.id, y",
        "MATCH (a:A)-[:R]->(b) WITH a, b.x + 1 AS y MATCH (c:A) WHERE NOT c.x <> y RETURN a.id, \
            c.id, y",
    ),
    (
        "Expand",
        "MATCH (a:A)-[:R]-(b:A)-[:R]-(c:A)-[:R]-(a) RETURN a.id, b.id, c.id",
        "MATCH (a:A)-[q:R]-(b:A) MATCH (b)-[r:R]-(c:A) MATCH (c)-[s:R]-(d) WHERE id(d) = id(a) AND \
            id(q) <> id(r) AND id(r) <> id(s) AND id(q) <> id(s) RETURN a.id, b.id, c.id",
    ),
    (
        "VarExpand",
        "MATCH (a:A {id: $s})-[:R*1..2]-(b)-[:R]-(c) RETURN b.id, c.id",
        "MATCH (a:A {id: $s})-[r:R*1..2]-(b) MATCH (b)-[q:R]-(c) WHERE NOT q IN r RETURN b.id, \
            c.id",
    ),
    (
        "SemiApply",
        "MATCH (a:A) WHERE EXISTS { (a)-[:R*1..2]->(:B) } RETURN a.id",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R*1..2]->(b:B) WITH a, count(r) AS c WHERE c > 0 RETURN \
            a.id",
    ),
    (
        "AntiSemiApply",
        "MATCH (a:A) WHERE NOT (a)-[:R]->(:B) RETURN a.id",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b:B) WITH a, count(r) AS c WHERE c = 0 RETURN a.id",
    ),
    (
        "Apply",
        "MATCH (a:A) WHERE (a)-[:R]->(:B) OR a.x = 3 RETURN a.id",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->(b:B) WITH a, count(r) AS c WHERE c > 0 OR a.x = 3 \
            RETURN a.id",
    ),
    (
        "Unwind",
        "MATCH ()-[r:R]->() MATCH (a)-[r]-(b) RETURN a.id, b.id",
        "MATCH (a)-[r:R]-(b) RETURN a.id, b.id",
    ),
    (
        "Apply",
        "MATCH (a:A) RETURN a.id, size([(a)-[:R]->(b) | b.x]), COUNT { (a)--() }",
        "MATCH (a:A) OPTIONAL MATCH (a)-[r:R]->() WITH a, count(r) AS c OPTIONAL MATCH (a)-[q]-() \
            RETURN a.id, c, count(q)",
    ),
    (
        "Apply",
        "MATCH (a:A) CALL { WITH a MATCH (a)-[:R]->(b) RETURN count(b) AS c, max(b.x) AS m } \
            RETURN a.id, c, m",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b) RETURN a.id, count(b) AS c, max(b.x) AS m",
    ),
    (
        "Apply",
        "MATCH (a:A) CALL (a) { MATCH (a)-[:R]->(b) RETURN b.id AS i UNION MATCH (a)-[:S]->(b) \
            RETURN b.id AS i } RETURN a.id, i",
        "MATCH (a:A)-[:R|S]->(b) RETURN DISTINCT a.id, b.id",
    ),
    (
        "Apply",
        "MATCH (a:A) CALL (a) { MATCH (a)-[:R]->(b) RETURN b.x AS x, count(*) + a.id AS c } RETURN \
            a.id, x, c",
        "MATCH (a:A)-[:R]->(b) WITH a, b.x AS x, count(*) AS n RETURN a.id, x, n + a.id",
    ),
    (
        "Apply",
        "MATCH (a:A) CALL (a) { MATCH (a)-[:R]->(b) RETURN count(*) + a.id AS c } RETURN a.id, c",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:R]->(b) WITH a, count(b) AS n RETURN a.id, n + a.id",
    ),
    (
        "Apply",
        "MATCH (a:A)-[:R]-() RETURN a, size([(a)-[:S]->(m) | m]) + count(*) AS c",
        "MATCH (a:A)-[:R]-() WITH a, count(*) AS n OPTIONAL MATCH (a)-[s:S]->() WITH a, n, \
            count(s) AS k RETURN a, n + k AS c",
    ),
    (
        "VarExpand",
        "MATCH (a)-[r:R*2..2]->(b:A {id: $s}) RETURN a.id, [q IN r | id(q)]",
        "MATCH (a)-[r:R]->()-[q:R]->(b:A {id: $s}) RETURN a.id, [id(r), id(q)]",
    ),
    (
        "BuildPath",
        "MATCH p = (a)-[:R]->(b)-[:R|S*1..1]-(c:A {id: $s}) RETURN [n IN nodes(p) | n.id], [q IN \
            relationships(p) | id(q)]",
        "MATCH (a)-[r:R]->(b)-[q:R|S]-(c:A {id: $s}) RETURN [a.id, b.id, c.id], [id(r), id(q)]",
    ),
    (
        "IndexSeek",
        "MATCH (a:A) WHERE a.id IN [1, 1, 2, null, 9] RETURN a.id",
        "MATCH (a:A) WHERE a.id + 0 = 1 OR a.id + 0 = 2 OR a.id + 0 = 9 RETURN a.id",
    ),
    (
        "IndexRange",
        "MATCH (a:A) WHERE a.x > 1 AND a.x <= 3 RETURN a.id",
        "MATCH (a:A) WHERE 1 < a.x + 0 <= 3 RETURN a.id",
    ),
    (
        "TopN",
        "MATCH (a:A) RETURN a.id ORDER BY a.x DESC, a.id SKIP 1 LIMIT 2",
        "MATCH (a:A) WITH a ORDER BY a.x DESC, a.id WITH collect(a.id) AS l UNWIND l[1..3] AS i \
            RETURN i",
    ),
    (
        "Aggregate",
        "MATCH (a:A)-[:R]-(b) RETURN a.x AS k, count(*) + sum(b.x) AS t ORDER BY k, t",
        "MATCH (a:A)-[:R]-(b) WITH a.x AS k, collect(b.x) AS l, count(b) AS c RETURN k, c + \
            reduce(s = 0, y IN l | s + y) AS t",
    ),
    (
        "Optional",
        "MATCH (a:A {id: $s}) OPTIONAL MATCH (a)-[r:R]->(b:B) WHERE b.x > a.x RETURN a.id, b.id",
        "MATCH (a:A {id: $s}) WITH a, [(a)-[:R]->(b:B) WHERE b.x > a.x | b.id] AS l UNWIND CASE \
            WHEN size(l) = 0 THEN [null] ELSE l END AS i RETURN a.id, i",
    ),
    (
        "VarExpand",
        "MATCH (a)-[p:R*0..1]->(b)-[q:R*1..3]->(c) RETURN id(a), p, id(c), q",
        "MATCH (a)-[p:R*0..1]->(b) MATCH (b)-[q:R*1..3]->(c) WHERE none(r IN q WHERE r IN p) \
            RETURN id(a), p, id(c), q",
    ),
    (
        "Project",
        "MATCH (a:A) RETURN a {.id, y: a.x + 1} AS m",
        "MATCH (a:A) RETURN {id: a.id, y: a.x + 1} AS m",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) MATCH p = ALL SHORTEST (a)-[:R|S]-*(b) RETURN [r IN \
            relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) MATCH p = (a)-[:R|S*0..]-(b) WITH collect(p) AS ps, \
            min(length(p)) AS m UNWIND [q IN ps WHERE length(q) = m] AS p RETURN [r IN \
            relationships(p) | id(r)] AS l",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) MATCH p = SHORTEST 3 (a)-[:R|S|T]->{0,6}(b) RETURN \
            length(p) AS l",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) MATCH p = (a)-[:R|S|T*0..6]->(b) RETURN length(p) AS \
            l ORDER BY l LIMIT 3",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) MATCH p = SHORTEST 2 GROUPS (a)-[:R|S]-{1,5}(b) \
            RETURN [r IN relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) MATCH p = (a)-[:R|S*1..5]-(b) WITH collect(p) AS ps, \
            collect(DISTINCT length(p)) AS ls UNWIND ps AS p WITH p, size([l IN ls WHERE l < \
            length(p)]) AS below WHERE below < 2 RETURN [r IN relationships(p) | id(r)] AS l",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) WHERE a <> b MATCH p = \
            shortestPath((a)-[:R|S*]->(b)) RETURN length(p) AS l",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) WHERE a <> b MATCH p = (a)-[:R|S*]->(b) RETURN \
            length(p) AS l ORDER BY l LIMIT 1",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) WHERE a <> b MATCH p = \
            allShortestPaths((a)<-[:R|S*..4]-(b)) WHERE all(r IN relationships(p) WHERE id(r) <> \
            1) RETURN [r IN relationships(p) | id(r)] AS l",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) WHERE a <> b MATCH p = (a)<-[:R|S*..4]-(b) WHERE \
            none(r IN relationships(p) WHERE id(r) = 1) WITH collect(p) AS ps, min(length(p)) AS m \
            UNWIND [q IN ps WHERE length(q) = m] AS p RETURN [r IN relationships(p) | id(r)] AS l",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}) MATCH p = ANY SHORTEST (a)-[:R|S]-+(a) RETURN length(p) AS l",
        "MATCH (a:A {id: $s}) MATCH p = (a)-[:R|S*1..]-(a) RETURN length(p) AS l ORDER BY l LIMIT \
            1",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b) WHERE a <> b MATCH p = shortestPath((a)-[:R|S*..4]->(b)) RETURN \
            b, length(p) AS l",
        "MATCH (a:A {id: $s}), (b) WHERE a <> b MATCH p = (a)-[:R|S*..4]->(b) RETURN b, \
            min(length(p)) AS l",
    ),
    (
        "VarExpandInto",
        "MATCH (b), (a:A) WHERE a <> b MATCH p = allShortestPaths((b)-[:R|S*..3]-(a)) RETURN a, b, \
            [r IN relationships(p) | id(r)] AS l",
        "MATCH (b), (a:A) WHERE a <> b MATCH p = (b)-[:R|S*..3]-(a) WITH a, b, collect(p) AS ps \
            WITH a, b, ps, reduce(m = 9, p IN ps | CASE WHEN length(p) < m THEN length(p) ELSE m \
            END) AS m UNWIND ps AS p WITH a, b, p, m WHERE length(p) = m RETURN a, b, [r IN \
            relationships(p) | id(r)] AS l",
    ),
    (
        "VarExpandInto",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) RETURN a.id, b.id, \
            length(shortestPath((a)-[:R*0..]-(b))) AS l",
        "MATCH (a:A {id: $s}), (b:A {id: $t}) OPTIONAL MATCH p = (a)-[:R*0..]-(b) RETURN a.id, \
            b.id, min(length(p)) AS l",
    ),
    (
        "HashJoin",
        "MATCH (a:A) OPTIONAL MATCH (b:B) WHERE b.x = a.x RETURN a, b",
        "MATCH (a:A) OPTIONAL MATCH (b:B) WHERE b.x <= a.x AND b.x >= a.x RETURN a, b",
    ),
    (
        "HashJoin",
        "MATCH (a)-[:R]->(m) OPTIONAL MATCH (b:B)-[:R]-(c) WHERE c.x = m.x AND b.id > a.id RETURN \
            a, m, b, c",
        "MATCH (a)-[:R]->(m) OPTIONAL MATCH (b:B)-[:R]-(c) WHERE c.x <= m.x AND c.x >= m.x AND \
            b.id > a.id RETURN a, m, b, c",
    ),
    (
        "HashJoin",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(m), (b:B) WHERE b.x = m.x RETURN a, m, b",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(m), (b:B) WHERE b.x <= m.x AND b.x >= m.x RETURN a, \
            m, b",
    ),
    (
        "HashJoin",
        "MATCH (a) WHERE EXISTS { MATCH (b:B) WHERE b.x = a.x AND b <> a } RETURN a",
        "MATCH (a) WHERE EXISTS { MATCH (b:B) WHERE b.x <= a.x AND b.x >= a.x AND b <> a } RETURN \
            a",
    ),
    (
        "HashJoin",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:T]->(m) RETURN a, m, COUNT { MATCH (b:B) WHERE b.x = m.x \
            } AS c",
        "MATCH (a:A) OPTIONAL MATCH (a)-[:T]->(m) RETURN a, m, COUNT { MATCH (b:B) WHERE b.x <= \
            m.x AND b.x >= m.x } AS c",
    ),
    (
        "Distinct",
        "MATCH (a:A)-[:R]->(b) WITH DISTINCT a, b RETURN a.id, b.id",
        "MATCH (a:A)-[:R]->(b) WITH a, collect(DISTINCT b) AS l UNWIND l AS b RETURN a.id, b.id",
    ),
    (
        "Distinct",
        "MATCH (a:A)-[:R]-(b:B) WITH DISTINCT a, b MATCH (b)<-[:S]-(c) RETURN DISTINCT b.id, c.id",
        "MATCH (a:A)-[:R]-(b:B) WITH collect([a, b]) AS l UNWIND l AS p WITH p[1] AS b MATCH \
            (b)<-[:S]-(c) RETURN DISTINCT b.id, c.id",
    ),
    (
        "Expand",
        "MATCH (a:A)<-[r:R]-(b:B) WHERE r.w > 0 RETURN a.id, b.id, r.w",
        "MATCH (a:A)<-[r:R]-(b) WITH a, r, b, r.w > 0 AS keep WHERE keep AND 'B' IN labels(b) \
            RETURN a.id, b.id, r.w",
    ),
    (
        "Expand",
        "MATCH (a)-[r:R|S {w: 1}]-(b:B) RETURN id(a), b.id",
        "MATCH (a)-[r:R|S]-(b) WITH a, b, r.w = 1 AS keep WHERE keep AND 'B' IN labels(b) RETURN \
            id(a), b.id",
    ),
    (
        "Optional",
        "MATCH (a:A)-[:R]-(b) WITH DISTINCT a, b OPTIONAL MATCH (a)<-[:S]-(c)<-[:R]-(b) RETURN \
            id(a), id(b), count(c)",
        "MATCH (a:A)-[:R]-(b) WITH DISTINCT a, b RETURN id(a), id(b), \
            size([(a)<-[:S]-(c)<-[:R]-(b) | c]) AS n",
    ),
    (
        "CountMatches",
        "MATCH (a:A)-[:R]->(b)-[:S]->(c)-[:R]->(d) MATCH (a)-[:S]->(e)<-[:R]-(d) RETURN count(*)",
        "MATCH (a:A)-[:R]->(b)-[:S]->(c)-[q:R]->(d) WITH a, d, q MATCH (a)-[:S]->(e) MATCH \
            (e)<-[:R]-(f) WHERE id(f) = id(d) RETURN sum(CASE WHEN id(q) < 0 THEN 0 ELSE 1 END)",
    ),
    (
        "VarExpand",
        "MATCH (a:A {id: $s}) ((x)-[r:R|S]->(y) WHERE id(r) <> 2){1,3} (b:A) RETURN b.id, [q IN r \
            | id(q)]",
        "MATCH (a:A {id: $s})-[r:R|S*1..3]->(b:A) WHERE none(q IN r WHERE id(q) = 2) RETURN b.id, \
            [q IN r | id(q)]",
    ),
];

// Friends of friends with the same interests who are not friends.
MATCH (p:Person) WITH p ORDER BY p.id LIMIT 40
MATCH (p)-[:KNOWS]-(:Person)-[:KNOWS]-(q:Person)
WHERE p <> q AND NOT (p)-[:KNOWS]-(q)
WITH DISTINCT p, q
MATCH (p)-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(q)
RETURN p.id AS person, q.id AS other, count(t) AS common
ORDER BY common DESC, person, other
LIMIT 100

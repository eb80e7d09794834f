// Persons within two friendships of the one who knows most.
MATCH (p:Person)-[:KNOWS]-(f:Person)
WITH p, count(f) AS friends ORDER BY friends DESC, p.id LIMIT 10
MATCH (p)-[:KNOWS*1..2]-(other:Person)
RETURN p.id AS person, friends, count(DISTINCT other) AS reached
ORDER BY friends DESC, person

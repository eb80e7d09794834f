// Whose friends live in the most countries.
MATCH (p:Person)-[:KNOWS]-(:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(c:Country)
RETURN p.id AS person, count(DISTINCT c) AS countries, count(*) AS friends
ORDER BY countries DESC, friends DESC, person
LIMIT 100

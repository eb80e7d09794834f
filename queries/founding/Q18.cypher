// Forums whose members come from the most countries.
MATCH (f:Forum)-[:HAS_MEMBER]->(:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(c:Country)
RETURN f.id AS forum, count(DISTINCT c) AS countries, count(*) AS members
ORDER BY countries DESC, members DESC, forum
LIMIT 50

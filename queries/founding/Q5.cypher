// The largest forums, and where their moderators live.
MATCH (f:Forum)-[:HAS_MEMBER]->(p:Person)
WITH f, count(p) AS members ORDER BY members DESC, f.id LIMIT 100
MATCH (f)-[:HAS_MODERATOR]->(who:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(c:Country)
RETURN f.id AS forum, members, who.id AS moderator, c.name AS country
ORDER BY members DESC, forum

// Companies by the number of friendships among those who work there.
MATCH (c:Company)<-[:WORK_AT]-(a:Person)-[:KNOWS]-(b:Person)-[:WORK_AT]->(c)
RETURN c.name AS company, count(*) / 2 AS friendships
ORDER BY friendships DESC, company
LIMIT 50

// Triangles of friends in one country.
MATCH (c:Country {name: 'Germany'})
MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(c)
MATCH (a)-[:KNOWS]-(b:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(c)
MATCH (b)-[:KNOWS]-(d:Person)-[:KNOWS]-(a)
WHERE a.id < b.id AND b.id < d.id
RETURN count(*) AS triangles

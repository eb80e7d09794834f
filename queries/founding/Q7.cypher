// Friendships within and across countries.
MATCH (a:Person)-[:KNOWS]->(b:Person)
MATCH (a)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(x:Country)
MATCH (b)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(y:Country)
RETURN x = y AS same, count(*) AS friendships
ORDER BY same

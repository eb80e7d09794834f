// Interests that friends share.
MATCH (a:Person)-[:KNOWS]->(b:Person), (a)-[:HAS_INTEREST]->(t:Tag)<-[:HAS_INTEREST]-(b)
RETURN t.name AS tag, count(*) AS pairs
ORDER BY pairs DESC, tag
LIMIT 100

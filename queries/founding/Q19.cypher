// Strangers who like the same posts.
MATCH (a:Person)-[:LIKES]->(m:Post)<-[:LIKES]-(b:Person)
WHERE m.creationDate > 1343779200000 AND a.id < b.id AND NOT (a)-[:KNOWS]-(b)
RETURN a.id AS one, b.id AS other, count(*) AS posts
ORDER BY posts DESC, one, other
LIMIT 20

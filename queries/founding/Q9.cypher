// Persons whose friends like what they write.
MATCH (p:Person)<-[:HAS_CREATOR]-(m:Message)<-[:LIKES]-(f:Person)-[:KNOWS]-(p)
RETURN p.id AS person, count(*) AS likes, count(DISTINCT f) AS friends
ORDER BY likes DESC, person
LIMIT 100

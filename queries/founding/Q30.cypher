// Who moderates forums in which friends write.
MATCH (who:Person)<-[:HAS_MODERATOR]-(f:Forum)-[:CONTAINER_OF]->(m:Post)-[:HAS_CREATOR]->(p:Person)-[:KNOWS]-(who)
RETURN who.id AS moderator, count(DISTINCT f) AS forums, count(m) AS posts
ORDER BY posts DESC, moderator
LIMIT 100

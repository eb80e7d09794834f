// Interests of friends of friends.
MATCH (one:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(other:Person)-[:HAS_INTEREST]->(:Tag)
WHERE one <> other
RETURN count(*) AS count

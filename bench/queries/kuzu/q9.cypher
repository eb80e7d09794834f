// Interests of friends of friends who are no friends.
MATCH (one:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(other:Person)-[:HAS_INTEREST]->(:Tag)
WHERE one <> other AND NOT EXISTS { MATCH (one)-[:KNOWS]-(other) }
RETURN count(*) AS count

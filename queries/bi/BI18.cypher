// Pairs who share an interest and friends but are no friends.
MATCH (tag:Tag {name: $tag})<-[:HAS_INTEREST]-(one:Person)-[:KNOWS]-(mutual:Person)-[:KNOWS]-(other:Person)-[:HAS_INTEREST]->(tag)
WHERE one <> other AND NOT EXISTS { (one)-[:KNOWS]-(other) }
RETURN one.id AS person1Id, other.id AS person2Id, count(DISTINCT mutual) AS mutualFriendCount
ORDER BY mutualFriendCount DESC, person1Id, person2Id
LIMIT 20

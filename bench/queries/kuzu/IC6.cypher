// Tags that stand beside a given tag on posts of friends and their friends.
MATCH (known:Tag {name: $tagName})
MATCH (start:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE friend <> start
WITH DISTINCT known, friend
MATCH (friend)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(known)
MATCH (post)-[:HAS_TAG]->(other:Tag)
WHERE other <> known
RETURN other.name AS tagName, count(DISTINCT post) AS postCount
ORDER BY postCount DESC, tagName
LIMIT 10

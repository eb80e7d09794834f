// Forums that friends and their friends joined after a date, by the posts these people made there.
MATCH (start:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE friend <> start
WITH DISTINCT friend
MATCH (friend)<-[membership:HAS_MEMBER]-(forum:Forum)
WHERE membership.joinDate > $minDate
WITH DISTINCT friend, forum
OPTIONAL MATCH (friend)<-[:HAS_CREATOR]-(post:Post)<-[:CONTAINER_OF]-(forum)
WITH forum, count(post) AS postCount
ORDER BY postCount DESC, forum.id
LIMIT 20
RETURN forum.title AS forumName, postCount
ORDER BY postCount DESC, forum.id

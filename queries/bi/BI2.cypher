// How the use of a class's tags changed from one period of 100 days to the next.
MATCH (:TagClass {name: $tagClass})<-[:HAS_TYPE]-(tag:Tag)
OPTIONAL MATCH (tag)<-[:HAS_TAG]-(message:Message)
WHERE message.creationDate >= $date AND message.creationDate < $date + 200 * 86400000
WITH tag,
     sum(CASE WHEN message.creationDate < $date + 100 * 86400000 THEN 1 ELSE 0 END) AS countWindow1,
     sum(CASE WHEN message.creationDate >= $date + 100 * 86400000 THEN 1 ELSE 0 END) AS countWindow2
RETURN tag.name AS tagName, countWindow1, countWindow2, abs(countWindow1 - countWindow2) AS diff
ORDER BY diff DESC, tagName
LIMIT 100

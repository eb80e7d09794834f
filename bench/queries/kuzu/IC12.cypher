// Friends by their comments on posts about a class of tags or its subclasses.
MATCH (:TagClass {name: $tagClassName})<-[:IS_SUBCLASS_OF*0..]-(class:TagClass)
WITH collect(DISTINCT class) AS classes
MATCH (:Person {id: $personId})-[:KNOWS]-(friend:Person)<-[:HAS_CREATOR]-(comment:Comment)-[:REPLY_OF]->(:Post)-[:HAS_TAG]->(tag:Tag)-[:HAS_TYPE]->(class:TagClass)
WHERE class IN classes
RETURN friend.id AS personId,
       friend.firstName AS personFirstName,
       friend.lastName AS personLastName,
       collect(DISTINCT tag.name) AS tagNames,
       count(DISTINCT comment) AS replyCount
ORDER BY replyCount DESC, personId
LIMIT 20

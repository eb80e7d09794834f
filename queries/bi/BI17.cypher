// Who may have carried a tag from one forum to another.
MATCH (tag:Tag {name: $tag})
MATCH (tag)<-[:HAS_TAG]-(message1:Message)-[:HAS_CREATOR]->(person1:Person),
      (message1)-[:REPLY_OF*0..]->(:Post)<-[:CONTAINER_OF]-(forum1:Forum)
MATCH (tag)<-[:HAS_TAG]-(message2:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(tag)
MATCH (message2)-[:REPLY_OF*0..]->(:Post)<-[:CONTAINER_OF]-(forum2:Forum)
WHERE forum1 <> forum2
  AND message2.creationDate > message1.creationDate + $delta * 3600000
  AND NOT EXISTS { (forum2)-[:HAS_MEMBER]->(person1) }
MATCH (message2)-[:HAS_CREATOR]->(person3:Person)<-[:HAS_MEMBER]-(forum1),
      (comment)-[:HAS_CREATOR]->(person2:Person)<-[:HAS_MEMBER]-(forum1)
WHERE person2 <> person3
RETURN person1.id AS person1Id, count(DISTINCT message2) AS messageCount
ORDER BY messageCount DESC, person1Id
LIMIT 10

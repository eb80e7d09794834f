// Forums run from a country in which a class of tags is talked about.
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(person:Person)<-[:HAS_MODERATOR]-(forum:Forum)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF*0..]-(message:Message)
WHERE EXISTS { (message)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name: $tagClass}) }
RETURN forum.id AS forumId,
       forum.title AS forumTitle,
       forum.creationDate AS forumCreationDate,
       person.id AS personId,
       count(DISTINCT message) AS messageCount
ORDER BY messageCount DESC, forumId
LIMIT 20

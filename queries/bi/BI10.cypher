// Who writes about a class of tags, in one country, so many friendships away.
MATCH (start:Person {id: $personId})
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(expert:Person)
WHERE expert <> start
MATCH path = shortestPath((start)-[:KNOWS*]-(expert))
WITH expert, length(path) AS distance
WHERE distance >= $minPathDistance AND distance <= $maxPathDistance
MATCH (expert)<-[:HAS_CREATOR]-(message:Message)
WHERE EXISTS { (message)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name: $tagClass}) }
MATCH (message)-[:HAS_TAG]->(tag:Tag)
RETURN expert.id AS personId, tag.name AS tagName, count(DISTINCT message) AS messageCount
ORDER BY messageCount DESC, tagName, personId
LIMIT 100

// The tags of a country's forums.
MATCH (:Country {name: 'India'})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(p:Person)<-[:HAS_MODERATOR]-(f:Forum)-[:HAS_TAG]->(t:Tag)
RETURN t.name AS tag, count(DISTINCT f) AS forums
ORDER BY forums DESC, tag
LIMIT 100

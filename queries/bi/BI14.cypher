// Per city of one country the pair of friends, the other from another country, who have most to do with each other.
MATCH (:Country {name: $country1})<-[:IS_PART_OF]-(city:City)<-[:IS_LOCATED_IN]-(one:Person)-[:KNOWS]-(other:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(:Country {name: $country2})
WITH city, one, other,
     CASE WHEN EXISTS { (one)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Message)-[:HAS_CREATOR]->(other) } THEN 4 ELSE 0 END
     + CASE WHEN EXISTS { (one)<-[:HAS_CREATOR]-(:Message)<-[:REPLY_OF]-(:Comment)-[:HAS_CREATOR]->(other) } THEN 1 ELSE 0 END
     + CASE WHEN EXISTS { (one)-[:LIKES]->(:Message)-[:HAS_CREATOR]->(other) } THEN 10 ELSE 0 END
     + CASE WHEN EXISTS { (one)<-[:HAS_CREATOR]-(:Message)<-[:LIKES]-(other) } THEN 1 ELSE 0 END AS score
ORDER BY score DESC, one.id, other.id
WITH city, head(collect({one: one.id, other: other.id, score: score})) AS best
RETURN best.one AS person1Id, best.other AS person2Id, city.name AS city1Name, best.score AS score
ORDER BY score DESC, person1Id, person2Id
LIMIT 100

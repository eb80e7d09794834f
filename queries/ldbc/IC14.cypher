// All shortest paths between two persons, weighed by who answered whom along them.
MATCH path = allShortestPaths((:Person {id: $person1Id})-[:KNOWS*0..]-(:Person {id: $person2Id}))
WITH path, nodes(path) AS persons
UNWIND CASE WHEN size(persons) < 2 THEN [null] ELSE range(0, size(persons) - 2) END AS i
WITH path, persons, persons[i] AS left, persons[i + 1] AS right
WITH path, persons,
     1.0 * COUNT { (left)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(right) }
     + 1.0 * COUNT { (right)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(left) }
     + 0.5 * COUNT { (left)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Comment)-[:HAS_CREATOR]->(right) }
     + 0.5 * COUNT { (right)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Comment)-[:HAS_CREATOR]->(left) } AS weight
WITH path, [person IN persons | person.id] AS personIdsInPath, sum(weight) AS pathWeight
RETURN personIdsInPath, pathWeight
ORDER BY pathWeight DESC, personIdsInPath

// Closest pairs between two cities over friends who answered each other, closer the more they did.
MATCH (person:Person)
WITH collect(person.id) AS ids
MATCH (a:Person)-[:KNOWS]-(b:Person)
WITH ids, a, b,
     COUNT { (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Message)-[:HAS_CREATOR]->(b) }
     + COUNT { (b)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Message)-[:HAS_CREATOR]->(a) } AS interactions
WHERE interactions > 0
WITH ids, collect({to: b.id, from: a.id, weight: 1.0 / interactions}) AS edges
WITH ids, [id IN ids | [edge IN edges WHERE edge.to = id |
      {from: head([i IN range(0, size(ids) - 1) WHERE ids[i] = edge.from]), weight: edge.weight}]] AS into
MATCH (:City {id: $city1Id})<-[:IS_LOCATED_IN]-(one:Person)
WITH ids, one,
     reduce(distances = [id IN ids | CASE WHEN id = one.id THEN 0.0 ELSE 1.0e9 END],
            round IN range(1, size(ids)) |
            [i IN range(0, size(ids) - 1) |
             reduce(best = distances[i], edge IN into[i] |
                    CASE WHEN distances[edge.from] + edge.weight < best
                         THEN distances[edge.from] + edge.weight ELSE best END)]) AS distances
MATCH (:City {id: $city2Id})<-[:IS_LOCATED_IN]-(other:Person)
WHERE other <> one
WITH one.id AS person1Id, other.id AS person2Id,
     head([i IN range(0, size(ids) - 1) WHERE ids[i] = other.id | distances[i]]) AS totalWeight
WHERE totalWeight < 1.0e9
WITH collect({one: person1Id, other: person2Id, weight: totalWeight}) AS pairs, min(totalWeight) AS least
UNWIND [pair IN pairs WHERE pair.weight = least] AS pair
RETURN pair.one AS person1Id, pair.other AS person2Id, pair.weight AS totalWeight
ORDER BY person1Id, person2Id
LIMIT 20

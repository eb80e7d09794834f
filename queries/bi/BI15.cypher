// Lightest way between two persons over friendships, lighter the more the friends talked in forums made within a
// period; -1.0 where there is none. Distances are relaxed edge by edge, once a round, as many rounds as persons.
MATCH (person:Person)
WITH collect(person) AS persons
MATCH (a:Person)-[:KNOWS]-(b:Person)
WITH persons, a, b,
     COUNT { MATCH (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(message:Message)-[:HAS_CREATOR]->(b)
             MATCH (message:Post)<-[:CONTAINER_OF]-(forum:Forum)
             WHERE forum.creationDate >= $startDate AND forum.creationDate <= $endDate
             RETURN message }
     + COUNT { MATCH (b)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(message:Message)-[:HAS_CREATOR]->(a)
               MATCH (message:Post)<-[:CONTAINER_OF]-(forum:Forum)
               WHERE forum.creationDate >= $startDate AND forum.creationDate <= $endDate
               RETURN message } AS onPosts,
     COUNT { MATCH (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(message:Comment)-[:HAS_CREATOR]->(b)
             MATCH (message)-[:REPLY_OF*1..]->(:Post)<-[:CONTAINER_OF]-(forum:Forum)
             WHERE forum.creationDate >= $startDate AND forum.creationDate <= $endDate
             RETURN message }
     + COUNT { MATCH (b)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(message:Comment)-[:HAS_CREATOR]->(a)
               MATCH (message)-[:REPLY_OF*1..]->(:Post)<-[:CONTAINER_OF]-(forum:Forum)
               WHERE forum.creationDate >= $startDate AND forum.creationDate <= $endDate
               RETURN message } AS onComments
WITH persons, collect({to: b.id, from: a.id, weight: 1.0 / (1.0 + onPosts + 0.5 * onComments)}) AS edges
WITH [p IN persons | p.id] AS ids, edges
WITH ids, [id IN ids | [edge IN edges WHERE edge.to = id |
      {from: head([i IN range(0, size(ids) - 1) WHERE ids[i] = edge.from]), weight: edge.weight}]] AS into
WITH ids,
     reduce(distances = [id IN ids | CASE WHEN id = $person1Id THEN 0.0 ELSE 1.0e9 END],
            round IN range(1, size(ids)) |
            [i IN range(0, size(ids) - 1) |
             reduce(best = distances[i], edge IN into[i] |
                    CASE WHEN distances[edge.from] + edge.weight < best
                         THEN distances[edge.from] + edge.weight ELSE best END)]) AS distances
WITH head([i IN range(0, size(ids) - 1) WHERE ids[i] = $person2Id | distances[i]]) AS distance
RETURN CASE WHEN distance < 1.0e9 THEN distance ELSE -1.0 END AS weight

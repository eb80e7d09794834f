// Who of a company is closest to a person over friends who studied together, closer the nearer their years.
MATCH (person:Person)
WITH collect(person.id) AS ids
MATCH (a:Person)-[:KNOWS]-(b:Person), (a)-[studyA:STUDY_AT]->(:University)<-[studyB:STUDY_AT]-(b)
WITH ids, a.id AS from, b.id AS to, min(abs(studyA.classYear - studyB.classYear)) + 1 AS weight
WITH ids, collect({to: to, from: from, weight: weight}) AS edges
WITH ids, [id IN ids | [edge IN edges WHERE edge.to = id |
      {from: head([i IN range(0, size(ids) - 1) WHERE ids[i] = edge.from]), weight: edge.weight}]] AS into
WITH ids,
     reduce(distances = [id IN ids | CASE WHEN id = $person2Id THEN 0 ELSE 1000000000 END],
            round IN range(1, size(ids)) |
            [i IN range(0, size(ids) - 1) |
             reduce(best = distances[i], edge IN into[i] |
                    CASE WHEN distances[edge.from] + edge.weight < best
                         THEN distances[edge.from] + edge.weight ELSE best END)]) AS distances
MATCH (:Company {name: $company})<-[:WORK_AT]-(one:Person)
WHERE one.id <> $person2Id
WITH DISTINCT one.id AS personId,
     head([i IN range(0, size(ids) - 1) WHERE ids[i] = one.id | distances[i]]) AS totalWeight
WHERE totalWeight < 1000000000
WITH collect({person: personId, weight: totalWeight}) AS found, min(totalWeight) AS least
UNWIND [one IN found WHERE one.weight = least] AS one
RETURN one.person AS person1Id, one.weight AS totalWeight
ORDER BY person1Id
LIMIT 20

// Distances from the persons with most friends to a sample of all.
MATCH (a:Person)
WITH a, COUNT { (a)-[:KNOWS]-(:Person) } AS friends
ORDER BY friends DESC, a.id
LIMIT 5
MATCH (b:Person)
WHERE b.id % 31 = 0 AND a <> b
MATCH path = shortestPath((a)-[:KNOWS*]-(b))
RETURN length(path) AS distance, count(*) AS pairs
ORDER BY distance

// How many friendships lie between two persons who are connected.
MATCH path = (one:Person {id: $person1Id})-[:KNOWS* SHORTEST 1..30]-(other:Person {id: $person2Id})
RETURN length(path) AS shortestPathLength

MATCH (p:Person {id: $id})-[:KNOWS* SHORTEST 1..2]-(f:Person) RETURN count(f)

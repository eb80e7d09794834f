MATCH (p:Person {id: $id})-[:KNOWS* SHORTEST 1..3]-(f:Person) RETURN count(f)

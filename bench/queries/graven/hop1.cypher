MATCH (p:Person {id: $id})-[:KNOWS]-(f:Person) RETURN count(DISTINCT f.id)

MATCH (p:Person {id: $id})-[:KNOWS]-(f:Person) RETURN f.firstName

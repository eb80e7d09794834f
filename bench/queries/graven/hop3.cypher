MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) WHERE f <> p RETURN count(DISTINCT f)

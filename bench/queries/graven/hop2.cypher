MATCH (p:Person {id: $id})-[:KNOWS*1..2]-(f:Person) WHERE f <> p RETURN count(DISTINCT f)

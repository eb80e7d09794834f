MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.id, b.id, k.creationDate ORDER BY k.creationDate DESC, a.id, b.id

MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.id, b.id, count(*), max(k.creationDate)

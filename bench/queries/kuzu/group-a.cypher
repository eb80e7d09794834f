MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.id, count(*), max(k.creationDate)

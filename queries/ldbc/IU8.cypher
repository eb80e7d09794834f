// Two persons become friends; the one with the smaller id stands first.
MATCH (first:Person {id: $firstId}), (second:Person {id: $secondId})
CREATE (first)-[:KNOWS {creationDate: $creationDate}]->(second)

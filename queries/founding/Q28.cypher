// How often each person used each tag: a full scan with aggregation.
MATCH (p:Person)<-[:HAS_CREATOR]-(m:Message)-[:HAS_TAG]->(t:Tag)
RETURN p.id AS person, t.name AS tag, count(*) AS messages, max(m.creationDate) AS last

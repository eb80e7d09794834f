// Who wrote most about one class of things.
MATCH (:TagClass {name: 'OfficeHolder'})<-[:HAS_TYPE]-(t:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(p:Person)
RETURN p.id AS person, count(DISTINCT m) AS messages, count(DISTINCT t) AS tags
ORDER BY messages DESC, person
LIMIT 50

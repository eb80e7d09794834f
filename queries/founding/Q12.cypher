// How many messages persons wrote, and how many persons wrote so many.
MATCH (p:Person)
OPTIONAL MATCH (p)<-[:HAS_CREATOR]-(m:Message)
WHERE m.length > 20 AND m.creationDate > 1293840000000
WITH p, count(m) AS messages
RETURN messages, count(p) AS persons
ORDER BY persons DESC, messages DESC

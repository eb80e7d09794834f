// Quiet persons: members of many forums who write little.
MATCH (p:Person)
WITH p, COUNT { (p)<-[:HAS_MEMBER]-(:Forum) } AS forums, COUNT { (p)<-[:HAS_CREATOR]-(:Message) } AS messages
WHERE forums > 10 * messages
RETURN p.id AS person, forums, messages
ORDER BY forums DESC, messages, person
LIMIT 100

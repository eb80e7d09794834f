SELECT p.id, p.firstName, p.lastName, c.creationDate, c.id, c.content FROM message m JOIN message c ON c.replyOf = m.id JOIN person p ON p.id = c.creator
WHERE m.creator = $personId ORDER BY c.creationDate DESC, c.id LIMIT 20

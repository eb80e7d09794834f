SELECT c.id, c.content, c.creationDate, p.id, p.firstName, p.lastName, EXISTS (SELECT 1 FROM knows k WHERE k.p1 = m.creator AND k.p2 = p.id)
FROM message m JOIN message c ON c.replyOf = m.id JOIN person p ON p.id = c.creator WHERE m.id = $messageId ORDER BY c.creationDate DESC, p.id

SELECT p.id, p.firstName, p.lastName FROM message m JOIN person p ON p.id = m.creator WHERE m.id = $messageId

WITH RECURSIVE mine AS (SELECT id, coalesce(content, imageFile) AS text, creationDate FROM message WHERE creator = $personId ORDER BY creationDate DESC, id LIMIT 10),
up(id, message, next) AS (SELECT mine.id, m.id, m.replyOf FROM mine JOIN message m ON m.id = mine.id
  UNION ALL SELECT up.id, m.id, m.replyOf FROM up JOIN message m ON m.id = up.next)
SELECT mine.id, mine.text, mine.creationDate, up.message, p.id, p.firstName, p.lastName
FROM mine JOIN up ON up.id = mine.id AND up.next IS NULL JOIN message root ON root.id = up.message JOIN person p ON p.id = root.creator
ORDER BY mine.creationDate DESC, mine.id

WITH RECURSIVE class(id) AS (SELECT id FROM tagclass WHERE name = $tagClassName UNION SELECT t.id FROM class JOIN tagclass t ON t.parent = class.id)
SELECT p.id, p.firstName, p.lastName, list(DISTINCT tag.name), count(DISTINCT c.id) AS n FROM knows k JOIN person p ON p.id = k.p2 JOIN comment c ON c.creator = p.id
JOIN post ON post.id = c.replyOfPost JOIN message_tag t ON t.message = post.id JOIN tag ON tag.id = t.tag WHERE k.p1 = $personId AND tag.class IN (SELECT id FROM class)
GROUP BY p.id, p.firstName, p.lastName ORDER BY n DESC, p.id LIMIT 20

WITH friend AS (SELECT p2 AS id FROM knows WHERE p1 = $personId UNION SELECT b.p2 FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $personId),
known AS (SELECT id FROM tag WHERE name = $tagName)
SELECT tag.name, count(DISTINCT p.id) AS n FROM friend f JOIN post p ON p.creator = f.id JOIN message_tag t ON t.message = p.id AND t.tag = (SELECT id FROM known)
JOIN message_tag o ON o.message = p.id AND o.tag <> (SELECT id FROM known) JOIN tag ON tag.id = o.tag WHERE f.id <> $personId
GROUP BY tag.name ORDER BY n DESC, tag.name LIMIT 10

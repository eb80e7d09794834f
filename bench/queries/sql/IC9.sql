WITH friend AS (SELECT p2 AS id FROM knows WHERE p1 = $personId UNION SELECT b.p2 FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $personId)
SELECT p.id, p.firstName, p.lastName, m.id, coalesce(m.content, m.imageFile), m.creationDate FROM friend f JOIN person p ON p.id = f.id JOIN message m ON m.creator = p.id
WHERE p.id <> $personId AND m.creationDate < $maxDate ORDER BY m.creationDate DESC, m.id LIMIT 20

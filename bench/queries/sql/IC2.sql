SELECT p.id, p.firstName, p.lastName, m.id, coalesce(m.content, m.imageFile), m.creationDate FROM knows k JOIN person p ON p.id = k.p2 JOIN message m ON m.creator = k.p2
WHERE k.p1 = $personId AND m.creationDate <= $maxDate ORDER BY m.creationDate DESC, m.id LIMIT 20

WITH liked AS (SELECT l.person, m.id, coalesce(m.content, m.imageFile) AS text, m.creationDate AS made, l.creationDate AS at,
    row_number() OVER (PARTITION BY l.person ORDER BY l.creationDate DESC, m.id) AS n FROM message m JOIN likes l ON l.message = m.id WHERE m.creator = $personId)
SELECT p.id, p.firstName, p.lastName, liked.at, liked.id, liked.text, (liked.at - liked.made) // 60000, NOT EXISTS (SELECT 1 FROM knows k WHERE k.p1 = $personId AND k.p2 = p.id)
FROM liked JOIN person p ON p.id = liked.person WHERE n = 1 ORDER BY liked.at DESC, p.id LIMIT 20

WITH friend AS (SELECT DISTINCT b.p2 AS id FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $personId AND b.p2 <> $personId
    AND NOT EXISTS (SELECT 1 FROM knows k WHERE k.p1 = $personId AND k.p2 = b.p2)),
born AS (SELECT p.*, date_part('month', epoch_ms(p.birthday)) AS m, date_part('day', epoch_ms(p.birthday)) AS d FROM friend JOIN person p ON p.id = friend.id),
chosen AS (SELECT * FROM born WHERE (m = $month AND d >= 21) OR (m = $month % 12 + 1 AND d < 22)),
score AS (SELECT c.id, count(p.id) AS posts, count(CASE WHEN EXISTS (SELECT 1 FROM message_tag t JOIN interest i ON i.tag = t.tag WHERE t.message = p.id AND i.person = $personId) THEN 1 END) AS common
  FROM chosen c LEFT JOIN post p ON p.creator = c.id GROUP BY c.id)
SELECT c.id, c.firstName, c.lastName, 2 * s.common - s.posts AS score, c.gender, city.name FROM chosen c JOIN score s ON s.id = c.id JOIN city ON city.id = c.city ORDER BY score DESC, c.id LIMIT 10

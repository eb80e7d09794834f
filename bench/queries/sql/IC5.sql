WITH friend AS (SELECT p2 AS id FROM knows WHERE p1 = $personId UNION SELECT b.p2 FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $personId),
joined AS (SELECT DISTINCT m.forum, m.person FROM friend f JOIN member m ON m.person = f.id WHERE f.id <> $personId AND m.joinDate > $minDate),
posts AS (SELECT j.forum, count(p.id) AS n FROM joined j LEFT JOIN post p ON p.forum = j.forum AND p.creator = j.person GROUP BY j.forum)
SELECT forum.title, n FROM posts JOIN forum ON forum.id = posts.forum ORDER BY n DESC, forum.id LIMIT 20

WITH friend AS (SELECT p2 AS id FROM knows WHERE p1 = $personId UNION SELECT b.p2 FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $personId),
x AS (SELECT id FROM country WHERE name = $countryXName), y AS (SELECT id FROM country WHERE name = $countryYName),
counts AS (SELECT p.id, p.firstName, p.lastName, sum(CASE WHEN m.country = (SELECT id FROM x) THEN 1 ELSE 0 END) AS xc, sum(CASE WHEN m.country = (SELECT id FROM y) THEN 1 ELSE 0 END) AS yc
  FROM friend f JOIN person p ON p.id = f.id JOIN city ON city.id = p.city JOIN message m ON m.creator = p.id
  WHERE p.id <> $personId AND city.country NOT IN (SELECT id FROM x UNION SELECT id FROM y) AND m.country IN (SELECT id FROM x UNION SELECT id FROM y)
    AND m.creationDate >= $startDate AND m.creationDate < $startDate + $durationDays * CAST(86400000 AS BIGINT) GROUP BY p.id, p.firstName, p.lastName)
SELECT id, firstName, lastName, xc, yc, xc + yc FROM counts WHERE xc > 0 AND yc > 0 ORDER BY xc + yc DESC, id LIMIT 20

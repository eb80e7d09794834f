WITH friend AS (SELECT p2 AS id FROM knows WHERE p1 = $personId UNION SELECT b.p2 FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $personId)
SELECT p.id, p.firstName, p.lastName, o.name, w.workFrom FROM friend f JOIN person p ON p.id = f.id JOIN work w ON w.person = p.id JOIN company o ON o.id = w.company JOIN country c ON c.id = o.country
WHERE p.id <> $personId AND c.name = $countryName AND w.workFrom < $workFromYear ORDER BY w.workFrom, p.id, o.name DESC LIMIT 10

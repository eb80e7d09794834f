WITH RECURSIVE reach(id, d) AS (SELECT CAST($personId AS BIGINT), 0 UNION SELECT k.p2, r.d + 1 FROM reach r JOIN knows k ON k.p1 = r.id WHERE r.d < 3),
near AS (SELECT id, min(d) AS d FROM reach WHERE id <> $personId GROUP BY id),
found AS (SELECT p.*, near.d FROM near JOIN person p ON p.id = near.id WHERE p.firstName = $firstName ORDER BY near.d, p.lastName, p.id LIMIT 20)
SELECT f.id, f.lastName, f.d, f.birthday, f.creationDate, f.gender, f.browserUsed, f.locationIP,
  (SELECT list(email) FROM person_email e WHERE e.person = f.id), (SELECT list(language) FROM person_language l WHERE l.person = f.id), city.name,
  (SELECT list(row(u.name, s.classYear, c.name)) FROM study s JOIN university u ON u.id = s.university JOIN city c ON c.id = u.city WHERE s.person = f.id),
  (SELECT list(row(o.name, w.workFrom, c.name)) FROM work w JOIN company o ON o.id = w.company JOIN country c ON c.id = o.country WHERE w.person = f.id)
FROM found f JOIN city ON city.id = f.city ORDER BY f.d, f.lastName, f.id

WITH one AS (SELECT p2 AS id FROM knows WHERE p1 = $id), two AS (SELECT DISTINCT k.p2 AS id FROM one JOIN knows k ON k.p1 = one.id),
three AS (SELECT DISTINCT k.p2 AS id FROM two JOIN knows k ON k.p1 = two.id)
SELECT count(*) FROM (SELECT id FROM one UNION SELECT id FROM two UNION SELECT id FROM three) WHERE id <> $id

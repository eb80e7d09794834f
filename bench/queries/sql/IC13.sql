WITH RECURSIVE reach(id, d) AS (SELECT CAST($person1Id AS BIGINT), 0 UNION SELECT k.p2, r.d + 1 FROM reach r JOIN knows k ON k.p1 = r.id WHERE r.d < 6)
SELECT coalesce((SELECT min(d) FROM reach WHERE id = $person2Id), -1)

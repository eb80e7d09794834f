SELECT count(*) FROM knows a JOIN knows b ON b.p1 = a.p2 JOIN interest i ON i.person = b.p2
WHERE a.p1 <> b.p2 AND NOT EXISTS (SELECT 1 FROM knows k WHERE k.p1 = a.p1 AND k.p2 = b.p2)

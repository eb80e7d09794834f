SELECT count(*) FROM (SELECT p2 FROM knows WHERE p1 = $id UNION SELECT b.p2 FROM knows a JOIN knows b ON b.p1 = a.p2 WHERE a.p1 = $id) WHERE p2 <> $id

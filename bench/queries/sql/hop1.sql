SELECT count(DISTINCT p2) FROM knows WHERE p1 = $id

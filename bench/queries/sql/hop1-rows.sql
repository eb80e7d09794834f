SELECT p.firstName FROM knows k JOIN person p ON p.id = k.p2 WHERE k.p1 = $id

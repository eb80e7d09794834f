SELECT p.id, p.firstName, p.lastName, k.creationDate FROM knows k JOIN person p ON p.id = k.p2 WHERE k.p1 = $personId ORDER BY k.creationDate DESC, p.id

SELECT p1, p2, creationDate FROM friendship ORDER BY creationDate DESC, p1, p2

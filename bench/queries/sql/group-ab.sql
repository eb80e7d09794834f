SELECT p1, p2, count(*), max(creationDate) FROM friendship GROUP BY p1, p2

SELECT p1, count(*), max(creationDate) FROM friendship GROUP BY p1

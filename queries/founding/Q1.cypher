// Messages of each year, by kind and length.
MATCH (m:Message)
WITH datetime({epochMillis: m.creationDate}).year AS year, m:Post AS post,
     CASE WHEN m.length < 40 THEN 0 WHEN m.length < 80 THEN 1 WHEN m.length < 160 THEN 2 ELSE 3 END AS size, m.length AS length
RETURN year, post, size, count(*) AS messages, avg(length) AS mean
ORDER BY year DESC, post, size

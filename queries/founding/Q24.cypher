// Likes within a day of the post.
MATCH (:Person)-[l:LIKES]->(m:Post)
RETURN l.creationDate - m.creationDate < 86400000 AS soon, count(*) AS likes, avg(m.length) AS length
ORDER BY soon

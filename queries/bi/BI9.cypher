// Who began the longest conversations of a period.
MATCH (person:Person)<-[:HAS_CREATOR]-(post:Post)<-[:REPLY_OF*0..]-(message:Message)
WHERE post.creationDate >= $startDate AND post.creationDate <= $endDate
  AND message.creationDate >= $startDate AND message.creationDate <= $endDate
RETURN person.id AS personId,
       person.firstName AS personFirstName,
       person.lastName AS personLastName,
       count(DISTINCT post) AS threadCount,
       count(DISTINCT message) AS messageCount
ORDER BY messageCount DESC, personId
LIMIT 100

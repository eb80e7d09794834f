// Friends and their friends, at home in neither of two countries, who posted from both within a period.
MATCH (x:Country {name: $countryXName}), (y:Country {name: $countryYName})
MATCH (start:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE friend <> start
WITH DISTINCT friend, x, y
MATCH (friend)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(home:Country)
WHERE home <> x AND home <> y
MATCH (friend)<-[:HAS_CREATOR]-(message:Post:Comment)-[:IS_LOCATED_IN]->(place:Country)
WHERE (place = x OR place = y)
  AND message.creationDate >= $startDate
  AND message.creationDate < $startDate + $durationDays * 86400000
WITH friend,
     sum(CASE WHEN place = x THEN 1 ELSE 0 END) AS xCount,
     sum(CASE WHEN place = y THEN 1 ELSE 0 END) AS yCount
WHERE xCount > 0 AND yCount > 0
RETURN friend.id AS friendId,
       friend.firstName AS friendFirstName,
       friend.lastName AS friendLastName,
       xCount,
       yCount,
       xCount + yCount AS xyCount
ORDER BY xyCount DESC, friendId
LIMIT 20

// Friends of friends born between the 21st of a month and the 21st of the next, by what their posts have in common
// with the interests of the start.
MATCH (start:Person {id: $personId})-[:KNOWS*2..2]-(friend:Person)-[:IS_LOCATED_IN]->(city:City)
WHERE friend <> start AND NOT EXISTS { (start)-[:KNOWS]-(friend) }
WITH DISTINCT start, friend, city, datetime({epochMillis: friend.birthday}) AS birthday
WHERE (birthday.month = $month AND birthday.day >= 21)
   OR (birthday.month = $month % 12 + 1 AND birthday.day < 22)
WITH start, friend, city,
     COUNT { (friend)<-[:HAS_CREATOR]-(:Post) } AS posts,
     COUNT { MATCH (friend)<-[:HAS_CREATOR]-(post:Post)
             WHERE EXISTS { (post)-[:HAS_TAG]->(:Tag)<-[:HAS_INTEREST]-(start) }
             RETURN post } AS common
RETURN friend.id AS personId,
       friend.firstName AS personFirstName,
       friend.lastName AS personLastName,
       2 * common - posts AS commonInterestScore,
       friend.gender AS personGender,
       city.name AS personCityName
ORDER BY commonInterestScore DESC, personId
LIMIT 10

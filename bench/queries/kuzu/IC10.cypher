// Friends of friends born between the 21st of a month and the 21st of the next, by what their posts have in common
// with the interests of the start.
MATCH (start:Person {id: $personId})-[:KNOWS*2..2]-(friend:Person)-[:IS_LOCATED_IN]->(city:City)
WHERE friend.id <> $personId AND NOT EXISTS { MATCH (start)-[:KNOWS]-(friend) }
WITH DISTINCT start, friend, city, epoch_ms(friend.birthday) AS birthday
WHERE (date_part('month', birthday) = $month AND date_part('day', birthday) >= 21)
   OR (date_part('month', birthday) = $month % 12 + 1 AND date_part('day', birthday) < 22)
OPTIONAL MATCH (friend)<-[:HAS_CREATOR]-(post:Post)
WITH start, friend, city, post,
     CASE WHEN EXISTS { MATCH (post)-[:HAS_TAG]->(:Tag)<-[:HAS_INTEREST]-(start) } THEN 1 ELSE 0 END AS shared
WITH friend, city, count(post) AS posts, sum(shared) AS common
RETURN friend.id AS personId, friend.firstName AS personFirstName, friend.lastName AS personLastName,
       2 * common - posts AS commonInterestScore, friend.gender AS personGender, city.name AS personCityName
ORDER BY commonInterestScore DESC, personId
LIMIT 10

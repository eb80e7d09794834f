// Persons at the centre of a tag: their own interest and messages, and those of their friends.
MATCH (tag:Tag {name: $tag})
CALL (tag) {
  MATCH (tag)<-[:HAS_INTEREST]-(person:Person)
  RETURN person, 100 AS points
  UNION ALL
  MATCH (tag)<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
  WHERE $startDate < message.creationDate AND message.creationDate < $endDate
  RETURN person, 1 AS points
}
WITH person, sum(points) AS score
WITH collect({person: person, score: score}) AS scored
UNWIND scored AS one
WITH scored, one.person AS person, one.score AS score
OPTIONAL MATCH (person)-[:KNOWS]-(friend:Person)
WITH scored, person, score, collect(friend) AS friends
RETURN person.id AS personId,
       score,
       reduce(sum = 0, other IN scored |
              sum + CASE WHEN other.person IN friends THEN other.score ELSE 0 END) AS friendsScore
ORDER BY score + friendsScore DESC, personId
LIMIT 100

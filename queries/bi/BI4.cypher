// Who wrote most in the forums that are largest in some country.
MATCH (country:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(member:Person)<-[:HAS_MEMBER]-(forum:Forum)
WHERE forum.creationDate > $date
WITH forum, country, count(member) AS members
WITH forum, max(members) AS members
ORDER BY members DESC, forum.id
LIMIT 100
WITH collect(forum) AS forums
UNWIND forums AS forum
MATCH (forum)-[:HAS_MEMBER]->(person:Person)
WITH DISTINCT forums, person
OPTIONAL MATCH (person)<-[:HAS_CREATOR]-(message:Message)-[:REPLY_OF*0..]->(:Post)<-[:CONTAINER_OF]-(forum:Forum)
WHERE forum IN forums
RETURN person.id AS personId,
       person.firstName AS personFirstName,
       person.lastName AS personLastName,
       person.creationDate AS personCreationDate,
       count(DISTINCT message) AS messageCount
ORDER BY messageCount DESC, personId
LIMIT 100

// Persons who wrote about two tags on their days and know few of the others who did.
UNWIND [{tag: $tagA, date: $dateA, first: true}, {tag: $tagB, date: $dateB, first: false}] AS topic
MATCH (:Tag {name: topic.tag})<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
WHERE message.creationDate >= topic.date AND message.creationDate < topic.date + 86400000
WITH topic, person, count(DISTINCT message) AS messages
WITH topic, collect({person: person, messages: messages}) AS writers
WITH topic, writers, [writer IN writers | writer.person] AS persons
UNWIND writers AS writer
WITH topic, persons, writer.person AS person, writer.messages AS messages
OPTIONAL MATCH (person)-[:KNOWS]-(friend:Person)
WHERE friend IN persons
WITH topic, person, messages, count(friend) AS friends
WHERE friends <= $maxKnowsLimit
WITH person,
     sum(CASE WHEN topic.first THEN messages ELSE 0 END) AS messageCountA,
     sum(CASE WHEN topic.first THEN 0 ELSE messages END) AS messageCountB
WHERE messageCountA > 0 AND messageCountB > 0
RETURN person.id AS personId, messageCountA, messageCountB
ORDER BY messageCountA + messageCountB DESC, personId
LIMIT 20

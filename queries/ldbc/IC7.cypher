// The latest like of each person for the messages of one person.
MATCH (start:Person {id: $personId})<-[:HAS_CREATOR]-(message:Message)<-[like:LIKES]-(liker:Person)
WITH start, liker, message, like.creationDate AS liked
ORDER BY liked DESC, message.id
WITH start, liker, head(collect({message: message, liked: liked})) AS latest
WITH start, liker, latest.message AS message, latest.liked AS liked
ORDER BY liked DESC, liker.id
LIMIT 20
RETURN liker.id AS personId,
       liker.firstName AS personFirstName,
       liker.lastName AS personLastName,
       liked AS likeCreationDate,
       message.id AS commentOrPostId,
       coalesce(message.content, message.imageFile) AS commentOrPostContent,
       (liked - message.creationDate) / 60000 AS minutesLatency,
       NOT EXISTS { (liker)-[:KNOWS]-(start) } AS isNew
ORDER BY likeCreationDate DESC, personId

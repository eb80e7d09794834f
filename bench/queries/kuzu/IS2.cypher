// A person's ten newest messages, with the post at the root of each conversation and its author.
MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(message:Post:Comment)
WITH message, message.creationDate AS created, message.id AS messageId
ORDER BY created DESC, messageId
LIMIT 10
MATCH (message)-[:REPLY_OF*0..]->(post:Post)-[:HAS_CREATOR]->(author:Person)
RETURN messageId,
       coalesce(message.content, message.imageFile) AS messageContent,
       created AS messageCreationDate,
       post.id AS postId,
       author.id AS personId,
       author.firstName AS personFirstName,
       author.lastName AS personLastName
ORDER BY messageCreationDate DESC, messageId

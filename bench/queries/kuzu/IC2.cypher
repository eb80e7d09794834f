// The newest messages of friends up to a date.
MATCH (:Person {id: $personId})-[:KNOWS]-(friend:Person)<-[:HAS_CREATOR]-(message:Post:Comment)
WHERE message.creationDate <= $maxDate
WITH friend, message, message.creationDate AS created, message.id AS messageId
ORDER BY created DESC, messageId
LIMIT 20
RETURN friend.id AS personId,
       friend.firstName AS personFirstName,
       friend.lastName AS personLastName,
       messageId AS postOrCommentId,
       coalesce(message.content, message.imageFile) AS postOrCommentContent,
       created AS postOrCommentCreationDate
ORDER BY postOrCommentCreationDate DESC, postOrCommentId

// The newest messages of friends and their friends before a date.
MATCH (start:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE friend <> start
WITH DISTINCT friend
MATCH (friend)<-[:HAS_CREATOR]-(message:Post:Comment)
WHERE message.creationDate < $maxDate
WITH friend, message, message.creationDate AS created, message.id AS messageId
ORDER BY created DESC, messageId
LIMIT 20
RETURN friend.id AS personId,
       friend.firstName AS personFirstName,
       friend.lastName AS personLastName,
       messageId AS commentOrPostId,
       coalesce(message.content, message.imageFile) AS commentOrPostContent,
       created AS commentOrPostCreationDate
ORDER BY commentOrPostCreationDate DESC, commentOrPostId

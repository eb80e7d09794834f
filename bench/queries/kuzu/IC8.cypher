// The newest comments in reply to the messages of one person.
MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(message:Post:Comment)
WITH message
MATCH (message)<-[:REPLY_OF]-(comment:Comment)
WITH comment, comment.creationDate AS created, comment.id AS commentId
ORDER BY created DESC, commentId
LIMIT 20
MATCH (comment)-[:HAS_CREATOR]->(author:Person)
RETURN author.id AS personId, author.firstName AS personFirstName, author.lastName AS personLastName,
       created AS commentCreationDate, commentId, comment.content AS commentContent
ORDER BY commentCreationDate DESC, commentId

// Replies to a message, and whether their authors know its author.
MATCH (author:Person)<-[:HAS_CREATOR]-(:Post:Comment {id: $messageId})<-[:REPLY_OF]-(comment:Comment)-[:HAS_CREATOR]->(replier:Person)
RETURN comment.id AS commentId,
       comment.content AS commentContent,
       comment.creationDate AS commentCreationDate,
       replier.id AS replyAuthorId,
       replier.firstName AS replyAuthorFirstName,
       replier.lastName AS replyAuthorLastName,
       EXISTS { MATCH (author)-[:KNOWS]-(replier) } AS replyAuthorKnowsOriginalMessageAuthor
ORDER BY commentCreationDate DESC, replyAuthorId

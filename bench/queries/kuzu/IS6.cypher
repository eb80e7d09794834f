// Forum of a message and who moderates it.
MATCH (:Post:Comment {id: $messageId})-[:REPLY_OF*0..]->(:Post)<-[:CONTAINER_OF]-(forum:Forum)-[:HAS_MODERATOR]->(moderator:Person)
RETURN forum.id AS forumId,
       forum.title AS forumTitle,
       moderator.id AS moderatorId,
       moderator.firstName AS moderatorFirstName,
       moderator.lastName AS moderatorLastName

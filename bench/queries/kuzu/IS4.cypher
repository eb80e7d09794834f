// Content of a message.
MATCH (message:Post:Comment {id: $messageId})
RETURN message.creationDate AS messageCreationDate,
       coalesce(message.content, message.imageFile) AS messageContent

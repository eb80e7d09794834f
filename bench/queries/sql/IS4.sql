SELECT creationDate, coalesce(content, imageFile) FROM message WHERE id = $messageId

SELECT count(*) FROM message_tag t LEFT JOIN likes l ON l.message = t.message LEFT JOIN message c ON c.replyOf = t.message

SELECT count(*) FROM message_tag t JOIN likes l ON l.message = t.message JOIN message c ON c.replyOf = t.message

SELECT count(*) FROM message_tag t JOIN message c ON c.replyOf = t.message JOIN message_tag u ON u.message = c.id WHERE t.tag <> u.tag

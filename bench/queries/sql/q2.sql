SELECT count(*) FROM knows k JOIN comment c ON c.creator = k.p1 JOIN post p ON p.id = c.replyOfPost AND p.creator = k.p2

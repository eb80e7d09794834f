WITH RECURSIVE up(next, forum) AS (SELECT replyOf, forum FROM message WHERE id = $messageId
  UNION ALL SELECT m.replyOf, m.forum FROM up JOIN message m ON m.id = up.next)
SELECT f.id, f.title, p.id, p.firstName, p.lastName FROM up JOIN forum f ON f.id = up.forum JOIN person p ON p.id = f.moderator WHERE up.forum IS NOT NULL

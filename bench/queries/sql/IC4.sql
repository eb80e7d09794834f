WITH uses AS (SELECT t.tag, sum(CASE WHEN p.creationDate >= $startDate THEN 1 ELSE 0 END) AS n, sum(CASE WHEN p.creationDate < $startDate THEN 1 ELSE 0 END) AS earlier
  FROM knows k JOIN post p ON p.creator = k.p2 JOIN message_tag t ON t.message = p.id
  WHERE k.p1 = $personId AND p.creationDate < $startDate + $durationDays * CAST(86400000 AS BIGINT) GROUP BY t.tag)
SELECT tag.name, n FROM uses JOIN tag ON tag.id = uses.tag WHERE n > 0 AND earlier = 0 ORDER BY n DESC, tag.name LIMIT 10

// Tags of the most messages, with those of one year beside.
MATCH (t:Tag)<-[:HAS_TAG]-(m:Message)
WITH t, count(m) AS messages, sum(CASE WHEN m.creationDate >= 1325376000000 THEN 1 ELSE 0 END) AS recent
RETURN t.name AS tag, messages, recent
ORDER BY messages DESC, tag
LIMIT 100

// All messages, the longest first: a full scan with ORDER BY.
MATCH (m:Message)
RETURN m.id AS message, m.length AS length, m.creationDate AS at
ORDER BY length DESC, at, message

// All forums in the order of their titles: a full scan with ORDER BY.
MATCH (f:Forum)
RETURN f.title AS title, f.id AS forum, f.creationDate AS since
ORDER BY title, forum

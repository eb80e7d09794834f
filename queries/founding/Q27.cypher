// All memberships in the order in which they began: a full scan with ORDER BY.
MATCH (f:Forum)-[m:HAS_MEMBER]->(p:Person)
RETURN m.joinDate AS joined, f.id AS forum, p.id AS person
ORDER BY joined, forum, person

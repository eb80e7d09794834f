// Classes of things, with all below them.
MATCH (top:TagClass)<-[:IS_SUBCLASS_OF*0..]-(:TagClass)<-[:HAS_TYPE]-(t:Tag)<-[:HAS_TAG]-(m:Post)
RETURN top.name AS class, count(DISTINCT t) AS tags, count(*) AS posts
ORDER BY posts DESC, class
LIMIT 20

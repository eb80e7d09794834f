// Tags of replies to messages about a tag, where the reply leaves that tag out.
MATCH (tag:Tag {name: $tag})<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(related:Tag)
WHERE NOT EXISTS { (comment)-[:HAS_TAG]->(tag) }
RETURN related.name AS relatedTagName, count(DISTINCT comment) AS count
ORDER BY count DESC, relatedTagName
LIMIT 100

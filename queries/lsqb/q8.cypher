// Tagged messages with a reply that bears another tag but not that of the message.
MATCH (tag:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(other:Tag)
WHERE tag <> other AND NOT EXISTS { (comment)-[:HAS_TAG]->(tag) }
RETURN count(*) AS count

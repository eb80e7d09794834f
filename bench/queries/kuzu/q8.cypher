// Tagged messages with a reply that bears another tag but not that of the message.
MATCH (tag:Tag)<-[:HAS_TAG]-(:Post:Comment)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(other:Tag)
WHERE tag <> other AND NOT EXISTS { MATCH (comment)-[:HAS_TAG]->(tag) }
RETURN count(*) AS count

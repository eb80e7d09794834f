// Tagged messages with a reply that bears another tag.
MATCH (tag:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(other:Tag)
WHERE tag <> other
RETURN count(*) AS count

// Tagged messages with a reply that bears another tag.
MATCH (tag:Tag)<-[:HAS_TAG]-(:Post:Comment)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(other:Tag)
WHERE tag <> other
RETURN count(*) AS count

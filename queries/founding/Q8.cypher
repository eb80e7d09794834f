// Tags that stand on the same messages.
MATCH (:Tag {name: 'Augustine_of_Hippo'})<-[:HAS_TAG]-(:Message)-[:HAS_TAG]->(other:Tag)
RETURN other.name AS tag, count(*) AS times
ORDER BY times DESC, tag
LIMIT 100

// Who writes about a tag and is liked by those who are liked much themselves.
MATCH (:Tag {name: $tag})<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
OPTIONAL MATCH (message)<-[:LIKES]-(liker:Person)
WITH DISTINCT person, liker
RETURN person.id AS personId,
       sum(CASE WHEN liker IS NULL THEN 0
                ELSE COUNT { (liker)<-[:HAS_CREATOR]-(:Message)<-[:LIKES]-(:Person) } END) AS authorityScore
ORDER BY authorityScore DESC, personId
LIMIT 100

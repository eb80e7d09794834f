// Who writes most about a tag, and what others make of it.
MATCH (:Tag {name: $tag})<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
WITH person,
     count(message) AS messageCount,
     sum(COUNT { (message)<-[:REPLY_OF]-(:Comment) }) AS replyCount,
     sum(COUNT { (message)<-[:LIKES]-(:Person) }) AS likeCount
RETURN person.id AS personId,
       replyCount,
       likeCount,
       messageCount,
       messageCount + 2 * replyCount + 10 * likeCount AS score
ORDER BY score DESC, personId
LIMIT 100

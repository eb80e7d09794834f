// A new post in a forum.
MATCH (author:Person {id: $authorId}), (forum:Forum {id: $forumId}), (country:Country {id: $countryId})
CREATE (author)<-[:HAS_CREATOR]-(post:Post:Message {
  id: $postId, imageFile: $imageFile, creationDate: $creationDate, locationIP: $locationIP, browserUsed: $browserUsed,
  language: $language, content: $content, length: $length
})<-[:CONTAINER_OF]-(forum), (post)-[:IS_LOCATED_IN]->(country)
WITH post
UNWIND $tagIds AS tagId
MATCH (tag:Tag {id: tagId})
CREATE (post)-[:HAS_TAG]->(tag)

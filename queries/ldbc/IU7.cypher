// A new comment on a post or on a comment.
MATCH (author:Person {id: $authorId}), (country:Country {id: $countryId}), (parent:Message {id: $parentId})
CREATE (author)<-[:HAS_CREATOR]-(comment:Comment:Message {
  id: $commentId, creationDate: $creationDate, locationIP: $locationIP, browserUsed: $browserUsed, content: $content, length: $length
})-[:REPLY_OF]->(parent), (comment)-[:IS_LOCATED_IN]->(country)
WITH comment
UNWIND $tagIds AS tagId
MATCH (tag:Tag {id: tagId})
CREATE (comment)-[:HAS_TAG]->(tag)

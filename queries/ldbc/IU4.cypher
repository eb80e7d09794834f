// A new forum with moderator and tags.
MATCH (moderator:Person {id: $moderatorId})
CREATE (forum:Forum {id: $forumId, title: $title, creationDate: $creationDate})-[:HAS_MODERATOR]->(moderator)
WITH forum
UNWIND $tagIds AS tagId
MATCH (tag:Tag {id: tagId})
CREATE (forum)-[:HAS_TAG]->(tag)

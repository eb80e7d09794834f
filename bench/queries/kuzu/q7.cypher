// Tagged messages with their likes and replies, if any.
MATCH (:Tag)<-[:HAS_TAG]-(message:Post:Comment)
OPTIONAL MATCH (message)<-[:LIKES]-(liker:Person)
OPTIONAL MATCH (message)<-[:REPLY_OF]-(comment:Comment)
RETURN count(*) AS count

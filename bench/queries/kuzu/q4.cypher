// Tagged messages with a like and a reply.
MATCH (:Tag)<-[:HAS_TAG]-(message:Post:Comment), (message)<-[:LIKES]-(:Person), (message)<-[:REPLY_OF]-(:Comment)
RETURN count(*) AS count

// Two friends, the first of whom replied to a post of the second.
MATCH (one:Person)-[:KNOWS]-(other:Person),
      (one)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(other)
RETURN count(*) AS count

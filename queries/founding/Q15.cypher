// Where those who studied together work.
MATCH (u:University)<-[:STUDY_AT]-(p:Person)-[w:WORK_AT]->(c:Company)
WHERE w.workFrom > 2005
RETURN u.name AS university, c.name AS company, count(*) AS persons
ORDER BY persons DESC, university, company
LIMIT 100

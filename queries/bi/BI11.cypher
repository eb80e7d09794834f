// Triangles of friends of one country whose friendships were made within a period.
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(person:Person)
WITH collect(person) AS persons
UNWIND persons AS a
MATCH (a)-[ab:KNOWS]-(b:Person)-[bc:KNOWS]-(c:Person)-[ca:KNOWS]-(a)
WHERE a.id < b.id AND b.id < c.id AND b IN persons AND c IN persons
  AND $startDate <= ab.creationDate AND ab.creationDate <= $endDate
  AND $startDate <= bc.creationDate AND bc.creationDate <= $endDate
  AND $startDate <= ca.creationDate AND ca.creationDate <= $endDate
RETURN count(*) AS count

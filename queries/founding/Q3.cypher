// Persons of each country, by gender.
MATCH (p:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(c:Country)
RETURN c.name AS country, p.gender AS gender, count(*) AS persons
ORDER BY persons DESC, country, gender

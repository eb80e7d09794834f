// Friends up to three steps away who bear a first name, nearest first, with where they live, studied and worked.
MATCH (start:Person {id: $personId}), (friend:Person {firstName: $firstName})
WHERE start <> friend
MATCH path = (start)-[:KNOWS* SHORTEST 1..3]-(friend)
WITH friend, length(path) AS distance
ORDER BY distance, friend.lastName, friend.id
LIMIT 20
MATCH (friend)-[:IS_LOCATED_IN]->(city:City)
OPTIONAL MATCH (friend)-[study:STUDY_AT]->(university:University)-[:IS_LOCATED_IN]->(seat:City)
WITH friend, distance, city,
     collect(CASE WHEN university IS NULL THEN null
                  ELSE [university.name, CAST(study.classYear AS STRING), seat.name] END) AS universities
OPTIONAL MATCH (friend)-[work:WORK_AT]->(company:Company)-[:IS_LOCATED_IN]->(country:Country)
WITH friend, distance, city, universities,
     collect(CASE WHEN company IS NULL THEN null
                  ELSE [company.name, CAST(work.workFrom AS STRING), country.name] END) AS companies
RETURN friend.id AS friendId,
       friend.lastName AS friendLastName,
       distance AS distanceFromPerson,
       friend.birthday AS friendBirthday,
       friend.creationDate AS friendCreationDate,
       friend.gender AS friendGender,
       friend.browserUsed AS friendBrowserUsed,
       friend.locationIP AS friendLocationIp,
       friend.email AS friendEmails,
       friend.speaks AS friendLanguages,
       city.name AS friendCityName,
       universities AS friendUniversities,
       companies AS friendCompanies
ORDER BY distanceFromPerson, friendLastName, friendId

// A new person with city, interests, studies and work.
CREATE (person:Person {
  id: $personId, firstName: $firstName, lastName: $lastName, gender: $gender, birthday: $birthday,
  creationDate: $creationDate, locationIP: $locationIP, browserUsed: $browserUsed, speaks: $languages, email: $emails
})
WITH person
MATCH (city:City {id: $cityId})
CREATE (person)-[:IS_LOCATED_IN]->(city)
WITH person
CALL (person) {
  UNWIND $tagIds AS tagId
  MATCH (tag:Tag {id: tagId})
  CREATE (person)-[:HAS_INTEREST]->(tag)
}
CALL (person) {
  UNWIND $studyAt AS study
  MATCH (university:Organisation {id: study.id})
  CREATE (person)-[:STUDY_AT {classYear: study.year}]->(university)
}
CALL (person) {
  UNWIND $workAt AS work
  MATCH (company:Organisation {id: work.id})
  CREATE (person)-[:WORK_AT {workFrom: work.year}]->(company)
}

SELECT firstName, lastName, birthday, locationIP, browserUsed, city, gender, creationDate FROM person WHERE id = $personId

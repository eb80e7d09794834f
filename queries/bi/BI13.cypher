// Persons of a country who write less than once a month, by how much others of their kind like them.
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(person:Person)
WHERE person.creationDate < $endDate
WITH person,
     datetime({epochMillis: person.creationDate}) AS born,
     datetime({epochMillis: $endDate}) AS end,
     COUNT { MATCH (person)<-[:HAS_CREATOR]-(message:Message)
             WHERE message.creationDate < $endDate
             RETURN message } AS messages
WHERE messages < 12 * (end.year - born.year) + end.month - born.month + 1
WITH collect(person) AS zombies
UNWIND zombies AS zombie
OPTIONAL MATCH (zombie)<-[:HAS_CREATOR]-(:Message)<-[:LIKES]-(liker:Person)
WHERE liker.creationDate < $endDate
WITH zombie,
     sum(CASE WHEN liker IN zombies THEN 1 ELSE 0 END) AS zombieLikeCount,
     count(liker) AS totalLikeCount
RETURN zombie.id AS zombieId,
       zombieLikeCount,
       totalLikeCount,
       CASE WHEN totalLikeCount = 0 THEN 0.0
            ELSE zombieLikeCount / toFloat(totalLikeCount) END AS zombieScore
ORDER BY zombieScore DESC, zombieId
LIMIT 100

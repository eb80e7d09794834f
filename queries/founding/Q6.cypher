// What is liked most, by the language it is written in.
MATCH (m:Post)<-[l:LIKES]-(:Person)
WHERE m.language IS NOT NULL
RETURN m.language AS language, count(l) AS likes, count(DISTINCT m) AS posts
ORDER BY likes DESC, language

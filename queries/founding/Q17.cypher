// Posts of each month and language.
MATCH (m:Post)
WHERE m.length > 0
WITH datetime({epochMillis: m.creationDate}) AS at, coalesce(m.language, '') AS language
RETURN at.year AS year, at.month AS month, language, count(*) AS posts
ORDER BY year, month, language

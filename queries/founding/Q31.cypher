// Birthdays by month, with the messages of those persons.
MATCH (p:Person)<-[:HAS_CREATOR]-(m:Message)
WITH p, count(m) AS messages
WITH datetime({epochMillis: p.birthday}).month AS month, messages
RETURN month, count(*) AS persons, sum(messages) AS messages, max(messages) AS most
ORDER BY month

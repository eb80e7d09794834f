// Messages before a date by year, kind and length.
MATCH (message:Message)
WHERE message.creationDate < $datetime
WITH count(*) AS total
MATCH (message:Message)
WHERE message.creationDate < $datetime AND message.content IS NOT NULL
WITH total,
     datetime({epochMillis: message.creationDate}).year AS year,
     message:Comment AS isComment,
     CASE WHEN message.length < 40 THEN 0
          WHEN message.length < 80 THEN 1
          WHEN message.length < 160 THEN 2
          ELSE 3 END AS lengthCategory,
     message.length AS length
RETURN year,
       isComment,
       lengthCategory,
       count(*) AS messageCount,
       avg(length) AS averageMessageLength,
       sum(length) AS sumMessageLength,
       count(*) / toFloat(max(total)) AS percentageOfMessages
ORDER BY year DESC, isComment, lengthCategory

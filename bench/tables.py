"""The benchmark graphs as tables: read once from shared/data by DuckDB, kept as Parquet in the work folder, and
loaded from there into every peer.  Column and table names are those of the SQL and Cypher texts beside this file."""
import os

import duckdb

# Social network: name of the table -> query over the raw tables.  `message` holds posts and comments.
NETWORK = {
    "person": "SELECT id, firstName, lastName, gender, birthday, creationDate, locationIP, browserUsed, place AS city FROM raw_person",
    "knows": 'SELECT "Person.id" AS p1, "Person.id_1" AS p2, creationDate FROM raw_person_knows_person',
    "person_email": 'SELECT "Person.id" AS person, email FROM raw_person_email_emailaddress',
    "person_language": 'SELECT "Person.id" AS person, language FROM raw_person_speaks_language',
    "interest": 'SELECT "Person.id" AS person, "Tag.id" AS tag FROM raw_person_hasInterest_tag',
    "study": 'SELECT "Person.id" AS person, "Organisation.id" AS university, classYear FROM raw_person_studyAt_organisation',
    "work": 'SELECT "Person.id" AS person, "Organisation.id" AS company, workFrom FROM raw_person_workAt_organisation',
    "forum": "SELECT id, title, creationDate, moderator FROM raw_forum",
    "member": 'SELECT "Forum.id" AS forum, "Person.id" AS person, joinDate FROM raw_forum_hasMember_person',
    "forum_tag": 'SELECT "Forum.id" AS forum, "Tag.id" AS tag FROM raw_forum_hasTag_tag',
    "post": 'SELECT id, creationDate, locationIP, browserUsed, language, content, imageFile, length, creator, place AS country, "Forum.id" AS forum FROM raw_post',
    "comment": "SELECT id, creationDate, locationIP, browserUsed, content, length, creator, place AS country, replyOfPost, replyOfComment FROM raw_comment",
    "message_tag": 'SELECT "Post.id" AS message, "Tag.id" AS tag, true AS of_post FROM raw_post_hasTag_tag UNION ALL '
                   'SELECT "Comment.id", "Tag.id", false FROM raw_comment_hasTag_tag',
    "likes": 'SELECT "Person.id" AS person, "Post.id" AS message, creationDate, true AS of_post FROM raw_person_likes_post UNION ALL '
             'SELECT "Person.id", "Comment.id", creationDate, false FROM raw_person_likes_comment',
    "city": "SELECT id, name, isPartOf AS country FROM raw_place WHERE type = 'city'",
    "country": "SELECT id, name, isPartOf AS continent FROM raw_place WHERE type = 'country'",
    "university": "SELECT id, name, place AS city FROM raw_organisation WHERE type = 'university'",
    "company": "SELECT id, name, place AS country FROM raw_organisation WHERE type = 'company'",
    "tag": "SELECT id, name, hasType AS class FROM raw_tag",
    "tagclass": "SELECT id, name, isSubclassOf AS parent FROM raw_tagclass",
}

# The same without comments, and with posts of which little is known.
CORE = {
    **NETWORK,
    "post": 'SELECT id, creationDate, NULL::VARCHAR AS locationIP, NULL::VARCHAR AS browserUsed, language, NULL::VARCHAR AS content, '
            'NULL::VARCHAR AS imageFile, length, creator, place AS country, "Forum.id" AS forum FROM raw_post',
    "comment": "SELECT NULL::BIGINT AS id, NULL::BIGINT AS creationDate, NULL::VARCHAR AS locationIP, NULL::VARCHAR AS browserUsed, NULL::VARCHAR AS content, "
               "NULL::BIGINT AS length, NULL::BIGINT AS creator, NULL::BIGINT AS country, NULL::BIGINT AS replyOfPost, NULL::BIGINT AS replyOfComment WHERE false",
    "message_tag": 'SELECT "Post.id" AS message, "Tag.id" AS tag, true AS of_post FROM raw_post_hasTag_tag',
    "likes": 'SELECT "Person.id" AS person, "Post.id" AS message, creationDate, true AS of_post FROM raw_person_likes_post',
}

# Persons and friendships alone, with a number for every friendship.
FRIENDS = {
    "person": "SELECT id, firstName, lastName, birthday FROM raw_person",
    "knows": "SELECT person1Id AS p1, person2Id AS p2, creationDate FROM raw_knows",
}


def raw_tables(folder):
    """Name and path of every table of text below `folder`."""
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".csv.zst") and not name.startswith("updateStream"):
                yield "raw_" + name.removesuffix(".csv.zst"), os.path.join(place, name)


def parquet(source, folder, definitions):
    """Writes one Parquet file a table of `definitions` into `folder`, unless they are there; returns their paths."""
    paths = {name: os.path.join(folder, name + ".parquet") for name in definitions}
    if all(map(os.path.exists, paths.values())):
        return paths
    os.makedirs(folder, exist_ok=True)
    con = duckdb.connect()
    for name, path in raw_tables(source):
        con.execute(f"CREATE VIEW {name} AS SELECT * FROM read_csv('{path}', delim='|', quote='', escape='', header=true, "
                    "nullstr='', sample_size=-1, max_line_size=10000000)")
    for name, query in definitions.items():
        con.execute(f"COPY ({query}) TO '{paths[name]}.part' (FORMAT parquet)")
        os.rename(paths[name] + ".part", paths[name])
    con.close()
    return paths

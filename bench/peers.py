"""Kuzu, Ladybug, DuckDB and SQLite: how each is loaded, opened and asked.

Each is set up as its documentation advises for reading: primary keys and indexes on what is looked up, statements
prepared once a client, data analysed after loading.  Commits are durable when they are acknowledged."""
import glob
import importlib
import os
import re
import sqlite3
from dataclasses import dataclass

MEMORY = 2 << 30  # bytes of buffer pool, where one can be set: everything fits


def folder_tables(folder):
    return {os.path.basename(p).removesuffix(".parquet"): p for p in sorted(glob.glob(os.path.join(folder, "*.parquet")))}


# Node tables: name -> (table of the data, columns).  The first column is the primary key.
KUZU_NODES = {
    "Person": ("person", "id INT64, firstName STRING, lastName STRING, gender STRING, birthday INT64, creationDate INT64, locationIP STRING, browserUsed STRING, email STRING[], speaks STRING[]"),
    "Forum": ("forum", "id INT64, title STRING, creationDate INT64"),
    "Post": ("post", "id INT64, creationDate INT64, locationIP STRING, browserUsed STRING, language STRING, content STRING, imageFile STRING, length INT64"),
    "Comment": ("comment", "id INT64, creationDate INT64, locationIP STRING, browserUsed STRING, content STRING, length INT64"),
    "City": ("city", "id INT64, name STRING"),
    "Country": ("country", "id INT64, name STRING"),
    "University": ("university", "id INT64, name STRING"),
    "Company": ("company", "id INT64, name STRING"),
    "Tag": ("tag", "id INT64, name STRING"),
    "TagClass": ("tagclass", "id INT64, name STRING"),
}
# Relationship tables: name -> (properties, [(from, to, query)]).
KUZU_RELS = {
    "KNOWS": ("creationDate INT64", [("Person", "Person", "SELECT p1, p2, creationDate FROM knows")]),
    "IS_LOCATED_IN": ("", [("Person", "City", "SELECT id, city FROM person"), ("University", "City", "SELECT id, city FROM university"),
                           ("Company", "Country", "SELECT id, country FROM company"), ("Post", "Country", "SELECT id, country FROM post"),
                           ("Comment", "Country", "SELECT id, country FROM comment")]),
    "IS_PART_OF": ("", [("City", "Country", "SELECT id, country FROM city")]),
    "HAS_CREATOR": ("", [("Post", "Person", "SELECT id, creator FROM post"), ("Comment", "Person", "SELECT id, creator FROM comment")]),
    "REPLY_OF": ("", [("Comment", "Post", "SELECT id, replyOfPost FROM comment WHERE replyOfPost IS NOT NULL"),
                      ("Comment", "Comment", "SELECT id, replyOfComment FROM comment WHERE replyOfComment IS NOT NULL")]),
    "HAS_TAG": ("", [("Post", "Tag", "SELECT message, tag FROM message_tag WHERE of_post"), ("Comment", "Tag", "SELECT message, tag FROM message_tag WHERE NOT of_post"),
                     ("Forum", "Tag", "SELECT forum, tag FROM forum_tag")]),
    "LIKES": ("creationDate INT64", [("Person", "Post", "SELECT person, message, creationDate FROM likes WHERE of_post"),
                                     ("Person", "Comment", "SELECT person, message, creationDate FROM likes WHERE NOT of_post")]),
    "CONTAINER_OF": ("", [("Forum", "Post", "SELECT forum, id FROM post")]),
    "HAS_MEMBER": ("joinDate INT64", [("Forum", "Person", "SELECT forum, person, joinDate FROM member")]),
    "HAS_MODERATOR": ("", [("Forum", "Person", "SELECT id, moderator FROM forum")]),
    "HAS_INTEREST": ("", [("Person", "Tag", "SELECT person, tag FROM interest")]),
    "HAS_TYPE": ("", [("Tag", "TagClass", "SELECT id, class FROM tag")]),
    "IS_SUBCLASS_OF": ("", [("TagClass", "TagClass", "SELECT id, parent FROM tagclass WHERE parent IS NOT NULL")]),
    "STUDY_AT": ("classYear INT64", [("Person", "University", "SELECT person, university, classYear FROM study")]),
    "WORK_AT": ("workFrom INT64", [("Person", "Company", "SELECT person, company, workFrom FROM work")]),
}


SQL_TYPES = {"INT64": "BIGINT", "STRING": "VARCHAR", "STRING[]": "VARCHAR[]"}


@dataclass(frozen=True)
class GraphTable:
    """A table of nodes, or of relationships between two of these."""
    name: str
    columns: tuple  # (name, type in Kuzu's words)
    ends: tuple     # labels of start and end; none for nodes
    query: str      # its rows, over `views`


def views(folder):
    """The tables of a graph as views of DuckDB; persons have their lists, where there are any."""
    import duckdb
    source, have = duckdb.connect(), folder_tables(folder)
    for name, file in have.items():
        source.execute(f"CREATE VIEW {name} AS SELECT * FROM '{file}'")
    if "person_email" in have:
        source.execute("ALTER VIEW person RENAME TO single")
        source.execute("CREATE VIEW person AS SELECT *, (SELECT list(e.email) FROM person_email e WHERE e.person = single.id) AS email, "
                       "(SELECT list(l.language) FROM person_language l WHERE l.person = single.id) AS speaks FROM single")
    return source


def graph_tables(source, folder):
    """The tables of a graph as Kuzu has them, nodes first."""
    have, found = folder_tables(folder), []
    for label, (table, columns) in KUZU_NODES.items():
        if table in have:
            known = [d[0] for d in source.execute(f"SELECT * FROM {table} LIMIT 0").description]
            columns = tuple(tuple(c.split()) for c in columns.split(", ") if c.split()[0] in known)
            query = ", ".join(f"CAST({name} AS {SQL_TYPES[kind]}) AS {name}" for name, kind in columns)
            found.append(GraphTable(label, columns, (), f"SELECT {query} FROM {table}"))
    made = {table.name for table in found}
    for name, (properties, pairs) in KUZU_RELS.items():
        columns = tuple(tuple(c.split()) for c in properties.split(", ") if c)
        found += [GraphTable(name, columns, (a, b), query) for a, b, query in pairs if {a, b} <= made]
    return found


def table_statements(tables):
    """What makes the tables, in the words of Kuzu, Ladybug and Graven."""
    for table in tables:
        if not table.ends:
            yield f"CREATE NODE TABLE {table.name}({', '.join(' '.join(c) for c in table.columns)}, PRIMARY KEY(id))"
    for name in dict.fromkeys(table.name for table in tables if table.ends):
        same = [table for table in tables if table.name == name and table.ends]
        parts = [f"FROM {a} TO {b}" for a, b in (table.ends for table in same)] + [" ".join(c) for c in same[0].columns]
        yield f"CREATE REL TABLE {name}({', '.join(parts)})"


def copy_statement(tables, table, path, options=()):
    """What loads a file into a table."""
    several = sum(other.name == table.name for other in tables) > 1
    options = [*options] + ([f"from='{table.ends[0]}'", f"to='{table.ends[1]}'"] if several else [])
    return f"COPY {table.name} FROM '{path}'" + (f" ({', '.join(options)})" if options else "")


class Kuzu:
    """Kuzu and, with the same interface, Ladybug."""
    module = "kuzu"
    dialects = ["kuzu"]
    settings = "node tables with primary keys (hash index), prepared statements, CHECKPOINT after loading, default durability (log synced at each commit)"

    def connect(self, path, threads=2):
        self.m = importlib.import_module(self.module)
        self.threads = threads
        self.db = self.m.Database(path, buffer_pool_size=MEMORY, max_num_threads=threads)
        return self.m.Connection(self.db, num_threads=threads)

    def version(self):
        return self.m.__version__

    def load(self, graph, folder, path):
        con, source = self.connect(path), views(folder)
        tables = graph_tables(source, folder)
        part = os.path.join(os.path.dirname(path), self.module + "-part.parquet")
        for statement in table_statements(tables):
            con.execute(statement)
        for table in tables:
            source.execute(f"COPY ({table.query}) TO '{part}' (FORMAT parquet)")
            con.execute(copy_statement(tables, table, part))
            os.remove(part)
        con.execute("CHECKPOINT")
        con.close()
        self.db.close()

    def open(self, graph, path, threads):
        self.con = self.connect(path, threads)

    def client(self, ask):
        # As many worker threads a client as the database has, parted among the clients.
        con = self.m.Connection(self.db, num_threads=max(1, self.threads // ask.get("clients", 1)))
        statement = con.prepare(ask["text"])
        few = ask.get("few", False)

        def run(params):
            result = con.execute(statement, params)
            if few:
                n = result.get_num_tuples()
            else:
                n = 0
                while result.has_next():
                    result.get_next()
                    n += 1
            result.close()
            return n
        return run

    def answer(self, ask, params, limit):
        result = self.con.execute(ask["text"], params)
        rows = []
        while result.has_next() and len(rows) < limit:
            rows.append(list(result.get_next()))
        count = result.get_num_tuples()
        result.close()
        return {"count": count, "rows": rows}


class Ladybug(Kuzu):
    module = "ladybug"


class GravenPython(Kuzu):
    """Graven through its own binding: asked as Kuzu is."""
    module = "graven"
    settings = "the same through its package for Python, memory=2GiB"

    def open(self, graph, path, threads):
        self.m = importlib.import_module(self.module)
        self.db = self.m.Database(path, memory=MEMORY, threads=threads)
        self.con = self.m.Connection(self.db)

    def client(self, ask):
        # A statement of its own, for clients that share one wait for each other.
        statement = self.m.Connection(self.db).prepare(ask["text"])
        few = ask.get("few", False)

        def run(params):
            result = statement.execute(params)
            return result.get_num_tuples() if few else len(result.get_all())
        return run


# Indexes of the relational peers: what the queries look up.
KEYS = ["person", "forum", "post", "comment", "city", "country", "university", "company", "tag", "tagclass", "message"]
INDEXES = {
    "knows": ["p1"], "person": ["firstName"], "person_email": ["person"], "person_language": ["person"],
    "interest": ["person"], "study": ["person"], "work": ["person"], "member": ["person", "forum"],
    "post": ["creator", "forum"], "comment": ["creator", "replyOfPost", "replyOfComment"], "message": ["creator", "replyOf"],
    "message_tag": ["message", "tag"], "likes": ["message", "person"], "tag": ["name"], "country": ["name"],
    "tagclass": ["name"], "forum": ["moderator"], "city": ["country"],
}
MESSAGE = ("SELECT id, true AS of_post, creationDate, content, imageFile, creator, country, forum, CAST(NULL AS BIGINT) AS replyOf FROM post UNION ALL "
           "SELECT id, false, creationDate, content, NULL, creator, country, NULL, coalesce(replyOfPost, replyOfComment) FROM comment")


def relational_tables(con, folder):
    """Views of the Parquet files in a DuckDB connection; friendships are stored in both directions, as LDBC's own SQL does."""
    tables = folder_tables(folder)
    for name, file in tables.items():
        query = f"SELECT * FROM '{file}'"
        if name == "knows":
            con.execute(f"CREATE VIEW raw.friendship AS {query}")
            query = f"SELECT * FROM '{file}' UNION ALL SELECT p2, p1, creationDate FROM '{file}'"
        con.execute(f"CREATE VIEW raw.{name} AS {query}")
    names = list(tables) + ["friendship"]
    if "post" in tables:
        message = MESSAGE.replace("FROM post", "FROM raw.post").replace("FROM comment", "FROM raw.comment")
        con.execute(f"CREATE VIEW raw.message AS {message}")
        names.append("message")
    return names


class DuckDb:
    dialects = ["duckdb", "sql"]
    settings = "tables with primary keys and ART indexes on looked-up columns, sorted by key, both directions of KNOWS, ANALYZE, prepared statements, default durability (log synced at each commit); rows of full-table queries fetched as NumPy columns"

    def load(self, graph, folder, path):
        import duckdb
        con = duckdb.connect(path)
        con.execute("ATTACH ':memory:' AS r; CREATE SCHEMA r.raw")
        con.execute("USE r")
        names = relational_tables(con, folder)
        base = os.path.basename(path).split(".")[0]
        con.execute(f'USE "{base}"')
        for name in names:
            columns = con.execute(f"SELECT * FROM r.raw.{name} LIMIT 0").description
            key = ", PRIMARY KEY (id)" if name in KEYS else ""
            con.execute(f"CREATE TABLE {name} ({', '.join(f'{c[0]} {c[1]}' for c in columns)}{key})")
            con.execute(f"INSERT INTO {name} SELECT * FROM r.raw.{name} ORDER BY 1, 2")
            for column in INDEXES.get(name, []):
                if column in [c[0] for c in columns]:
                    con.execute(f"CREATE INDEX {name}_{column} ON {name}({column})")
        con.execute("ANALYZE")
        con.execute("CHECKPOINT")
        con.close()

    def open(self, graph, path, threads):
        import duckdb
        self.m, self.threads = duckdb, threads
        self.db = duckdb.connect(path, config={"threads": threads, "memory_limit": f"{MEMORY >> 20}MB"})

    def version(self):
        return self.m.__version__

    def client(self, ask):
        con = self.db.cursor()
        text, few, write = ask["text"], ask.get("few", False), ask.get("write", False)
        wanted = names(text)
        con.execute("PREPARE s AS " + text)

        def run(params):
            # A prepared statement takes literals only.
            values = ", ".join(f"{n} := {literal(params[n])}" for n in wanted)
            result = con.execute(f"EXECUTE s({values})" if wanted else "EXECUTE s")
            if few:
                columns = result.fetchnumpy()
                return len(next(iter(columns.values())))
            return 0 if write else len(result.fetchall())
        return run

    def answer(self, ask, params, limit):
        text = ask["text"]
        rows = self.db.execute(text, {n: params[n] for n in names(text)}).fetchall()
        return {"count": len(rows), "rows": [list(r) for r in rows[:limit]]}


def literal(value):
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def names(text):
    return sorted(set(re.findall(r"\$(\w+)", text)))


class Sqlite:
    dialects = ["sqlite", "sql"]
    settings = "INTEGER PRIMARY KEY, indexes on looked-up columns, both directions of KNOWS, ANALYZE, WAL, synchronous=FULL, cache_size and mmap_size for everything, statements cached"

    def connect(self, path):
        con = sqlite3.connect(path, isolation_level=None, cached_statements=512, check_same_thread=False)
        con.execute("PRAGMA journal_mode=WAL")
        con.execute("PRAGMA synchronous=FULL")
        con.execute(f"PRAGMA cache_size=-{MEMORY >> 10}")
        con.execute(f"PRAGMA mmap_size={MEMORY}")
        return con

    def load(self, graph, folder, path):
        import duckdb
        source = duckdb.connect()
        source.execute("CREATE SCHEMA raw")
        con = self.connect(path)
        con.execute("BEGIN")
        for name in relational_tables(source, folder):
            rows = source.execute(f"SELECT * FROM raw.{name} ORDER BY 1, 2")
            columns = [c[0] for c in rows.description]
            kinds = ["INTEGER PRIMARY KEY" if c == "id" else "" for c in columns]
            con.execute(f"CREATE TABLE {name} ({', '.join(f'{c} {k}' for c, k in zip(columns, kinds))})")
            while chunk := rows.fetchmany(50000):
                con.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", chunk)
            for column in INDEXES.get(name, []):
                if column in columns:
                    con.execute(f"CREATE INDEX {name}_{column} ON {name}({column}{', p2, creationDate' if name == 'knows' else ''})")
        con.execute("COMMIT")
        con.execute("ANALYZE")
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        con.close()

    def open(self, graph, path, threads):
        self.path = path
        self.con = self.connect(path)

    def version(self):
        return sqlite3.sqlite_version

    def client(self, ask):
        con, text = self.connect(self.path), ask["text"]

        def run(params):
            return len(con.execute(text, params).fetchall())
        return run

    def answer(self, ask, params, limit):
        rows = self.con.execute(ask["text"], params).fetchall()
        return {"count": len(rows), "rows": [list(r) for r in rows[:limit]]}


PEERS = {"graven-python": GravenPython, "kuzu": Kuzu, "ladybug": Ladybug, "duckdb": DuckDb, "sqlite": Sqlite}

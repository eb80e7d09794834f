"""Frames of a graph on Spark with executors of their own: read in parts, written once, and the same
answers by Cypher on Spark."""

from __future__ import annotations

import datetime
import os
import re
import struct
import sys
import tempfile
import unittest
from pathlib import Path

import graven
import spark_session

WHY = spark_session.missing()
spark = None


def setUpModule():
    global spark
    if WHY is not None:
        print(f"SKIPPED: Spark: {WHY}", file=sys.stderr)
        raise unittest.SkipTest(WHY)
    spark = spark_session.session()
    from graven.spark import register

    register(spark)


def tearDownModule():
    if spark is not None:
        spark.stop()


PEOPLE = """
UNWIND range(0, 199) AS i
CREATE (:Person {id: 1000 + i, name: 'P' + toString(i % 37), born: date('1990-01-01') + duration({days: i}), height: 1.5 + i / 400.0,
                 langs: ['a', 'b' + toString(i % 3)], seen: datetime('2024-01-01T00:00:00Z') + duration({hours: i}), even: i % 2 = 0})
"""
REST = (
    "UNWIND range(0, 9) AS i CREATE (:City:Place {id: i, name: 'C' + toString(i)})",
    "MATCH (p:Person) MATCH (c:City {id: p.id % 10}) CREATE (p)-[:LIVES_IN {since: 2000 + p.id % 7}]->(c)",
    "MATCH (p:Person) WHERE p.id % 3 > 0 MATCH (q:Person {id: 1000 + (p.id * 7) % 200}) CREATE (p)-[:KNOWS {since: p.id}]->(q)",
    "MATCH (p:Person) WHERE p.id % 5 = 0 MATCH (q:Person {id: 1000 + (p.id * 3 + 1) % 200}) CREATE (p)-[:KNOWS {since: p.id}]->(q)",
    "MATCH (p:Person {id: 1001}) CREATE (p)-[:KNOWS {since: 1}]->(p)",
    "MATCH (p:Person) WHERE p.id % 11 = 0 SET p.nick = 'N' + toString(p.id)",
    "CREATE (:Odd {x: 1}), (:Odd {x: 'one'}), (:Span {of: duration('P1M2DT3.5S'), at: time('10:00:00+01:00'), where: point({x: 1.0, y: 2.0})})",
    "CREATE (:Timed {at: localtime('12:00:00'), lasts: duration('P1D'), all: [duration('P1D')], made: datetime('2024-01-01T00:00:00Z')})",
)


def make(path):
    """A small network."""
    with graven.Database(path, memory="32MiB") as database, database.connect() as connection:
        connection.execute("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE")
        connection.execute(PEOPLE)
        for statement in REST:
            connection.execute(statement)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = cls._folder.name
        cls.path = os.path.join(cls.folder, "it.graven")
        make(cls.path)

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def frame(self, **options):
        return spark.read.format("graven").options(**{"path": self.path, **options})

    def ask(self, text, parameters=None, path=None):
        with graven.Database(path or self.path, read_only=True) as database, database.connect() as connection:
            return connection.execute(text, parameters).get_all()

    def refused(self, words, run):
        with self.assertRaises(Exception) as caught:
            run()
        self.assertIn(words, str(caught.exception))


class Reading(Case):
    def test_nodes(self):
        frame = self.frame(label="Person", partitions="4").load()
        names = ["id", "labels", "born", "even", "height", "property_id", "langs", "name", "nick", "seen"]
        self.assertEqual(frame.columns, names)
        self.assertEqual(
            [field.dataType.simpleString() for field in frame.schema],
            ["bigint", "array<string>", "date", "boolean", "double", "bigint", "array<string>", "string", "string", "timestamp"],
        )
        self.assertGreaterEqual(frame.rdd.getNumPartitions(), 3)
        self.assertEqual(frame.count(), 200)
        found = frame.select("id", "labels", "property_id", "name", "born", "height", "langs", "nick").collect()
        wanted = self.ask("MATCH (p:Person) RETURN id(p), labels(p), p.id, p.name, p.born, p.height, p.langs, p.nick")
        self.assertEqual(sorted(map(list, found)), sorted(wanted))
        moments = {row[0]: row[1].astimezone(datetime.timezone.utc) for row in frame.select("property_id", "seen").collect()}
        self.assertEqual(moments[1001], datetime.datetime(2024, 1, 1, 1, tzinfo=datetime.timezone.utc))

    def test_relationships_and_the_form_of_graphframes(self):
        edges = self.frame(type="KNOWS", partitions="4").load()
        self.assertEqual(edges.columns, ["id", "src", "dst", "since"])
        self.assertGreaterEqual(edges.rdd.getNumPartitions(), 3)
        wanted = self.ask("MATCH (a)-[r:KNOWS]->(b) RETURN id(r), id(a), id(b), r.since")
        self.assertEqual(sorted(map(list, edges.collect())), sorted(wanted))
        vertices = self.frame(label="Person").load()
        joined = edges.join(vertices.select("id").withColumnRenamed("id", "src"), "src").count()
        self.assertEqual(joined, len(wanted))
        keyed = self.frame(type="KNOWS", key="id").load().select("src", "dst")
        wanted = self.ask("MATCH (a)-[:KNOWS]->(b) RETURN a.id, b.id")
        self.assertEqual(sorted(map(list, keyed.collect())), sorted(wanted))
        keyed = self.frame(label="Person", key="id").load()
        self.assertEqual(keyed.columns[:3], ["id", "labels", "born"])
        self.assertEqual(keyed.agg({"id": "min"}).collect()[0][0], 1000)
        everything = self.frame(type="*").load().groupBy("type").count()
        self.assertEqual(dict(everything.collect())["LIVES_IN"], 200)

    def test_only_columns_of_the_schema_are_read(self):
        # The property x of Odd has two types, which matters only where it is read.
        self.refused("several types", lambda: self.frame(label="Odd").load())
        self.assertEqual(self.frame(label="Odd").schema("id long").load().count(), 2)
        self.refused("toString()", lambda: self.frame(label="Odd").schema("x long").load().collect())
        narrow = self.frame(label="Person").schema("property_id long, name string").load()
        self.assertEqual(narrow.orderBy("property_id").first(), (1000, "P0"))

    def test_filters_are_decided_in_the_database(self):
        given = '[["name", "=", "P3"], ["property_id", ">", 1010]]'
        found = self.frame(label="Person", filters=given).schema("property_id long").load()
        wanted = self.ask("MATCH (p:Person {name: 'P3'}) WHERE p.id > 1010 RETURN p.id")
        self.assertEqual(sorted(map(list, found.collect())), sorted(wanted))

    def test_filters_that_spark_hands_over(self):
        from graven.spark.options import Options
        from graven.spark.reader import Reader
        from pyspark.sql.types import _parse_datatype_string

        def kind(name, *slots):
            return type(name, (), {"__init__": lambda self, *values: self.__dict__.update(zip(slots, values))})

        pair = ("attribute", "value")
        equal, above, starts = (kind(name, *pair) for name in ("EqualTo", "GreaterThan", "StringStartsWith"))
        among, missing, negated = kind("In", *pair), kind("IsNull", "attribute"), kind("Not", "child")
        schema = _parse_datatype_string("property_id long, name string, nick string, height double")
        reader = Reader(Options({"path": self.path, "label": "Person"}), schema)
        left = [above(("height",), 1.6), above(("other", "x"), 1)]
        given = [
            among(("property_id",), list(range(1000, 1050))),
            negated(equal(("name",), "P1")),
            starts(("name",), "P1"),
            missing(("nick",)),
            *left,
        ]
        self.assertEqual(list(reader.pushFilters(given)), left)
        rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
        wanted = self.ask(
            "MATCH (p:Person) WHERE p.id < 1050 AND p.name <> 'P1' AND p.name STARTS WITH 'P1' AND p.nick IS NULL RETURN p.id"
        )
        self.assertTrue(wanted)
        self.assertEqual(sorted(row["property_id"] for row in rows), sorted(row[0] for row in wanted))

    def test_filters_that_the_database_would_decide_otherwise_are_left(self):
        from graven.spark.options import Options
        from graven.spark.reader import Reader
        from pyspark.sql.types import _parse_datatype_string

        def one(kind, **slots):
            return type(kind, (), slots)()

        def left(given, schema, **options):
            reader = Reader(Options({"path": self.path, **options}), _parse_datatype_string(schema))
            return list(reader.pushFilters(given))

        timed = [one("EqualTo", attribute=("at",), value="12:00:00")]
        self.assertEqual(left(timed, "at string", label="Timed"), timed)
        own = [one("IsNotNull", attribute=("labels",))]
        self.assertEqual(left(own, "labels array<string>", label="Person"), own)
        own = [one("EqualTo", attribute=("type",), value="KNOWS")]
        self.assertEqual(left(own, "type string", type="*"), own)
        among = [one("Not", child=one("In", attribute=("property_id",), value=[1000, None]))]
        self.assertEqual(left(among, "property_id long", label="Person"), among)

    def test_a_commit_between_two_statements_is_noticed(self):
        from unittest import mock

        from graven.spark import reader
        from graven.spark.options import Options
        from pyspark.sql.types import _parse_datatype_string

        path = os.path.join(self.folder, "between.graven")
        make(path)
        for options in ({"label": "Person"}, {"cypher": "MATCH (p:Person) RETURN id(p) AS id"}):
            one = reader.Reader(Options({"path": path, **options}), _parse_datatype_string("id long"))
            with mock.patch.object(reader, "snapshot_of", side_effect=[one.snapshot, "a later one"]):
                self.refused("changed while it was read", lambda: list(one.read(one.partitions()[0])))

    def test_spark_hands_filters_over(self):
        from pyspark.sql.datasource import DataSourceReader

        if not hasattr(DataSourceReader, "pushFilters"):
            self.skipTest("Spark hands filters over from 4.1 on")
        frame = self.frame(label="Person", partitions="4").load().filter("name = 'P3' AND height > 1.6 AND NOT even")
        # What equals one value is found at once, and not in parts.
        self.assertEqual(frame.rdd.getNumPartitions(), 1)
        wanted = self.ask("MATCH (p:Person {name: 'P3', even: false}) WHERE p.height > 1.6 RETURN p.id")
        self.assertEqual(sorted(map(list, frame.select("property_id").collect())), sorted(wanted))

    def test_what_has_no_type_in_spark_is_text_or_a_struct(self):
        [row] = self.frame(label="Span").load().collect()
        self.assertEqual((row["of"], row["at"], tuple(row["where"])), ("P1M2DT3.5S", "10:00:00+01:00", (7203, 1.0, 2.0, None)))

    def test_rows_of_a_statement(self):
        text = "MATCH (p:Person)-[:LIVES_IN]->(c) WHERE p.id < $most RETURN c.name AS city, count(*) AS n, collect(p.id) AS ids"
        frame = self.frame(cypher=text, parameters='{"most": 1050}').load()
        self.assertEqual(frame.schema.simpleString(), "struct<city:string,n:bigint,ids:array<bigint>>")
        self.assertEqual({row[0]: row[1] for row in frame.collect()}, {f"C{i}": 5 for i in range(10)})
        self.refused("return their ids", lambda: self.frame(cypher="MATCH (n:Person) RETURN n").load())

    def test_a_published_snapshot_stays_what_it_is(self):
        url = Path(self.folder, "published").as_uri() + "/"
        with graven.Database(self.path) as database:
            database.publish(url)
        frame = spark.read.format("graven").option("label", "City").load(url)
        self.assertEqual(frame.count(), 10)

    def test_a_database_that_changes_meanwhile_is_noticed(self):
        path = os.path.join(self.folder, "changes.graven")
        make(path)
        from graven.spark import Graph

        graph = Graph(spark, path)
        with graven.Database(path) as database:
            database.connect().execute("CREATE (:Person)")
        self.refused("make a new Graph", lambda: graph.cypher("MATCH (p:Person) RETURN count(*) AS n").collect())
        frame = spark.read.format("graven").option("snapshot", graph.snapshot).option("label", "Person").schema("id long")
        self.refused("changed while it was read", lambda: frame.load(path).collect())

    def test_what_is_wrong_is_named(self):
        self.refused("did you mean `label`", lambda: self.frame(labels="Person").load())
        self.refused("needs one of the options", lambda: self.frame().load())
        self.refused("no label `Persn`; it has: City", lambda: self.frame(label="Persn").load())
        self.refused("which database", lambda: spark.read.format("graven").option("label", "Person").load())
        self.refused("from 1 to 100000, not 'many'", lambda: self.frame(label="Person", partitions="many").load())
        missing = os.path.join(self.folder, "none.graven")
        self.refused("none.graven", lambda: self.frame(label="Person", path=missing).load())
        self.assertFalse(os.path.exists(missing), "reading makes no database")
        other = os.path.join(self.folder, "text.graven")
        Path(other).write_text("no database\n" * 1000)
        self.refused("text.graven", lambda: self.frame(label="Person", path=other).load())


class Writing(Case):
    def target(self):
        return os.path.join(self.folder, f"{self._testMethodName}.graven")

    def left_over(self):
        return [name for name in os.listdir(self.folder) if name.startswith(".graven-spark")]

    def test_nodes_and_relationships_are_loaded_once(self):
        path = self.target()
        nodes = spark.range(0, 1000, numPartitions=4).selectExpr("id", "concat('n', id) AS name", "date'2024-02-29' AS day")
        nodes.write.format("graven").mode("append").options(path=path, label="Item", key="id").save()
        edges = spark.range(0, 999, numPartitions=3).selectExpr("id * 2 AS weight", "id AS src", "id + 1 AS dst")
        edges.write.format("graven").mode("append").options(path=path, type="NEXT", **{"from": "Item", "to": "Item"}).save()
        self.assertEqual(self.ask("MATCH (n:Item) RETURN count(n), count(DISTINCT n.id), max(n.day)", path=path), [[1000, 1000, datetime.date(2024, 2, 29)]])
        wanted = [[999, 0]]
        found = self.ask("MATCH (a:Item)-[r:NEXT]->(b) RETURN count(*), sum(abs(r.weight - 2 * a.id)) + sum(b.id - a.id - 1)", path=path)
        self.assertEqual(found, wanted)
        back = spark.read.format("graven").options(label="Item", key="id").load(path)
        self.assertEqual(back.count(), 1000)
        self.assertEqual(self.left_over(), [])

    def test_a_task_that_fails_leaves_nothing(self):
        path = self.target()
        nodes = spark.range(0, 100, numPartitions=4).selectExpr("if(id = 77, raise_error('no'), id) AS id")
        save = nodes.write.format("graven").mode("append").options(path=path, label="Item").save
        self.assertRaises(Exception, save)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.left_over(), [])

    def test_a_task_that_runs_on_after_the_end_leaves_nothing(self):
        from graven.spark.options import Options
        from graven.spark.writer import Writer
        from pyspark.sql.types import _parse_datatype_string

        writer = Writer(Options({"path": self.target(), "label": "It"}), _parse_datatype_string("id long"), False)
        writer.abort([])
        self.refused("the write has ended", lambda: writer.write(iter(())))
        self.assertEqual(self.left_over(), [])

    def test_a_load_that_fails_leaves_nothing(self):
        path = self.target()
        twice = spark.range(0, 10).selectExpr("id % 5 AS id")
        self.refused("", twice.write.format("graven").mode("append").options(path=path, label="Item", key="id").save)
        self.assertEqual(self.ask("MATCH (n) RETURN count(n)", path=path), [[0]])
        self.assertEqual(self.ask("CALL db.constraints() YIELD name RETURN name", path=path), [])
        self.assertEqual(self.left_over(), [])

    def test_what_is_wrong_is_named(self):
        frame = spark.range(3)

        def write(mode="append", **options):
            return frame.write.format("graven").mode(mode).options(**{"path": self.target(), **options}).save

        self.refused("does not overwrite", write("overwrite", label="Item"))
        self.refused("option `from`", write(type="NEXT"))
        self.refused("the columns src and dst", write(type="NEXT", **{"from": "Item", "to": "Item"}))
        self.refused("no column `key`", write(label="Item", key="key"))
        self.refused("is missing", write(label="Item", staging="/nowhere/at/all"))
        self.refused("published snapshot", write(label="Item", path="file:///tmp/x/"))


# Statements with rows that are compared with Graven's, in order where they are sorted.
SAME = (
    "MATCH (p:Person) RETURN count(*) AS n",
    "MATCH (p:Person) WHERE p.id < 1005 RETURN p.id AS id, p.name AS name ORDER BY id DESC",
    "MATCH (p:Person) RETURN p.nick AS nick, p.id AS id ORDER BY nick, id LIMIT 25",
    "MATCH (p:Person) RETURN p.nick AS nick, p.id AS id ORDER BY nick DESC, id SKIP 175 LIMIT 20",
    "MATCH (p:Person)-[:KNOWS]->(q) RETURN p.id AS a, q.id AS b",
    "MATCH (p:Person {id: $id})-[k:KNOWS]-(q:Person) RETURN q.id AS b, k.since AS since, startNode(k).id AS s, type(k) AS t",
    "MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c) RETURN count(*) AS n",
    "MATCH (a)-[:KNOWS]->(b)<-[:KNOWS]-(c) WHERE a.id < 1100 RETURN a.id AS a, c.id AS c",
    "MATCH (a)-[:KNOWS]-(b), (b)-[:KNOWS]-(c), (c)-[:KNOWS]-(a) RETURN count(*) AS n",
    "MATCH (p)-[r]->(c:Place) RETURN type(r) AS t, c.name AS name, count(p) AS n, min(r.since) AS s",
    "MATCH (n) RETURN n:City AS city, n:Person AS person, count(*) AS n",
    "MATCH (n:City:Place) RETURN count(n) AS n",
    "MATCH (p:Person) OPTIONAL MATCH (p)-[:KNOWS]->(q:Person) WHERE q.id > p.id RETURN p.id AS a, q.id AS b",
    "MATCH (p:Person) OPTIONAL MATCH (p)-[:KNOWS]->(q)-[:LIVES_IN]->(c) WITH p, count(c) AS n RETURN n, count(p) AS m",
    "MATCH (p:Person) WHERE NOT EXISTS { (p)-[:KNOWS]->() } RETURN p.id AS id",
    "MATCH (p:Person) WHERE EXISTS { (p)-[:KNOWS]->(q) WHERE q.name = p.name } RETURN p.id AS id",
    "MATCH (p:Person) RETURN p.id AS id, COUNT { (p)-[:KNOWS]-() } AS n, EXISTS { (p)-[:LIVES_IN]->(:City {id: 3}) } AS three",
    "MATCH (p:Person {id: 1004}) RETURN size([(p)-[:KNOWS]-(q) | q.id]) AS ids",
    "MATCH (p:Person) WITH p.name AS name, avg(p.height) AS h, collect(DISTINCT p.even) AS e RETURN name, h > 1.7 AS h, size(e) AS e",
    "MATCH (p:Person)-[:LIVES_IN]->(c) WITH c, p ORDER BY p.height DESC WITH c, collect(p.id) AS ids RETURN c.id AS c, "
    "ids[0] AS first, ids[-1] AS last, size(ids) AS n, ids[1..3] AS some",
    "MATCH (p:Person) WITH p ORDER BY p.id DESC LIMIT 3 MATCH (p)-[:KNOWS]-(q) RETURN p.id AS p, q.id AS q",
    "MATCH (p:Person) WHERE p.id < 1003 UNWIND p.langs AS l RETURN p.id AS id, l",
    "MATCH (p:Person) WITH collect(p) AS ps UNWIND ps AS p WITH p WHERE p.id > 1190 RETURN p.name AS name",
    "MATCH (p:Person) WITH collect({one: p, h: p.height}) AS ps UNWIND ps AS one RETURN one.one.id AS id, one.h AS h",
    "MATCH (p:Person {id: 1001})-[:KNOWS*1..2]-(q) RETURN q.id AS id",
    "MATCH (p:Person {id: 1001})-[:KNOWS*0..3]->(q) RETURN DISTINCT q.id AS id",
    "MATCH (p:Person {id: 1003})-[k:KNOWS*2..3]-(q) RETURN q.id AS id, size(k) AS n",
    "MATCH (p:Person {id: 1002})-[:KNOWS*]->(q) RETURN count(DISTINCT q) AS n",
    "MATCH (p:Person)-[:KNOWS*0..]->(q) WHERE p.id < 1010 RETURN p.id AS p, count(DISTINCT q) AS n",
    "MATCH (p:Person {id: 1002})-[:KNOWS*1..6]->(q) RETURN DISTINCT q.id AS id",
    "MATCH (a:Person {id: 1004}), (b:Person) MATCH p = shortestPath((a)-[:KNOWS*]-(b)) RETURN b.id AS b, length(p) AS n",
    "MATCH (a:Person {id: 1004}), (b:Person) WHERE b.id < 1020 OPTIONAL MATCH p = shortestPath((a)-[:KNOWS*..3]-(b)) RETURN "
    "b.id AS b, coalesce(length(p), -1) AS n",
    "MATCH p = (a:Person {id: 1004})-[:KNOWS]-(b)-[:LIVES_IN]->(c) RETURN length(p) AS n, size(nodes(p)) AS m, c.id AS c",
    "MATCH p = (:Person)-[:KNOWS]->() RETURN count(DISTINCT p) AS n",
    "MATCH p = (a:Person)-[:KNOWS]->(b) WHERE a.id < 1010 WITH DISTINCT p RETURN length(p) AS n, [x IN nodes(p) | x.id] AS ids",
    "MATCH p = (a:Person)-[:KNOWS*1..2]->(b) WHERE a.id < 1006 WITH p, count(*) AS n RETURN n, [x IN nodes(p) | x.name] AS names",
    "MATCH p = (a)-[:KNOWS*1..2]->(b:Person {id: 1004}) RETURN [x IN nodes(p) | x.name] AS names, size(relationships(p)) AS n",
    "MATCH p = (a:Person)-[:KNOWS*0..1]->()-[:LIVES_IN]->() WHERE a.id < 1006 CALL (p) { RETURN size(relationships(p)) AS n } RETURN n, "
    "[x IN nodes(p) | [x.id, x.name]] AS ids",
    "MATCH (a:Person), (b:Person) WHERE a.id < 1004 AND b.id < 1012 MATCH p = allShortestPaths((a)-[:KNOWS*]-(b)) RETURN a.id AS a, b.id AS b, "
    "length(p) AS n, [x IN nodes(p) | x.id] AS ids",
    "MATCH (a:Person {id: 1003}), (b:Person) WHERE b.id < 1009 OPTIONAL MATCH p = allShortestPaths((a)-[:KNOWS*0..3]->(b)) RETURN b.id AS b, "
    "length(p) AS n, [x IN nodes(p) | x.id] AS ids",
    "MATCH (c:City) OPTIONAL MATCH (c)<-[:LIVES_IN]-(p:Person) WHERE p.id < 1005 WITH c, collect(p) AS ps RETURN c.id AS c, [p IN ps | p.nick] AS l, "
    "any(p IN ps WHERE p.id > 1002) AS some, reduce(s = 0, p IN ps | s + p.id) AS s, size([p IN ps WHERE p.even]) AS evens, [p IN ps | p IN ps] AS own",
    "UNWIND [[1, 2], [1], [1, null], [1, 3], [], null, [0, 9]] AS l WITH l ORDER BY l DESC RETURN collect(size(l)) AS sizes, collect(l) AS ls",
    "MATCH (p:Person) WHERE p.id < 1012 WITH p.langs AS l, p.id AS id ORDER BY l, id RETURN collect(id) AS ids",
    "MATCH (p:Person {id: 1001}) OPTIONAL MATCH (q:Person {id: 1}) RETURN [x IN [p, q, p] | x.id] AS ids, [x IN [q] WHERE x.id IS NULL | 1] AS n",
    "MATCH (p:Person) RETURN p.id % 4 AS k, count(*) AS n UNION ALL MATCH (c:City) RETURN c.id AS k, 1 AS n",
    "MATCH (p:Person) RETURN p.name AS k UNION MATCH (c:City) RETURN c.name AS k",
    "MATCH (c:City) CALL (c) { MATCH (c)<-[:LIVES_IN]-(p) RETURN p.id AS id ORDER BY id DESC LIMIT 2 } RETURN c.id AS c, id",
    "MATCH (c:City) CALL (c) { MATCH (c)<-[:LIVES_IN]-(p:Person {even: true}) RETURN p, 2 AS w UNION ALL MATCH "
    "(c)<-[:LIVES_IN]-(p) RETURN p, 1 AS w } RETURN c.id AS c, sum(w) AS w",
    "MATCH (c:City) CALL (c) { MATCH (c)<-[:LIVES_IN]-(p) WHERE p.id < 1003 RETURN count(p) AS n, collect(p.id) AS l } "
    "RETURN c.id AS c, n, l",
    "MATCH (a:Person), (b:Person) WHERE a.name = b.name AND a.id < b.id RETURN count(*) AS n",
    "MATCH (p:Person) RETURN datetime({epochMillis: p.id * 40000000}).month AS m, count(*) AS n",
    "MATCH (p:Person) WHERE id(p) = 3 RETURN p.id AS id",
    "MATCH (:Nothing)-[:NOWHERE]->(x) RETURN count(x) AS n, sum(x.y) AS s, collect(x.y) AS c, max(x.y) AS m",
    "MATCH (p:Person) WHERE p.born < $day RETURN p.id AS id",
    "UNWIND [1, 2, null] AS x RETURN x, x > 1 AS a, x IN [2, null] AS b, NOT x = 1 AS c, x IS NULL AS d, x = 'one' AS e",
    "UNWIND [7, -7] AS x RETURN x / 2 AS a, x % 3 AS b, x / 2.0 AS c, x / 0.0 AS d, 2 ^ x AS e, -x AS f, abs(x) AS g, 0 <= x < 9 AS h",
    "UNWIND [['a'], ['b']] AS r RETURN r[0] AS a",
    "WITH [3, 1, 2] AS l RETURN [x IN l WHERE x > 1 | x * 2] AS a, any(x IN l WHERE x = 2) AS b, all(x IN l WHERE x > 1) AS "
    "c, none(x IN l WHERE x > 5) AS d, reduce(s = 0, x IN l | s + x) AS e, head(l) AS f, last(l) AS g, tail(l) AS h, "
    "reverse(l) AS i, 4 IN l AS j, size(l) AS k, l + [4] AS m, range(2, 5) AS n, range(5, 2) AS o",
    "WITH 'Straße' AS s RETURN size(s) AS a, toUpper('abc') AS b, s CONTAINS 'raß' AS c, s STARTS WITH 'st' AS d, "
    "substring(s, 1, 3) AS e, s + 1 AS f, toString(12) AS g, replace(s, 'a', 'b') AS h",
    "RETURN size('\U0001f600a') AS a, substring('\U0001f600ab', 1, 1) AS b, reverse('\U0001f600a') AS c, toUpper('\u00df') AS d, "
    "substring('abc', 5) AS e, substring('abc', 1, 9) AS f, tail([]) AS g, [1, 2, 3][1..9] AS h, [1][5] AS i, [1][null] AS j, head([]) AS k",
    "RETURN floor(2.5) AS a, floor(-0.5) AS b, ceil(1.0e300) AS c, floor(0.0 / 0.0) AS d, sign(-3) AS e, -7 % 3 AS f, 7 % -3 AS g, "
    "-1 / 0.0 AS h, 1 / -0.0 AS i, 0.0 / 0.0 = 0.0 / 0.0 AS j, 0.0 / 0.0 > 1 AS k, sqrt(-1.0) AS l, 1 = 1.0 AS m, 7.5 % 0.0 AS n",
    "RETURN NOT null AS a, null IN [] AS b, 3 IN [1, null] AS c, 'a' < 1 AS d, true < false AS e, 'ab' CONTAINS '' AS f, all(x IN [null] WHERE x) AS g, "
    "any(x IN [null, true] WHERE x) AS h, none(x IN [] WHERE x) AS i, null AND false AS j, null OR true AS k, size(null) AS l, 'a' = 1 AS m",
    "RETURN [1, 'a', null] AS mixed, {a: 1, b: {c: 'x'}}.b.c AS c, CASE WHEN false THEN 1 END AS n, CASE 2 WHEN 1 THEN 'a' "
    "WHEN 2 THEN 'b' ELSE 'c' END AS s, coalesce(null, 3) AS t, toFloat(3) AS f, null = null AS u, true XOR false AS v",
)

# The same without frames that are kept, so that only the columns that are asked for are read.
NARROW = (
    "MATCH (a)-[k:KNOWS]->(b) WHERE id(k) % 2 = 0 RETURN count(*) AS n",
    "MATCH (a)-[r:KNOWS]->(b) WHERE a.id < 1010 MATCH (c)-[k:KNOWS]->(d) WHERE k <> r RETURN count(*) AS n",
    "MATCH (t:Timed) RETURN t.at AS at, t.lasts IS NULL AS n, t.made AS made",
    "MATCH (a:Person {id: 1004}), (b:Person {id: 1100}) MATCH p = shortestPath((a)-[r:KNOWS*]-(b)) RETURN size(r) AS n",
    "UNWIND [1.5, null] AS x RETURN x = sqrt(-1.0) AS a, x < sqrt(-1.0) AS b, sqrt(-1.0) = sqrt(-1.0) AS c",
    "UNWIND [1e300, -0.5, 0.5, -1.5, 4.0, 1e17] AS x RETURN ceil(x) AS a, floor(x) AS b, 1 / ceil(x) < 0 AS c, ceil(sqrt(-1 - abs(x))) AS d",
    "OPTIONAL MATCH (:Person {id: 7})-[r:KNOWS]->() RETURN r:KNOWS:OTHER AS a",
    "MATCH (p:Person {id: 1004}) WITH datetime({epochMillis: p.id * 1000}) AS d RETURN [d, d] AS a, {d: d, n: 1}.n AS b, collect(d) AS c",
)

SHORTEST = "MATCH (a:Person {id: 1001}), (b:Person {id: 1002}) MATCH p = shortestPath((a)-[:KNOWS*]-(b)) "

REFUSED = (
    ("MATCH (t:Timed) WHERE t.lasts = 'P0M1DT0S' RETURN 1 AS n", "= of OPAQUE and STRING"),
    ("MATCH (t:Timed) WHERE t.at STARTS WITH '1' RETURN 1 AS n", "starts with of OPAQUE and STRING"),
    ("MATCH (t:Timed) RETURN size(t.at) AS n", "function size(OPAQUE)"),
    ("MATCH (t:Timed) RETURN max(t.lasts) AS n", "aggregate max(OPAQUE)"),
    ("MATCH (t:Timed) RETURN 'P1D' IN t.all AS n", "IN of STRING in LIST<OPAQUE>"),
    ("MATCH (t:Timed) RETURN t.at AS at ORDER BY at", "an order by OPAQUE"),
    ("MATCH (t:Timed) RETURN DISTINCT t.at AS at", "OPAQUE"),
    (SHORTEST + "RETURN count(DISTINCT p) AS n", "count(DISTINCT ...) of PATH"),
    (SHORTEST + "WITH DISTINCT p RETURN count(*) AS n", "DISTINCT of PATH"),
    (SHORTEST + "WITH p, count(*) AS n RETURN n", "a group of PATH"),
    (SHORTEST + "CALL (p) { RETURN length(p) AS n } RETURN n", "a subquery that reads a path"),
    (SHORTEST + "RETURN nodes(p) AS n", "function nodes()"),
    ("MATCH p = (:Person)-[:KNOWS]->() RETURN p", "column `p` of kind PATH"),
    ("MATCH p = (:Person)-[:KNOWS]->() RETURN [r IN relationships(p) | r.since] AS l", "the property `since` of a RELATIONSHIP"),
    ("MATCH (p:Person) WHERE p.seen > datetime({epochMillis: 1}) RETURN 1 AS n", "> of ZONED DATETIME"),
    ("MATCH (p:Person) RETURN p.seen = p.seen AS n", "= of ZONED DATETIME"),
    ("MATCH (p:Person) RETURN DISTINCT p.seen AS seen", "ZONED DATETIME"),
    ("MATCH (p:Person) RETURN p.langs[$none..1] AS l", "one of its bounds is null"),
    ("MATCH (p:Person) RETURN p", "column `p` of kind NODE"),
    ("MATCH (p:Person) RETURN toString(p.height) AS t", "function tostring(FLOAT)"),
    ("MATCH (p:Person) RETURN randomUUID() AS t", "function randomuuid()"),
    ("MATCH p = SHORTEST 2 (a:Person {id: 1001})-[:KNOWS]-+(b:Person {id: 1002}) RETURN length(p) AS n", "operator VarExpandInto"),
    ("CREATE (:X)", "operator EmptyResult"),
    ("MATCH (p:Person) WITH p, CASE WHEN p.even THEN 1 ELSE 'x' END AS x RETURN x", "a CASE"),
    ("CALL db.labels() YIELD label RETURN label", "operator Procedure"),
    ("MATCH (p:Person) RETURN stDev(p.height) AS s", "aggregate stDev(FLOAT)"),
    ("MATCH (a:Person)-[:KNOWS*1..]-(b) RETURN count(DISTINCT b) AS n", "operator VarExpand"),
    ("MATCH (o:Odd) RETURN o.x AS x", "several types"),
    ("MATCH (s:Span) WHERE s.of = s.of RETURN 1 AS x", "= of OPAQUE"),
    ("MATCH (a:Person {id: 1001})-[k:KNOWS* {since: a.id}]->(b) RETURN count(*) AS n", "a variable of another part"),
)


def plain(value):
    """A value of a row as it is compared: rows within rows and lists alike."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return "NaN" if value != value else float(f"{value:.12g}")
    return value


class Cypher(Case):
    def test_rows_are_those_of_graven(self):
        from graven.spark import Graph

        parameters = {"id": 1004, "day": datetime.date(1990, 1, 5)}
        graph = Graph(spark, self.path, cache=True)
        self.addCleanup(graph.close)
        for text in SAME:
            with self.subTest(text):
                wanted = plain(self.ask(text, parameters))
                found = plain([list(row) for row in graph.cypher(text, parameters).collect()])
                if "ORDER BY nick" not in text and "DESC" not in text.split("RETURN")[-1]:
                    wanted, found = sorted(wanted, key=repr), sorted(found, key=repr)
                self.assertEqual(found, wanted)

    def test_columns_that_are_not_read_are_not_taken_for_others(self):
        from graven.spark import Graph

        graph = Graph(spark, self.path)
        self.addCleanup(graph.close)

        def same(value):
            if isinstance(value, datetime.datetime):
                return value.timestamp()
            return [same(one) for one in value] if isinstance(value, (list, tuple)) else plain(value)

        for text in NARROW:
            with self.subTest(text):
                wanted, found = self.ask(text), [list(row) for row in graph.cypher(text).collect()]
                if "Timed" in text:
                    wanted = [[at.isoformat(), *rest] for at, *rest in wanted]
                self.assertEqual(sorted(map(repr, same(found))), sorted(map(repr, same(wanted))))

    def test_texts_that_spark_treats_otherwise_are_errors(self):
        from graven.spark import cypher

        for text, words in (
            ("UNWIND [''] AS x RETURN replace('ab', x, '-') AS t", "empty text"),
            ("UNWIND [-1] AS x RETURN substring('abc', x) AS t", "not negative"),
        ):
            self.refused(words, lambda: cypher(spark, self.path, text).collect())

    def test_a_search_reads_limited_rows_once(self):
        from unittest import mock

        from graven.spark import Graph
        from graven.spark.operators import Translation

        text = "MATCH (p:Person) WITH p LIMIT 3 MATCH (p)-[:KNOWS*1..2]->(q) RETURN q.id AS id"
        with mock.patch.object(Translation, "shared", autospec=True, side_effect=lambda self, frame: frame) as shared:
            Graph(spark, self.path).cypher(text)
        self.assertTrue(shared.called)

    def test_a_graph_that_is_closed_keeps_nothing(self):
        import gc
        import weakref

        from graven.spark import Graph

        graph = Graph(spark, self.path)
        graph.property_type("label", "Person", "id")
        there = weakref.ref(graph)
        del graph
        gc.collect()
        self.assertIsNone(there())

    def test_frames_hold_only_what_is_asked(self):
        from graven.spark import cypher

        text = "MATCH (p:Person {name: $name})-[:LIVES_IN]->(c) WHERE p.id > 1010 RETURN c.name AS city, count(*) AS n ORDER BY city"
        frame = cypher(spark, self.path, text, {"name": "P3"})
        self.assertEqual([list(row) for row in frame.collect()], self.ask(text, {"name": "P3"}))

    def test_what_is_refused_is_named(self):
        from graven.spark import Graph, NotTranslated

        graph = Graph(spark, self.path)
        for text, words in REFUSED:
            with self.subTest(text):
                with self.assertRaises(graven.Error) as caught:
                    graph.cypher(text, {"none": None})
                self.assertIn(words, str(caught.exception))
        with self.assertRaises(NotTranslated):
            graph.cypher("MATCH (p:Person) RETURN p")
        self.refused("$missing, which is not given", lambda: graph.cypher("RETURN $missing AS x"))
        self.refused("SyntaxError", lambda: graph.cypher("MATCH (p RETURN p"))

    def test_division_by_zero_is_an_error_in_both(self):
        from graven.spark import cypher

        text = "UNWIND [0] AS x RETURN 1 / x AS y"
        self.assertRaises(graven.Error, self.ask, text)
        self.refused("DIVIDE_BY_ZERO", lambda: cypher(spark, self.path, text).collect())


class Guide(unittest.TestCase):
    def test_the_examples_run(self):
        guide = Path(__file__).parents[3] / "docs/guide/spark.md"
        examples = re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL)
        self.assertGreaterEqual(len(examples), 6)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                known = {"spark": spark}
                for example in examples:
                    # Data sources are planned in processes with another working directory.
                    own = re.sub(r'"(social|books)\.graven"', lambda name: repr(os.path.join(folder, name[1] + ".graven")), example)
                    exec(compile(own, str(guide), "exec"), known)
                self.assertEqual(sorted(row.name for row in known["reached"].collect()), ["P2", "P3", "P4"])
            finally:
                os.chdir(before)


class Lab(unittest.TestCase):
    def test_executors_count_the_hits_that_this_process_counts(self):
        from graven import lab
        from graven.spark.lab import simulate

        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "it.u64")
            pages = [(i * i * 7) % 61 + (i % 3) for i in range(3000)]
            Path(trace).write_bytes(struct.pack(f"<{len(pages)}Q", *pages))
            policies, sizes = ["lru", "min", "gclock:max=3"], [0.1, 8, 20]
            found = simulate(spark, trace, policies, sizes, accesses=2500)
            wanted = lab.simulate(trace, policies, sizes, accesses=2500)
            columns = ["trace", "policy", "pages", "accesses", "hits", "faults"]
            self.assertEqual(found[columns].values.tolist(), wanted[columns].values.tolist())
            with self.assertRaises(graven.Error) as caught:
                simulate(spark, [1, 2, 3], "lru", 2)
            self.assertIn("path of a file", str(caught.exception))
            with self.assertRaises(graven.Error) as caught:
                simulate(spark, trace + ".none", "lru", 2)
            self.assertIn("it.u64.none", str(caught.exception))

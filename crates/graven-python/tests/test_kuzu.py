"""``graven.kuzu``: values in the form that programs for Kuzu expect."""

import asyncio
import datetime
import decimal
import importlib.util
import os
import unittest
import uuid

import graven
from case import Case
from graven import kuzu
from graven.kuzu import kinds, texts
from graven.kuzu.constants import DST, ID, LABEL, SRC

ID_OF_ADA = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")


def needs(package):
    there = importlib.util.find_spec(package) is not None
    return unittest.skipUnless(there, f"the package {package} is not installed")


class Kuzu(Case):
    def setUp(self):
        super().setUp()
        self.db = kuzu.Database(os.path.join(self.folder, "kuzu.graven"), memory="16MiB")
        self.connection = kuzu.Connection(self.db)

    def run_all(self, *queries):
        for query in queries:
            self.connection.execute(query)

    def row(self, query, parameters=None):
        [row] = self.connection.execute(query, parameters).get_all()
        return row

    def people(self):
        self.run_all(
            "CREATE NODE TABLE Person(name STRING, u UUID, born DATE, big INT128, worth DECIMAL(10, 2), job INTERVAL, "
            "address STRUCT(street STRING, number INT16, since TIMESTAMP_MS), marks MAP(INT64, DOUBLE), "
            "grade UNION(passed BOOLEAN, points DOUBLE, word STRING), short INT16, PRIMARY KEY(name))",
            "CREATE REL TABLE Knows(FROM Person TO Person, u UUID)",
            f"CREATE (:Person {{name: 'Ada', u: '{ID_OF_ADA}', born: '1815-12-10', "
            "big: '12345678901234567890123456789012345678', worth: 12.5, job: '1 month 2 days 3 hours', "
            "address: '{street: St James, number: 12, since: 2011-08-20 11:25:30.1239}', "
            "marks: '{1=0.5, 20=1}', grade: '8.25', short: 7})",
            "CREATE (:Person {name: 'Bo'})",
            f"MATCH (a:Person {{name: 'Ada'}}), (b:Person {{name: 'Bo'}}) CREATE (a)-[:Knows {{u: '{ID_OF_ADA}'}}]->(b)",
        )

    ADA = {
        "name": "Ada",
        "u": ID_OF_ADA,
        "born": datetime.date(1815, 12, 10),
        "big": 12345678901234567890123456789012345678,
        "worth": decimal.Decimal("12.50"),
        "job": datetime.timedelta(32, 3 * 3600),
        "address": {"street": "St James", "number": 12, "since": datetime.datetime(2011, 8, 20, 11, 25, 30, 123000)},
        "marks": {1: 0.5, 20: 1.0},
        "grade": 8.25,
        "short": 7,
    }

    def test_columns_of_tables_have_their_declared_types(self):
        self.people()
        result = self.connection.execute("MATCH (p:Person {name: 'Ada'}) RETURN p.*")
        self.assertEqual(result.get_column_data_types()[:5], ["STRING", "UUID", "DATE", "INT128", "DECIMAL(10, 2)"])
        self.assertEqual(result.get_next(), list(self.ADA.values()))
        # The plain package has Graven's own values, and the same declared types.
        plain = graven.Connection(self.db._inner).execute("MATCH (p:Person {name: 'Ada'}) RETURN p.u, p.job, p.name + ''")
        self.assertEqual(plain.declared_types, ["UUID", "INTERVAL", None])
        self.assertEqual(plain.get_next()[:2], [str(ID_OF_ADA), graven.Duration(1, 2, 10800)])

    def test_types_are_passed_on(self):
        self.people()
        query = (
            "MATCH (p:Person {name: 'Ada'}) WITH p.u AS u, p.address AS address, collect(p.big) AS all "
            "RETURN u, head(all), all, address.number, coalesce(null, u, u), [u][0]"
        )
        whole = self.ADA["big"]
        self.assertEqual(self.row(query), [ID_OF_ADA, whole, [whole], 12, ID_OF_ADA, ID_OF_ADA])
        union = "MATCH (p:Person) RETURN p.u AS u UNION MATCH (p:Person) RETURN p.u AS u"
        self.assertEqual(self.connection.execute(union).get_all(), [[ID_OF_ADA], [None]])
        query = "UNWIND [1, 2] AS x RETURN cast(x * 1.25 AS DECIMAL(5, 1)), uuid($u), x"
        rows = self.connection.execute(query, {"u": str(ID_OF_ADA)}).get_all()
        self.assertEqual([row[0] for row in rows], [decimal.Decimal("1.3"), decimal.Decimal("2.5")])
        self.assertEqual([row[1:] for row in rows], [[ID_OF_ADA, 1], [ID_OF_ADA, 2]])

    def test_entities_are_dictionaries_of_their_table(self):
        self.people()
        a, k, b = self.row("MATCH (a)-[k:Knows]->(b) RETURN a, k, b")
        self.assertEqual({key: a[key] for key in self.ADA}, self.ADA)
        self.assertEqual(set(a), {*self.ADA, ID, LABEL})
        self.assertEqual((b["name"], b["u"]), ("Bo", None))
        self.assertEqual((k[SRC], k[DST], k[LABEL], k["u"]), (a[ID], b[ID], "Knows", ID_OF_ADA))
        self.assertEqual(set(a[ID]), {"offset", "table"})
        [[path]] = self.connection.execute("MATCH p = (:Person)-[:Knows]->(:Person) RETURN p").get_all()
        self.assertEqual(path, {"_nodes": [a, b], "_rels": [k]})
        # What is of no table has what it has.
        other = self.row("CREATE (n:Other {x: 1, d: duration({days: 1})}) RETURN n")[0]
        self.assertEqual((other["x"], other["d"]), (1, datetime.timedelta(1)))

    def test_what_is_not_of_its_type_stays(self):
        self.people()
        # The text of a struct that the file has wrong is text; a wrong field is that text.
        self.run_all("CREATE (:Person {name: 'Cy', address: 'nowhere', marks: '{x=y}'})")
        address, marks = self.row("MATCH (p:Person {name: 'Cy'}) RETURN p.address, p.marks")
        self.assertEqual((address, marks), ("nowhere", {"x": "y"}))

    def test_values_of_another_type_stay(self):
        for of in ("TIMESTAMP", "DATE", "INTERVAL", "MAP(INT64, INT64)", "STRUCT(a INT64)", "DECIMAL(5, 2)[]"):
            self.assertEqual(kinds.converter(kinds.read(of), lambda value: value)(0), 0, of)
        self.run_all("CREATE NODE TABLE T(id INT64, t TIMESTAMP, PRIMARY KEY(id))", "CREATE (:T {id: 1})")
        self.assertEqual(self.row("MATCH (t:T) RETURN coalesce(t.t, 0)"), [0])

    def test_maps_of_two_lists_are_maps(self):
        self.run_all("CREATE NODE TABLE T(id INT64, m MAP(DOUBLE, STRING), PRIMARY KEY(id))")
        given = {"key": [1.5, 2.0], "value": ["a", "b"]}
        self.assertEqual(self.row("CREATE (t:T {id: 1, m: $m}) RETURN t.m, $m", {"m": given}), [{1.5: "a", 2.0: "b"}] * 2)
        made = "RETURN map([1, 20], ['a', 'b']), map([x], [1]) AS m"
        self.assertEqual(self.row(f"UNWIND [cast(2 AS INT8)] AS y WITH y AS x {made}"), [{1: "a", 20: "b"}, {2: 1}])
        self.assertEqual(self.row("MATCH (t:T) RETURN list_extract([t.m, t.m], 1), list_extract(collect(t.id), 1)")[1], 1)
        other = {"key": [1, 2], "value": ["a"]}
        self.assertEqual(self.row("RETURN $m", {"m": other}), [other])

    def test_nothing_is_read_after_the_database_was_closed(self):
        result = self.connection.execute("RETURN 1")
        self.db.close()
        for use in (result.get_next, result.has_next, lambda: self.connection.execute("RETURN 1")):
            with self.assertRaises(graven.Error) as caught:
                use()
            self.assertEqual(caught.exception.code, "Database.Closed")
        result.close()
        self.connection.close()

    def test_transactions_are_statements(self):
        self.run_all("BEGIN TRANSACTION", "CREATE (:N)", "COMMIT;", "begin transaction", "CREATE (:N)")
        count = self.connection.prepare("MATCH (n:N) RETURN count(*) AS n")
        self.assertTrue(count.is_success())
        self.assertEqual(self.row(count), [2])
        other = kuzu.Connection(self.db)
        self.assertEqual(other.execute(count.query).get_next(), [1])
        for again, after in (("BEGIN TRANSACTION", "ROLLBACK"), ("COMMIT", "CHECKPOINT")):
            with self.assertRaises(graven.Error) as caught:
                self.connection.execute(again)
            self.assertEqual(caught.exception.code, "Request.Invalid")
            self.run_all(after)
        self.assertEqual(self.row(count), [1])
        self.run_all("CALL timeout = 60000", "BEGIN TRANSACTION READ ONLY", count.query)
        with self.assertRaisesRegex(graven.Error, "read-only"):
            self.connection.execute("CREATE (:N)")
        self.run_all("ROLLBACK")
        with other:
            other.execute("BEGIN TRANSACTION")
            other.execute("CREATE (:N)")
        self.assertEqual(self.row(count), [1])

    def test_a_statement_that_is_wrong_says_so(self):
        wrong = self.connection.prepare("RETURN x")
        self.assertFalse(wrong.is_success())
        self.assertIn("x", wrong.get_error_message())
        with self.assertRaises(graven.Error):
            self.connection.execute(wrong)
        self.connection.set_query_timeout(20)
        with self.assertRaises(graven.Error) as caught:
            self.connection.execute("UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN count(x + y)")
        self.assertEqual(caught.exception.code, "Statement.TimedOut")
        self.assertIn("Interrupted.", str(caught.exception))

    def test_explain_gives_its_plan_as_a_row(self):
        [plan] = self.row("EXPLAIN MATCH (n) RETURN n")
        self.assertIn("AllNodesScan", plan)
        [first, second] = self.connection.execute("RETURN 1; RETURN 2")
        self.assertEqual((first.get_next(), second.get_next()), ([1], [2]))

    def test_changes_of_the_schema_say_what_they_did(self):
        for statement, told in (
            ("CREATE NODE TABLE T(k INT64, s STRING, PRIMARY KEY(k))", "Table T has been created."),
            ("create node table if not exists T(k INT64, PRIMARY KEY(k))", "Table T already exists."),
            ("COPY T FROM (UNWIND [1, 2] AS i RETURN i, 'x')", "2 tuples have been copied to the T table."),
            ("ALTER TABLE T ADD `a b` INT64", "Property a b added to table T."),
            ("ALTER TABLE T DROP IF EXISTS c", "Property c does not exist in table T."),
            ("ALTER TABLE T RENAME s TO t", "Property s renamed to t."),
            ("CREATE REL TABLE R(FROM T TO T)", "Table R has been created."),
            ("ALTER TABLE R ADD IF NOT EXISTS FROM T TO T", "T->T already exists in R table."),
            ("DROP TABLE R", "Table R has been dropped."),
            ("DROP TABLE IF EXISTS R", "Table R does not exist."),
            ("CREATE SEQUENCE q", "Sequence q has been created."),
            (f"EXPORT DATABASE '{self.folder}/out'", "Exported database successfully."),
        ):
            result = self.connection.execute(statement)
            self.assertEqual((result.get_column_names(), result.get_all()), (["result"], [[told]]), statement)
        result = self.connection.execute("CREATE (:T {k: 3})")
        self.assertEqual((result.get_column_names(), result.get_all()), ([], []))

    def test_rows_in_all_ways(self):
        query = "UNWIND range(1, 5) AS x RETURN x, duration({days: x}) AS d"
        day = datetime.timedelta(1)
        result = self.connection.execute(query)
        self.assertEqual(result.get_n(2), [[1, day], [2, 2 * day]])
        self.assertEqual(next(iter(result)), [3, 3 * day])
        self.assertEqual(result.rows_as_dict().get_next(), {"x": 4, "d": 4 * day})
        self.assertEqual(result.get_schema(), {"x": "INT64", "d": "INTERVAL"})
        self.assertEqual(self.connection.execute(query).get_columns()[1], [day * x for x in range(1, 6)])
        with kuzu.Connection(self.db) as connection, connection.execute(query) as result:
            self.assertEqual(result.get_num_tuples(), 5)
        self.assertTrue(result.is_closed)

    @needs("pyarrow")
    def test_arrow(self):
        import pyarrow

        self.people()
        table = self.connection.execute("MATCH (p:Person) RETURN p.* ORDER BY p.name").get_as_arrow()
        kinds = dict(zip(table.column_names, table.schema.types))
        self.assertEqual(kinds["p.short"], pyarrow.int16())
        self.assertEqual(kinds["p.job"], pyarrow.duration("us"))
        self.assertEqual(kinds["p.worth"], pyarrow.decimal128(10, 2))
        self.assertEqual(kinds["p.marks"], pyarrow.map_(pyarrow.int64(), pyarrow.float64()))
        first, second = table.to_pylist(maps_as_pydicts="strict")
        self.assertEqual(first, {f"p.{key}": value for key, value in self.ADA.items()})
        self.assertEqual(set(second.values()), {"Bo", None})
        nodes = self.connection.execute("MATCH (p:Person)-[k]->(q) RETURN p, k").get_as_arrow(1).to_pylist()
        self.assertEqual(nodes[0]["p"]["grade"], 8.25)
        chunks = self.connection.execute("UNWIND range(1, 5) AS x RETURN x").get_as_arrow(2)
        self.assertEqual((chunks["x"].num_chunks, chunks["x"].to_pylist()), (3, [1, 2, 3, 4, 5]))
        for query in ("UNWIND [1, 'a'] AS x RETURN x", "RETURN cast('1' + $digits AS INT128) AS x"):
            with self.assertRaises(graven.Error) as caught:
                self.connection.execute(query, {"digits": "6" * 38}).get_as_arrow()
            self.assertEqual(caught.exception.code, "Result.MixedColumn")

    @needs("pandas")
    def test_pandas(self):
        self.people()
        frame = self.connection.execute("MATCH (p:Person) RETURN p.* ORDER BY p.name").get_as_df()
        kinds = {name[2:]: str(dtype) for name, dtype in frame.dtypes.items()}
        self.assertEqual((kinds["short"], kinds["born"], kinds["job"]), ("Int16", "datetime64[us]", "timedelta64[ns]"))
        self.assertEqual(frame["p.address"][0], self.ADA["address"])
        self.assertEqual(frame["p.u"][0], ID_OF_ADA)

    @needs("pandas")
    @needs("pyarrow")
    def test_frames_with_columns_of_objects(self):
        import pandas

        mixed = pandas.DataFrame(
            {
                "a": [1, "x", None],
                "b": [{"k": 1}, {"k": 2}, {"l": 3}],
                "c": [{"key": ["x"], "value": [1]}, {"key": [], "value": []}, None],
            }
        )
        rows = self.connection.execute("LOAD FROM mixed RETURN *").get_all()
        self.assertEqual(rows[0], ["1", "{'k': 1}", {"x": 1}])
        self.assertEqual(rows[1:], [["x", "{'k': 2}", {}], [None, "{'l': 3}", None]])
        self.assertEqual(self.row("LOAD FROM $f RETURN count(*)", {"f": mixed}), [3])
        typed = pandas.DataFrame({"u": [ID_OF_ADA, None], "n": [1, 2]})
        rows = self.connection.execute("LOAD FROM typed RETURN u, n").get_all()
        self.assertEqual(rows, [[ID_OF_ADA, 1], [None, 2]])
        import pyarrow

        worth = pyarrow.array([decimal.Decimal("1.50")])
        table = pyarrow.table({"w": worth, "m": pyarrow.array([[(7, "x")]], pyarrow.map_(pyarrow.int8(), pyarrow.string()))})
        self.assertEqual(self.row("LOAD FROM $t RETURN *", {"t": table}), [decimal.Decimal("1.50"), {7: "x"}])
        beyond = pandas.DataFrame({"a": [1, 2**70]})
        with self.assertRaises(graven.Error):
            self.connection.execute("LOAD FROM beyond RETURN *")

    @needs("pandas")
    @needs("pyarrow")
    def test_rows_whose_key_exists_are_left_out(self):
        import pandas

        frame = pandas.DataFrame({"name": ["Ada", "Bo", "Ada", None], "age": ["36", "7", "x", "1"]})
        self.run_all("CREATE NODE TABLE P(name STRING PRIMARY KEY, age INT16)", "CREATE (:P {name: 'Bo', age: 1})")
        with self.assertRaises(graven.Error):
            self.connection.execute("COPY P FROM frame")
        self.connection.execute("COPY P FROM $f (IGNORE_ERRORS = true)", {"f": frame.drop(index=2)})
        self.connection.execute("COPY P FROM frame (ignore_errors = true)")
        people = self.connection.execute("MATCH (p:P) RETURN p.name, p.age ORDER BY p.name").get_all()
        self.assertEqual(people, [["Ada", 36], ["Bo", 1]])
        warnings = self.connection.execute("CALL show_warnings() RETURN message").get_all()
        self.assertEqual([message.split(":")[0].split()[-1] for [message] in warnings], ["Ada", "Bo", "Ada"])

    @needs("networkx")
    def test_networkx(self):
        self.people()
        graph = self.connection.execute("MATCH (p:Person)-[k:Knows]->(q) RETURN p, k, q").get_as_networkx()
        self.assertEqual(sorted(graph.nodes), ["Person_Ada", "Person_Bo"])
        self.assertEqual(graph.nodes["Person_Ada"]["born"], self.ADA["born"])
        self.assertTrue(graph.nodes["Person_Ada"]["Person"])
        [(start, end, edge)] = graph.edges(data=True)
        self.assertEqual((start, end, edge["u"]), ("Person_Ada", "Person_Bo", ID_OF_ADA))

    @needs("networkx")
    def test_properties_are_no_arguments_of_networkx(self):
        self.run_all("CREATE (a:A {self: 1})-[:R {key: 1, u_for_edge: 2}]->(b:B), (a)-[:R {key: 1}]->(b)")
        graph = self.connection.execute("MATCH (a)-[r]->(b) RETURN a, r, b").get_as_networkx()
        edges = [edge for _, _, edge in graph.edges(data=True)]
        self.assertEqual([edge["key"] for edge in edges], [1, 1])
        self.assertEqual([data["self"] for _, data in graph.nodes(data=True) if "A" in data], [1])

    def test_texts_within_structs_and_maps_stay_whole(self):
        self.run_all(
            "CREATE NODE TABLE T(id INT64, s STRUCT(a STRING, b INT64), m MAP(STRING, STRING), l STRUCT(x STRING)[], "
            "j JSON, PRIMARY KEY(id))",
            "CREATE (:T {id: 1, s: {a: 'x, y`', b: 2}, m: map(['p,q', 'r}'], ['1=2', '']), "
            "l: [{x: 'a}'}, {x: 'b, x: c'}], j: '{\"a\": 1}'})",
        )
        result = self.connection.execute("MATCH (t:T) RETURN t.s, t.m, t.l, t.j, t.s.a, t.s.b")
        types = ["STRUCT(a STRING, b INT64)", "MAP(STRING, STRING)", "STRUCT(x STRING)[]", "json", "STRING", "INT64"]
        self.assertEqual(result.get_column_data_types(), types)
        struct, marks = {"a": "x, y`", "b": 2}, {"p,q": "1=2", "r}": ""}
        items = [{"x": "a}"}, {"x": "b, x: c"}]
        self.assertEqual(result.get_all(), [[struct, marks, items, '{"a": 1}', "x, y`", 2]])

    @needs("torch_geometric")
    def test_nodes_and_relationships_as_tensors(self):
        self.run_all(
            "CREATE NODE TABLE N(id INT64, w DOUBLE[], t STRING, PRIMARY KEY(id))",
            "CREATE REL TABLE R(FROM N TO N, y INT64)",
            "CREATE (a:N {id: 3, w: [1, 2], t: 'x'})-[:R {y: 5}]->(:N {id: 4, w: [3, 4], t: 'y'})",
        )
        result = self.connection.execute("MATCH (a:N)-[r:R]->(b:N) RETURN a, r, b")
        with self.assertWarnsRegex(UserWarning, "N.t of type STRING"):
            data, keys, others, properties = result.get_as_torch_geometric()
        self.assertEqual(data.id.tolist(), [3, 4])
        self.assertEqual(data.w.tolist(), [[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(data.edge_index.tolist(), [[0], [1]])
        self.assertEqual((keys, others), ({0: 3, 1: 4}, {"t": ["x", "y"]}))
        self.assertEqual(properties, {LABEL: ["R"], "y": [5]})

    def test_transactions_need_a_connection_of_their_own(self):
        async def begin():
            pool = kuzu.AsyncConnection(self.db)
            try:
                await pool.execute("CHECKPOINT")
                with self.assertRaisesRegex(graven.Error, "acquire_connection"):
                    await pool.execute("begin transaction;")
            finally:
                pool.close()

        asyncio.run(begin())

    @needs("pandas")
    @needs("pyarrow")
    def test_columns_of_numbers_of_a_frame_keep_their_types(self):
        import pandas

        frame = pandas.DataFrame({"a": pandas.Series([1, 2], dtype="int16"), "b": [0.5, 1.5]})
        result = self.connection.execute("LOAD FROM frame RETURN *")
        self.assertEqual(result.get_column_data_types()[0], "INT16")
        self.assertEqual(result.get_all(), [[1, 0.5], [2, 1.5]])


class Texts(unittest.TestCase):
    def test_entries_and_items(self):
        text = "{'a, b': it's, c = [1, {d: 2}], e:, f: null}"
        expected = [("a, b", "it's"), ("c", "[1, {d: 2}]"), ("e", None), ("f", None)]
        self.assertEqual(list(texts.entries(text, quoted_keys=False)), expected)
        self.assertEqual(list(texts.entries("{'a'=1}")), [("'a'", "1")])
        self.assertEqual(list(texts.entries(" {} ")), [])
        self.assertEqual(texts.items("['x, y', [1,2], ]"), ["'x, y'", "[1,2]", None])
        for wrong in ("", "{", "[1}", "{a}", "nothing"):
            with self.assertRaises(ValueError):
                list(texts.entries(wrong))

    def test_types_are_read_and_written(self):
        for text in ("STRUCT(`b c` INT64)", "DECIMAL(5, 2)[]", "STRUCT(a INT8, b MAP(STRING, INT64)[3])", "UNION(x DATE, y BOOL)", "INT64[][2]"):
            self.assertEqual(str(kinds.read(text)), text)
        self.assertEqual(str(kinds.read("boolean")), "BOOL")

    def test_moments_are_of_utc(self):
        def moment(text):
            return kinds.moment(text).isoformat()

        self.assertEqual(moment("2018-11-13 11:33:11.1234567-02"), "2018-11-13T13:33:11.123456")
        self.assertEqual(moment("2018-11-13T11:33:11+02:30"), "2018-11-13T09:03:11")
        self.assertEqual(moment("2018-11-13T11:33Z"), "2018-11-13T11:33:00")
        with self.assertRaises(ValueError):
            kinds.moment("13.11.2018")


if __name__ == "__main__":
    unittest.main()

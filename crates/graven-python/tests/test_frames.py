"""Results as objects of other packages; each test is left out where its package is missing."""

import datetime
import importlib.util
import os
import tempfile
import unittest

import graven


def needs(package):
    there = importlib.util.find_spec(package) is not None
    return unittest.skipUnless(there, f"the package {package} is not installed")


class Frames(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        db = graven.Database(os.path.join(folder.name, "it.graven"), memory="16MiB")
        self.connection = db.connect()

    def test_what_is_no_frame_is_named(self):
        for other, words in ((None, "Variable other is not in scope"), ([1], "of type list")):
            if other is None:
                del other
            with self.assertRaises(graven.Error) as caught:
                self.connection.execute("LOAD FROM other RETURN *")
            self.assertIn(words, str(caught.exception))
            self.assertEqual(caught.exception.code, "ArgumentError.InvalidSource")
        with self.assertRaises(graven.Error) as caught:
            self.connection.execute("RETURN $missing, 'LOAD FROM other'")
        self.assertEqual(caught.exception.code, "ParameterMissing.MissingParameter")

    def rows(self):
        return self.connection.execute(
            "UNWIND [{i: 9007199254740993, f: 1.5, b: true, s: 'a', d: date('2024-02-29'), l: [1, 2]}, "
            "{f: 2.5, s: 'b'}] AS row "
            "RETURN row.i AS i, row.f AS f, row.b AS b, row.s AS s, row.d AS d, row.l AS l"
        )

    @needs("pandas")
    def test_pandas(self):
        frame = self.rows().get_as_df()
        self.assertEqual(list(frame.columns), ["i", "f", "b", "s", "d", "l"])
        # A float would have lost the last digit.
        self.assertEqual(int(frame["i"][0]), 9007199254740993)
        self.assertTrue(frame["i"].isna()[1])
        self.assertEqual(str(frame["f"].dtype), "float64")
        self.assertEqual(frame["s"].tolist(), ["a", "b"])
        self.assertEqual(frame["d"][0], datetime.date(2024, 2, 29))
        empty = self.connection.execute("MATCH (n:None) RETURN n.x AS x").get_as_df()
        self.assertEqual((list(empty.columns), len(empty)), (["x"], 0))
        import pandas

        back = self.connection.execute(
            "RETURN $frame.i AS i, $moment AS moment, $none AS none",
            {
                "frame": {"i": frame["f"].to_numpy()},
                "moment": pandas.Timestamp("2024-01-01T00:00:00.000000001"),
                "none": pandas.NaT,
            },
        ).get_next()
        self.assertEqual(back[0], [1.5, 2.5])
        self.assertEqual(str(back[1]), "2024-01-01T00:00:00.000000001")
        self.assertIsNone(back[2])
        span = self.connection.execute("RETURN $x", {"x": pandas.Timedelta("1us 1ns")}).get_next()
        self.assertEqual(span, [graven.Duration(nanoseconds=1001)])
        import numpy

        for moment in (numpy.datetime64("2024-01-01T00:00:00", "ns"), numpy.array([5], dtype="timedelta64[ns]")):
            with self.assertRaisesRegex(TypeError, "astype"):
                self.connection.execute("RETURN $x", {"x": moment})
        coarse = self.connection.execute("RETURN $x", {"x": numpy.datetime64("2024-01-01T00:00:00", "us")})
        self.assertEqual(coarse.get_next(), [datetime.datetime(2024, 1, 1)])

    @needs("pandas")
    def test_pandas_moments(self):
        rows = "UNWIND ['2024-01-01T10:00', null] AS t RETURN localdatetime(t) AS a, datetime(t + 'Z') AS b"
        frame = self.connection.execute(rows).get_as_df()
        self.assertTrue(str(frame["a"].dtype).startswith("datetime64["), frame["a"].dtype)
        self.assertIn("UTC", str(frame["b"].dtype))
        self.assertEqual(frame["a"][0].to_pydatetime(), datetime.datetime(2024, 1, 1, 10))
        self.assertTrue(frame["a"].isna()[1])
        # Two zones, or a day that pandas does not reach, stay what they are.
        zones = "UNWIND ['Z', '+02:00'] AS z RETURN datetime('2024-01-01T10:00' + z) AS t"
        self.assertEqual(str(self.connection.execute(zones).get_as_df()["t"].dtype), "object")

    def again(self, method):
        result = self.connection.execute("UNWIND [1, 2] AS x RETURN x")
        self.assertEqual([len(getattr(result, method)()) for _ in range(2)], [2, 2])

    @needs("pandas")
    def test_a_second_frame_has_the_same_rows(self):
        self.again("get_as_df")

    @needs("pyarrow")
    def test_a_second_table_has_the_same_rows(self):
        self.again("get_as_arrow")

    @needs("pyarrow")
    def test_tables_are_sources(self):
        import pyarrow

        table = pyarrow.table({"id": [1, 2, 3], "name": ["Ada", None, "Cy"]})
        run = self.connection.execute
        rows = run("LOAD FROM $t WHERE id > 1 RETURN id, name", {"t": table}).get_all()
        self.assertEqual(rows, [[2, None], [3, "Cy"]])
        self.assertEqual(run("LOAD FROM table RETURN count(*)").get_next(), [3])
        rows = run("LOAD FROM table (SKIP = 1, LIMIT = 1) WHERE id > 1 RETURN id").get_all()
        self.assertEqual(rows, [[2]])
        self.assertEqual(run("LOAD FROM table (SKIP = 1) RETURN count(*)").get_next(), [2])
        run("COPY Person FROM table")
        self.assertEqual(run("MATCH (p:Person) RETURN sum(p.id), count(p.name)").get_next(), [6, 2])
        reader = table.to_reader(max_chunksize=1)
        self.assertEqual(run("LOAD FROM $r RETURN collect(name)", {"r": reader}).get_next(), [["Ada", "Cy"]])
        # A result is a source, too.
        again = run("LOAD FROM $r RETURN sum(x)", {"r": run("UNWIND [1, 2] AS x RETURN x")})
        self.assertEqual(again.get_next(), [3])
        with self.assertRaisesRegex(graven.Error, "read before"):
            run("UNWIND [1, 2] AS x LOAD FROM $t RETURN id", {"t": table}).get_all()

    @needs("pyarrow")
    def test_a_copy_that_fails_half_way_leaves_nothing(self):
        import pyarrow

        run = self.connection.execute
        run("CREATE CONSTRAINT FOR (p:Q) REQUIRE p.id IS UNIQUE")
        table = pyarrow.table({"id": list(range(100_000)) + [7]})
        with self.assertRaises(graven.Error):
            run("COPY Q FROM $t", {"t": table})
        self.assertEqual(run("MATCH (q:Q) RETURN count(*)").get_next(), [0])

    @needs("pandas")
    @needs("pyarrow")
    def test_data_frames_are_sources(self):
        import pandas

        frame = pandas.DataFrame({"id": [1, 2], "at": pandas.to_datetime(["2024-01-01", "2024-01-02"])})
        rows = self.connection.execute("LOAD FROM frame RETURN id, at").get_all()
        self.assertEqual(rows[0], [1, datetime.datetime(2024, 1, 1)])

    @needs("polars")
    def test_polars_frames_are_sources(self):
        import polars

        frame = polars.DataFrame({"id": [1, 2], "l": [["a"], []]})
        rows = self.connection.execute("LOAD FROM $f RETURN id, l", {"f": frame}).get_all()
        self.assertEqual(rows, [[1, ["a"]], [2, []]])

    @needs("polars")
    def test_polars_durations(self):
        spans = self.connection.execute("UNWIND ['P1D', 'PT0.000001S', null] AS s RETURN duration(s) AS d")
        days = datetime.timedelta(days=1), datetime.timedelta(microseconds=1), None
        self.assertEqual(spans.get_as_pl()["d"].to_list(), list(days))
        with self.assertRaisesRegex(graven.Error, "no fixed time"):
            self.connection.execute("RETURN duration('P1M') AS d").get_as_pl()

    @needs("polars")
    def test_polars(self):
        frame = self.rows().get_as_pl()
        self.assertEqual(frame["i"].to_list(), [9007199254740993, None])
        self.assertEqual(frame["d"].to_list(), [datetime.date(2024, 2, 29), None])
        self.assertEqual(frame["l"].to_list(), [[1, 2], None])
        self.kept("get_as_pl")
        self.mixed("get_as_pl")

    @needs("pyarrow")
    def test_arrow(self):
        table = self.rows().get_as_arrow()
        self.assertEqual(table.column("i").to_pylist(), [9007199254740993, None])
        self.assertEqual(str(table.schema.field("d").type), "date32[day]")
        self.assertEqual(table.num_rows, 2)
        spans = self.connection.execute("RETURN duration('P1M2DT3S') AS d").get_as_arrow()
        self.assertEqual(tuple(spans.column("d").to_pylist()[0]), (1, 2, 3_000_000_000))
        import pyarrow

        self.assertEqual(pyarrow.table(self.rows()).num_rows, 2)
        self.connection.execute("CREATE (:P {x: 1, p: point({x: 1, y: 2})})")
        nodes = self.connection.execute("MATCH (p:P) RETURN p").get_as_arrow()
        self.assertEqual(nodes.column("p").to_pylist()[0]["x"], 1)
        self.kept("get_as_arrow")
        self.mixed("get_as_arrow")

    def mixed(self, method):
        for values, says in [
            ("[1, 'a']", "`x` has no one type .it holds int, str"),
            ("[[1], [0.5]]", "`x` has no one type .it holds float, int"),
            ("[{a: 1}, {a: 'b'}]", "`x.a` has no one type .it holds int, str"),
            ("[date('2024-01-01'), localdatetime('2024-01-01T01:00')]", "date, datetime"),
            ("[datetime('2024-01-01T01:00Z'), localdatetime('2024-01-01T01:00')]", "datetime with a zone"),
            ("[time('01:00+05:30')]", "times with an offset"),
        ]:
            with self.subTest(values=values):
                result = self.connection.execute(f"UNWIND {values} AS x RETURN x")
                with self.assertRaisesRegex(graven.Error, says):
                    getattr(result, method)()

    def column(self, result, method):
        """The values of the only column of what a method gives."""
        table = getattr(result, method)()
        return table.to_series(0).to_list() if method == "get_as_pl" else table.column(0).to_pylist()

    def kept(self, method):
        """What differs from row to row is all there."""
        rows = "UNWIND [{a: 1}, {b: 'x'}, {a: 2, c: [1]}] AS x RETURN x"
        column = self.column(self.connection.execute(rows), method)
        present = [{key: value for key, value in row.items() if value is not None} for row in column]
        self.assertEqual(present, [{"a": 1}, {"b": "x"}, {"a": 2, "c": [1]}])
        moments = "UNWIND ['+02:00', 'Z', '[Europe/Berlin]'] AS z RETURN datetime('2024-07-01T12:00' + z) AS t"
        times = self.column(self.connection.execute(moments), method)
        utc = datetime.timezone.utc
        self.assertEqual(times, [datetime.datetime(2024, 7, 1, hour, tzinfo=utc) for hour in (10, 12, 10)])

    @needs("networkx")
    def test_networkx(self):
        self.connection.execute(
            "CREATE (a:P {name: 'Ada'})-[:KNOWS {w: 2}]->(b:P {name: 'Bo'}), (a)-[:KNOWS {key: 1}]->(b), (:P {name: 'Cy', node_for_adding: 2})"
        )
        result = self.connection.execute("MATCH (n:P) OPTIONAL MATCH p = (n)-[:KNOWS]->() RETURN n, [p] AS paths")
        graph = result.get_as_networkx()
        self.assertEqual(sorted(name for _, name in graph.nodes("name")), ["Ada", "Bo", "Cy"])
        self.assertEqual(graph.number_of_edges(), 2)
        self.assertTrue(graph.is_directed())
        self.assertEqual({w for _, _, w in graph.edges(data="w")}, {2, None})

    def test_a_missing_package_is_named(self):
        from graven import frames

        with self.assertRaisesRegex(ImportError, "get_as_df.* needs the package no_such_package"):
            frames._needs("no_such_package", "get_as_df")


if __name__ == "__main__":
    unittest.main()

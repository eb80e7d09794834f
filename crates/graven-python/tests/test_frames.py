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

    @needs("polars")
    def test_polars(self):
        frame = self.rows().get_as_pl()
        self.assertEqual(frame["i"].to_list(), [9007199254740993, None])
        self.assertEqual(frame["d"].to_list(), [datetime.date(2024, 2, 29), None])
        self.assertEqual(frame["l"].to_list(), [[1, 2], None])
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
        self.mixed("get_as_arrow")

    def mixed(self, method):
        result = self.connection.execute("UNWIND [1, 'a'] AS x RETURN x")
        with self.assertRaisesRegex(graven.Error, "`x` has no one type .it holds int, str"):
            getattr(result, method)()

    @needs("networkx")
    def test_networkx(self):
        self.connection.execute(
            "CREATE (a:P {name: 'Ada'})-[:KNOWS {w: 2}]->(b:P {name: 'Bo'}), (a)-[:KNOWS]->(b), (:P {name: 'Cy'})"
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

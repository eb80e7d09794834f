"""Goal: results, nodes and paths show themselves in notebooks, drawings say what they leave out, the magic takes connection and
parameters from the notebook."""

import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml
from types import SimpleNamespace

import graven
from case import Case
from graven.drawing import draw
from graven.notebook import _parameters, cypher, load_ipython_extension


class Notebook(Case):
    def setUp(self):
        super().setUp()
        self.connection.execute(
            "CREATE (a:Person {name: 'Ada <b>'})-[:KNOWS {since: 1}]->(:Person {name: 'Bo'})-[:LIKES]->(:Thing), (a)-[:KNOWS]->(a)"
        )

    def test_a_result_is_a_table_whose_rows_stay(self):
        result = self.connection.execute("MATCH (p:Person) RETURN p.name AS name, 1 AS one ORDER BY name")
        shown = result._repr_html_()
        self.assertIn("Ada &lt;b&gt;", shown)
        self.assertNotIn("<svg", shown)
        self.assertEqual(result.get_all(), [["Ada <b>", 1], ["Bo", 1]])

    def test_many_rows_are_cut(self):
        result = self.connection.execute("UNWIND range(1, 5000) AS x RETURN x")
        self.assertEqual(result.get_next(), [1])
        self.assertEqual(result.peek(3), [[2], [3], [4]])
        self.assertIn("more rows", result._repr_html_())
        self.assertEqual(len(result.peek(4000)), 4000)
        self.assertEqual(len(result.get_all()), 4999)
        self.assertEqual(result.peek(3), [])

    def test_changes_are_told(self):
        shown = self.connection.execute("CREATE (:New)")._repr_html_()
        self.assertIn("nodes created: 1", shown)

    def test_nodes_relationships_and_paths_are_drawn(self):
        query = "MATCH p = (a:Person)-[r:KNOWS]->(b:Person) WHERE a <> b RETURN a, r, p"
        result = self.connection.execute(query)
        self.assertIn("<svg", result._repr_html_())
        [[node, relationship, path]] = result.get_all()
        for value in (node, relationship, path):
            xml.fromstring(value._repr_html_())
        drawing = draw(path)
        self.assertEqual((drawing.nodes, drawing.relationships), (2, 1))
        self.assertIn("KNOWS", drawing.svg)

    def test_a_drawing_is_a_picture_that_says_what_it_leaves_out(self):
        self.connection.execute("UNWIND range(1, 40) AS i CREATE (:Many {id: i})-[:NEXT]->(:Many {id: -i})")
        result = self.connection.execute("MATCH (n)-[r]->(m) RETURN n, r, m")
        drawing = graven.draw(result, limit=20)
        xml.fromstring(drawing.svg)
        self.assertEqual(drawing.nodes, 20)
        self.assertIn("more nodes are not drawn", drawing.svg)
        self.assertEqual(drawing.svg, graven.draw(result, limit=20).svg)
        drawing.save(f"{self.folder}/graph.svg")
        self.assertEqual(xml.parse(f"{self.folder}/graph.svg").getroot().tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(graven.draw([]).nodes, 0)
        with self.assertRaises(ValueError):
            graven.draw(result, limit=0)

    def test_the_magic_takes_what_the_notebook_has(self):
        shell = SimpleNamespace(user_ns={"db": self.db, "name": "Bo"})
        result = cypher(shell, "", "MATCH (p:Person {name: $name}) RETURN p.name // $other")
        self.assertEqual(result.get_all(), [["Bo"]])
        drawing = cypher(shell, "db --draw --as kept", "MATCH (p:Person) RETURN p")
        self.assertEqual(drawing.nodes, 2)
        self.assertEqual(len(shell.user_ns["kept"].get_all()), 2)
        self.assertEqual(cypher(shell, "RETURN 7").get_all(), [[7]])
        with self.assertRaisesRegex(graven.Error, "missing"):
            cypher(shell, "", "RETURN $missing")
        with self.assertRaisesRegex(NameError, "`nix` is no connection"):
            cypher(shell, "nix", "RETURN 1")
        with self.assertRaisesRegex(ValueError, "--dram"):
            cypher(shell, "--dram", "RETURN 1")
        with self.assertRaisesRegex(ValueError, "no statement"):
            cypher(shell, "", "  ")

    def test_parameters_within_texts_are_none(self):
        text = "RETURN '$a', \"\\\"$b\", `$c`, $d /* $e */ // $f"
        self.assertEqual(_parameters(text, dict.fromkeys("abcdef", 1)), {"d": 1})

    def test_the_extension_registers_the_magic(self):
        found = []
        load_ipython_extension(SimpleNamespace(register_magic_function=lambda *given: found.append(given[1:])))
        graven.load_ipython_extension(SimpleNamespace(register_magic_function=lambda *given: found.append(given[1:])))
        self.assertEqual(found, [("line_cell", "cypher")] * 2)

    def test_an_import_loads_what_every_program_uses(self):
        rare = "asyncio", "graven.drawing", "graven.notebook", "pandas", "pyarrow", "networkx"
        for module in ("graven", "graven.kuzu"):
            text = f"import {module}, sys; print([name for name in {rare} if name in sys.modules])"
            loaded = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
            self.assertEqual(loaded.stdout, "[]\n", module)

    def test_ipython_runs_the_magic(self):
        try:
            from IPython.core.interactiveshell import InteractiveShell
        except ImportError:
            self.skipTest("IPython is not installed")
        shell = InteractiveShell()
        shell.user_ns["connection"] = self.connection
        shell.run_line_magic("load_ext", "graven")
        result = shell.run_cell_magic("cypher", "", "MATCH (p:Person) RETURN count(p)")
        self.assertEqual(result.get_all(), [[2]])


if __name__ == "__main__":
    unittest.main()

"""What a program with the official driver for Python sees; GRAVEN_BOLT is the address of the server."""

import datetime
import os
import threading
import unittest
import warnings

import neo4j
from neo4j import GraphDatabase
from neo4j.exceptions import ClientError, CypherSyntaxError

ADDRESS = os.environ["GRAVEN_BOLT"]


class Driver(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.driver = GraphDatabase.driver(f"bolt://{ADDRESS}", auth=None)
        self.addCleanup(self.driver.close)
        self.driver.execute_query("MATCH (n) DETACH DELETE n")

    def one(self, text, **params):
        [[value]] = self.driver.execute_query(text, **params).records
        return value

    def test_both_schemes_find_the_server(self):
        for scheme in ("bolt", "neo4j"):
            with GraphDatabase.driver(f"{scheme}://{ADDRESS}", auth=("any", "at all")) as driver:
                driver.verify_connectivity()
                self.assertTrue(driver.get_server_info().agent.startswith("Neo4j/"))
                self.assertEqual(driver.execute_query("RETURN 1 AS one").records[0]["one"], 1)

    def test_tls_with_a_certificate_made_by_the_server(self):
        for scheme in ("bolt+ssc", "neo4j+ssc"):
            with GraphDatabase.driver(f"{scheme}://{ADDRESS}", auth=None) as driver:
                self.assertEqual(driver.execute_query("RETURN 1 AS one").records[0]["one"], 1)
                self.assertTrue(driver.verify_authentication())

    def test_notices_can_be_left_out(self):
        def told(**options):
            with GraphDatabase.driver(f"bolt://{ADDRESS}", auth=None, **options) as driver:
                summary = driver.execute_query("MATCH (n:Nowhere), (m:Nowhere) RETURN n").summary
                statuses = [it for it in summary.gql_status_objects if it.is_notification]
                return [it.gql_status for it in statuses], [it["code"] for it in summary.notifications or []]

        code = "Neo.ClientNotification.Statement.UnknownLabelWarning"
        statuses, codes = told()
        self.assertEqual((statuses[0], codes[0]), ("01N50", code))
        self.assertIn("03N90", statuses)
        self.assertNotIn("03N90", told(notifications_min_severity="WARNING")[0])
        self.assertEqual(told(notifications_min_severity="OFF"), ([], []))
        self.assertEqual(told(notifications_disabled_categories=["UNRECOGNIZED"])[0], ["03N90"])

    def test_entities(self):
        records, summary, _ = self.driver.execute_query(
            "CREATE (a:Person {name: $name})-[r:KNOWS {since: 1842}]->(b:Person {name: 'Bo'}) RETURN a, r, b", name="Ada"
        )
        ada, knows, bo = records[0]
        self.assertEqual(summary.counters.nodes_created, 2)
        self.assertTrue(summary.counters.contains_updates)
        self.assertEqual((ada["name"], set(ada.labels)), ("Ada", {"Person"}))
        self.assertEqual((knows.type, knows["since"], knows.start_node, knows.end_node), ("KNOWS", 1842, ada, bo))
        found = self.one("MATCH (n) WHERE elementId(n) = $id RETURN n", id=ada.element_id)
        self.assertEqual((found.element_id, dict(found)), (ada.element_id, {"name": "Ada"}))
        self.assertEqual(self.one("MATCH ()-[r]->() RETURN elementId(r)"), knows.element_id)
        path = self.one("MATCH p = (:Person {name: 'Bo'})<-[:KNOWS]-() RETURN p")
        self.assertEqual([node.element_id for node in path.nodes], [bo.element_id, ada.element_id])
        self.assertEqual(path.relationships[0].start_node.element_id, ada.element_id)
        self.driver.execute_query("MATCH (a:Person), (b:Person) WHERE a <> b AND a.name = 'Bo' CREATE (a)-[:LIKES]->(b)")
        around = self.one("MATCH p = (:Person {name: 'Ada'})-[:KNOWS]->()-[:LIKES]->() RETURN p")
        self.assertEqual([node["name"] for node in around.nodes], ["Ada", "Bo", "Ada"])

    def test_values_come_back(self):
        zone = datetime.timezone(datetime.timedelta(hours=2))
        values = {
            "null": None,
            "numbers": [0, -1, 2**63 - 1, -(2**63), 1.5, float("-inf")],
            "text": "Gr\u00fc\u00dfe " * 10_000,
            "bytes": b"\x00\xff",
            "map": {"a": {"b": [True, False]}},
            "date": neo4j.time.Date(2024, 2, 29),
            "time": neo4j.time.Time(1, 2, 3, 4),
            "local": neo4j.time.DateTime(2024, 7, 1, 12, 0, 0, 5),
            "moment": neo4j.time.DateTime(1969, 7, 1, 12, 0, 0, 5, tzinfo=zone),
            "span": neo4j.time.Duration(months=1, days=-2, seconds=3, nanoseconds=4),
            "point": neo4j.spatial.WGS84Point((1.0, 2.0)),
            "place": neo4j.spatial.CartesianPoint((1.0, 2.0, 3.0)),
        }
        for name, value in values.items():
            with self.subTest(name=name):
                self.assertEqual(self.one("RETURN $value", value=value), value)
        there = self.one("RETURN datetime('2024-10-27T02:30+01:00[Europe/Berlin]')")
        self.assertEqual(there.utcoffset(), datetime.timedelta(hours=1))
        self.assertEqual(str(self.one("RETURN toString($there)", there=there)), "2024-10-27T02:30+01:00[Europe/Berlin]")

    def test_vectors_are_values_from_bolt_6_on(self):
        kept = "CREATE (n:V) SET n += $values RETURN n"
        if int(neo4j.__version__.split(".")[0]) < 6:
            told = self.one("RETURN {v: vector([1, 2], 2, FLOAT32)} AS m")["v"]
            self.assertEqual(told["originalType"], "VECTOR<FLOAT32 NOT NULL>(2) NOT NULL")
            self.assertIn("Bolt 6.0", told["reason"])
            node = self.one(kept, values={"v": [1.0, 2.0]})
            self.assertEqual(node["v"], [1.0, 2.0])
            return
        from neo4j.vector import Vector

        ranges = {
            "i8": [-128, 127], "i16": [-(2**15), 2**15 - 1], "i32": [-(2**31), 2**31 - 1], "i64": [-(2**63), 2**63 - 1],
            "f32": [0.5, -1.5, 2.0**-140], "f64": [0.1, 1e300],
        }
        def shown(value):
            # The driver's vectors equal only themselves.
            if isinstance(value, Vector):
                return (value.dtype, value.raw())
            if isinstance(value, dict):
                return {key: shown(item) for key, item in value.items()}
            return [shown(item) for item in value] if isinstance(value, list) else value

        values = {name: Vector(numbers, name) for name, numbers in ranges.items()}
        values["large"] = Vector([float(x) for x in range(4096)], "f32")
        for name, value in values.items():
            with self.subTest(name=name):
                self.assertEqual(shown(self.one("RETURN $value", value=value)), shown(value))
                nested = [value, {"a": value}]
                self.assertEqual(shown(self.one("RETURN $value", value=nested)), shown(nested))
                size = self.one("RETURN CASE WHEN $value IS :: VECTOR THEN size($value) END", value=value)
                self.assertEqual(size, len(value))
        node = self.one(kept, values=values)
        self.assertEqual(shown(dict(node)), shown(values))
        self.driver.execute_query("CALL graven.checkpoint()")
        self.assertEqual(shown(dict(self.one("MATCH (n:V) RETURN n"))), shown(values))
        found = self.one("MATCH (n:V) WHERE n.f32 = $value RETURN valueType(n.f32)", value=values["f32"])
        self.assertEqual(found, "VECTOR<FLOAT32 NOT NULL>(3) NOT NULL")
        made = self.one("RETURN vector([1.5, 2], 2, FLOAT32)")
        self.assertEqual(shown(made), shown(Vector([1.5, 2.0], "f32")))
        for bad in [Vector([], "f32"), Vector([float("nan")], "f64"), Vector([0] * 4097, "i8")]:
            with self.assertRaises(ClientError):
                self.one("RETURN $value", value=bad)

    def test_transactions(self):
        def create(transaction):
            transaction.run("CREATE (:N)")
            return transaction.run("MATCH (n:N) RETURN count(n) AS n").single()["n"]

        def count(transaction):
            return transaction.run("MATCH (n:N) RETURN count(n) AS n").single()["n"]

        with self.driver.session(database="neo4j") as session:
            self.assertEqual(session.execute_write(create), 1)
            self.assertEqual(session.execute_read(count), 1)
            with self.assertRaises(ClientError) as caught:
                session.execute_read(create)
            self.assertEqual(caught.exception.code, "Neo.ClientError.Statement.AccessMode")
            transaction = session.begin_transaction()
            create(transaction)
            transaction.rollback()
            self.assertEqual(session.execute_read(count), 1)
            transaction = session.begin_transaction(timeout=0.1)
            with self.assertRaises(ClientError) as caught:
                transaction.run("UNWIND range(1, 1000000000000) AS x RETURN count(x)").single()
            transaction.close()
            self.assertEqual(caught.exception.code, "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration")

    def test_what_is_said_of_a_transaction_is_shown(self):
        with self.driver.session() as session, session.begin_transaction(metadata={"app": "ledger"}) as transaction:
            said = transaction.run("CALL tx.getMetaData()").single()["metadata"]
            self.assertEqual(said, {"app": "ledger"})
            shown = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.app = 'ledger' RETURN count(*) AS n"
            self.assertEqual(transaction.run(shown).single()["n"], 1)

    def test_a_schema_is_drawn_as_nodes_and_relationships(self):
        self.driver.execute_query("CREATE (:Drawn {x: 1})-[:TO]->(:Other)")
        nodes, _ = self.driver.execute_query("CALL db.schema.visualization()").records[0]
        drawn = next(node for node in nodes if "Drawn" in node.labels)
        self.assertEqual(drawn["name"], "Drawn")

    def test_procedures_write_in_the_transaction_of_the_caller(self):
        with self.driver.session() as session, session.begin_transaction() as transaction:
            text = "CALL apoc.merge.node(['Merged'], {id: $id}, {x: 1}) YIELD node RETURN node"
            self.assertEqual(transaction.run(text, id=7).single()["node"]["x"], 1)
            transaction.rollback()
        found = self.driver.execute_query("MATCH (n:Merged) RETURN count(n) AS n").records[0]
        self.assertEqual(found["n"], 0)
        with self.driver.session(default_access_mode="READ") as session:
            with self.assertRaises(ClientError) as caught:
                session.run("CALL apoc.create.node(['A'], {})").consume()
            self.assertEqual(caught.exception.code, "Neo.ClientError.Statement.AccessMode")

    def test_rows_of_a_transaction_leave_while_it_runs(self):
        self.driver.execute_query("UNWIND range(1, 10) AS x CREATE (:N {x: x})")
        with self.driver.session(fetch_size=2) as session, session.begin_transaction() as transaction:
            endless = transaction.run("UNWIND range(1, 1000000000000) AS x RETURN x")
            self.assertEqual(next(iter(endless))["x"], 1)
            rows = transaction.run("MATCH (n:N) RETURN n.x AS x ORDER BY n.x")
            self.assertEqual(next(iter(rows))["x"], 1)
            endless.consume()
            transaction.run("MATCH (n:N) SET n.x = -n.x").consume()
            transaction.run("CREATE (:N {x: 100})").consume()
            self.assertEqual([row["x"] for row in rows], list(range(2, 11)))
            self.assertEqual(transaction.run("MATCH (n:N) RETURN sum(n.x) AS x").single()["x"], 45)
            failing = transaction.run("UNWIND range(3, 0, -1) AS x RETURN 1 / x AS x")
            with self.assertRaises(ClientError):
                list(failing)
            transaction.close()

    def test_errors_have_the_codes_and_words_of_neo4j(self):
        self.driver.execute_query("CREATE CONSTRAINT unique_n IF NOT EXISTS FOR (n:U) REQUIRE n.x IS UNIQUE")
        self.driver.execute_query("CREATE (:U {x: 1})")
        for text, code, words in [
            ("CREATE (:U {x: 1})", "ClientError.Schema.ConstraintValidationFailed", "already exists with label `U` and property `x` = 1"),
            ("CREATE CONSTRAINT unique_n FOR (n:V) REQUIRE n.x IS UNIQUE", "ClientError.Schema.ConstraintWithNameAlreadyExists", ""),
            ("CREATE CONSTRAINT other FOR (n:U) REQUIRE n.x IS UNIQUE", "ClientError.Schema.ConstraintAlreadyExists", ""),
            ("DROP INDEX nothing", "DatabaseError.Schema.IndexDropFailed", "nothing"),
            ("DROP CONSTRAINT nothing", "DatabaseError.Schema.ConstraintDropFailed", "nothing"),
            ("CREATE DATABASE other", "ClientError.Statement.UnsupportedAdministrationCommand", ""),
        ]:
            with self.subTest(text=text), self.assertRaises(neo4j.exceptions.Neo4jError) as caught:
                self.driver.execute_query(text)
            self.assertEqual(caught.exception.code, "Neo." + code)
            self.assertIn(words, caught.exception.message)
        with self.driver.session() as session, session.begin_transaction() as transaction:
            with self.assertRaises(neo4j.exceptions.Neo4jError) as caught:
                transaction.run("UNWIND [1] AS x CALL { CREATE (:N) } IN TRANSACTIONS RETURN x").consume()
            self.assertEqual(caught.exception.code, "Neo.DatabaseError.Transaction.TransactionStartFailed")
            transaction.close()

    def test_what_tools_ask_first(self):
        [[name, versions, edition]] = self.driver.execute_query("CALL dbms.components()").records
        self.assertEqual((name, versions, edition), ("Neo4j Kernel", ["5.26.0"], "community"))
        databases = self.driver.execute_query("SHOW DATABASES YIELD name, aliases, default").records
        summary = self.driver.execute_query("RETURN 1").summary
        self.assertIn([summary.database, ["neo4j"], True], [list(row) for row in databases])
        defined = self.driver.execute_query("SHOW USER DEFINED FUNCTIONS").records
        self.assertTrue(defined and all(row["name"].startswith("apoc.") for row in defined))
        self.assertGreater(len(self.driver.execute_query("SHOW BUILT IN FUNCTIONS").records), 50)
        self.driver.execute_query("CREATE (:Once)-[:ONCE]->(:Once)")
        self.driver.execute_query("MATCH (n:Once) DETACH DELETE n")
        self.assertNotIn("Once", [row[0] for row in self.driver.execute_query("CALL db.labels()").records])
        self.assertNotIn("ONCE", [row[0] for row in self.driver.execute_query("CALL db.relationshipTypes()").records])
        [[policy]] = self.driver.execute_query("SHOW SETTINGS 'graven.policy' YIELD value").records
        self.assertTrue(policy)
        self.assertTrue(self.driver.execute_query("CALL dbms.listConfig('memory')").records)
        self.assertEqual(self.driver.execute_query("CALL dbms.queryJmx('*:*')").records, [])
        self.assertEqual(len(self.driver.execute_query("SHOW SERVERS").records), 1)

    def test_conflicts_are_tried_again(self):
        self.driver.execute_query("CREATE (:Counter {x: 0})")

        def increment(transaction):
            transaction.run("MATCH (c:Counter) SET c.x = c.x + 1").consume()

        def work():
            with self.driver.session() as session:
                for _ in range(5):
                    session.execute_write(increment)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.one("MATCH (c:Counter) RETURN c.x"), 15)

    def test_results(self):
        with self.driver.session(fetch_size=100) as session:
            rows = session.run("UNWIND range(1, 10000) AS x RETURN x")
            self.assertEqual(sum(row["x"] for row in rows), 50_005_000)
            endless = session.run("UNWIND range(1, 1000000000000) AS x RETURN x")
            self.assertEqual(next(iter(endless))["x"], 1)
            self.assertEqual(endless.consume().query_type, "r")
            plan = session.run("EXPLAIN MATCH (n) RETURN n").consume().plan
            self.assertIn("AllNodesScan", plan["args"]["string-representation"])
            profile = session.run("PROFILE MATCH (n) RETURN count(n)").consume().profile
            steps = [profile]
            while steps:
                step = steps.pop()
                self.assertIn("Details", step["args"])
                self.assertGreaterEqual(step["dbHits"], 0)
                steps += step["children"]
            self.assertTrue(profile["children"])
            explained = session.run("EXPLAIN RETURN 1").consume().gql_status_objects
            self.assertEqual([status.gql_status for status in explained], ["00001"])
            noticed = session.run("MATCH (n:Nowhere) RETURN n").consume().gql_status_objects
            self.assertTrue(any("Nowhere" in notice.status_description for notice in noticed))
            with self.assertRaises(CypherSyntaxError) as caught:
                session.run("RETURN nobody").consume()
            self.assertIn("line 1, column 8", caught.exception.message)
            self.assertEqual(session.run("RETURN 1 AS one").single()["one"], 1)
        with self.assertRaises(ClientError):
            self.driver.execute_query("RETURN 1", database_="other")


if __name__ == "__main__":
    unittest.main()

"""What a program with the official driver for Python sees of a server of several databases."""

import os
import unittest

import neo4j
from neo4j import GraphDatabase

ADDRESS = os.environ["GRAVEN_BOLT"]


class Databases(unittest.TestCase):
    def setUp(self):
        self.driver = GraphDatabase.driver(f"neo4j://{ADDRESS}", auth=None)
        self.addCleanup(self.driver.close)

    def names(self):
        return [row["name"] for row in self.driver.execute_query("SHOW DATABASES").records]

    def code_of(self, text, **options):
        with self.assertRaises(neo4j.exceptions.Neo4jError) as caught:
            self.driver.execute_query(text, **options)
        return caught.exception.code

    def test_two_databases(self):
        summary = self.driver.execute_query("CREATE DATABASE shop WAIT", database_="system").summary
        self.assertEqual(summary.counters.system_updates, 1)
        self.assertTrue(summary.counters.contains_system_updates)
        self.assertEqual(summary.database, "system")
        self.assertEqual(self.names(), ["neo4j", "shop", "system"])
        for name, count in [("neo4j", 3), ("shop", 5)]:
            with self.driver.session(database=name) as session:
                session.execute_write(lambda tx: tx.run("UNWIND range(1, $n) AS x CREATE (:N)", n=count).consume())
        for name, count in [("neo4j", 3), ("SHOP", 5), (None, 3)]:
            records, summary, _ = self.driver.execute_query("MATCH (n:N) RETURN count(n) AS n", database_=name)
            self.assertEqual(records[0]["n"], count)
            self.assertEqual(summary.database, (name or "neo4j").lower())
        records, summary, _ = self.driver.execute_query("USE shop MATCH (n:N) RETURN count(n) AS n")
        self.assertEqual((records[0]["n"], summary.database), (5, "shop"))
        with self.driver.session() as session, session.begin_transaction() as transaction:
            transaction.run("MATCH (n:N) RETURN n").consume()
            with self.assertRaises(neo4j.exceptions.ClientError) as caught:
                transaction.run("USE shop MATCH (n:N) RETURN n").consume()
            self.assertEqual(caught.exception.code, "Neo.ClientError.Statement.AccessMode")
            transaction.close()
        self.assertEqual(self.code_of("RETURN 1", database_="other"), "Neo.ClientError.Database.DatabaseNotFound")
        again = self.code_of("CREATE DATABASE shop")
        self.assertEqual(again, "Neo.ClientError.Database.ExistingDatabaseFound")
        self.driver.execute_query("CREATE ALIAS store FOR DATABASE shop")
        records = self.driver.execute_query("MATCH (n:N) RETURN count(n) AS n", database_="store").records
        self.assertEqual(records[0]["n"], 5)
        self.driver.execute_query("DROP DATABASE shop CASCADE ALIASES")
        self.assertEqual(self.names(), ["neo4j", "system"])
        self.assertEqual(self.code_of("RETURN 1", database_="shop"), "Neo.ClientError.Database.DatabaseNotFound")

    def test_transactions_are_shown_and_ended(self):
        with self.driver.session() as session, session.begin_transaction() as transaction:
            transaction.run("CREATE (:Never)").consume()
            shown = self.driver.execute_query("SHOW TRANSACTIONS")
            self.assertEqual(
                shown.keys,
                ["database", "transactionId", "currentQueryId", "connectionId", "clientAddress", "username",
                 "currentQuery", "startTime", "status", "elapsedTime"],
            )
            ids = [row["transactionId"] for row in shown.records if row["currentQuery"] == ""]
            self.assertEqual(len(ids), 1)
            ended = self.driver.execute_query("TERMINATE TRANSACTIONS $ids", ids=ids)
            self.assertEqual(ended.keys, ["transactionId", "username", "message"])
            self.assertEqual(ended.records[0]["message"], "Transaction terminated.")
            with self.assertRaises(neo4j.exceptions.Neo4jError):
                transaction.run("RETURN 1").consume()
            transaction.close()
        found = self.driver.execute_query("MATCH (n:Never) RETURN count(n) AS n").records
        self.assertEqual(found[0]["n"], 0)


if __name__ == "__main__":
    unittest.main()

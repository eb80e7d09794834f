"""A database and a connection for each test, and questions to them."""

import os
import tempfile
import unittest

import graven


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "it.graven")
        self.db = graven.Database(self.path, memory="16MiB")
        self.connection = graven.Connection(self.db)

    def one(self, query, parameters=None):
        [[value]] = self.connection.execute(query, parameters).get_all()
        return value

    def raises(self, code, query, parameters=None):
        with self.assertRaises(graven.Error) as caught:
            self.connection.execute(query, parameters).get_all()
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception

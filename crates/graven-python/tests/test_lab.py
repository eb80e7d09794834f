"""Policies simulated on traces, also policies of Python."""

import collections
import importlib.util
import os
import random
import struct
import tempfile
import unittest

import graven
from graven import lab


class Lru(lab.Policy):
    def __init__(self, capacity):
        super().__init__(capacity)
        self.order = collections.OrderedDict()

    def hit(self, page):
        self.order.move_to_end(page)

    def load(self, page):
        self.order[page] = None

    def evict(self):
        return self.order.popitem(last=False)[0]


class Broken(lab.Policy):
    def load(self, page):
        pass

    def evict(self):
        return "no page"


def accesses():
    draw = random.Random(3)
    return [1000 + int(draw.paretovariate(0.8)) % 300 for _ in range(20_000)]


class Simulations(unittest.TestCase):
    def test_a_policy_of_python_counts_as_the_same_of_graven(self):
        rows = lab.counts(accesses(), [Lru, "lru", "fifo", "min"], [0.1, 50])
        self.assertEqual(len(rows), 8)
        for of_size in rows[:4], rows[4:]:
            hits = {row["policy"]: row["hits"] for row in of_size}
            self.assertEqual(hits["Lru"], hits["lru"])
            self.assertLess(hits["fifo"], hits["min"])
            self.assertGreater(hits["min"], hits["lru"])
            self.assertTrue(all(row["hits"] + row["faults"] == row["accesses"] == 20_000 for row in of_size))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "the package pandas is not installed")
    def test_frames(self):
        frame = lab.simulate(accesses(), [Lru, "lru"], 50)
        self.assertEqual(frame["hits"][0], frame["hits"][1])
        self.assertEqual(frame["policy"].tolist(), ["Lru", "lru"])

    def test_files_and_first_accesses(self):
        pages = accesses()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "small.u64")
            with open(path, "wb") as file:
                file.write(struct.pack(f"<{len(pages)}Q", *pages))
            [whole] = lab.counts(path, "lru", 50)
            self.assertEqual(whole["trace"], "small")
            [same] = lab.counts(pages, Lru(50), 50)
            self.assertEqual(whole["hits"], same["hits"])
            first = lab.counts(path, ["lru", Lru], 50, accesses=1000)
            self.assertEqual([row["accesses"] for row in first], [1000, 1000])
            self.assertEqual(first[0]["hits"], first[1]["hits"])

    def test_mistakes_are_named(self):
        for policy, sizes, said in [
            ("lur", 5, "did you mean"),
            ("lru", 0, "cannot be simulated"),
            (Broken, 5, "Broken.evict() gave"),
            (Lru(5), [5, 6], "is for one size"),
        ]:
            with self.assertRaises(graven.Error) as raised:
                lab.counts(accesses(), policy, sizes)
            self.assertIn(said, str(raised.exception))
        with self.assertRaises(graven.Error):
            lab.counts([], "lru", 5)
        with self.assertRaises(graven.Error):
            lab.counts("missing.u64", "lru", 5)

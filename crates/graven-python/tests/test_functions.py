"""Functions of Python in statements: types, nulls, exceptions, threads, and what they may not do."""

from __future__ import annotations

import datetime
import decimal
import gc
import threading
import typing
import unittest
import uuid
import weakref

import graven
from case import Case
from graven import Type


class Types(Case):
    def test_types_by_annotations(self):
        def shown(a: int, b: float, c: str, d: bool, e: list[int], f: dict[str, int], g: typing.Optional[int]) -> str:
            return repr((a, b, c, d, e, f, g))

        self.connection.create_function("shown", shown)
        self.assertEqual(
            self.one("RETURN shown(1, 2, 'c', true, [4], {a: 5}, 6)"), "(1, 2.0, 'c', True, [4], {'a': 5}, 6)"
        )
        self.raises("SyntaxError.InvalidArgumentType", "RETURN shown('x', 2, 'c', true, [4], {a: 5}, 6)")
        self.raises("TypeError.InvalidArgumentValue", "RETURN shown($x, 2, 'c', true, [4], {a: 5}, 6)", {"x": 1.5})

    def test_types_by_names_and_members(self):
        self.connection.create_function("added", lambda a, b: a + b, [Type.INT64, "INT64"], Type.INT64)
        self.assertEqual(self.one("RETURN Added(1, added(2, 3))"), 6)
        self.connection.create_function("biggest", max, ["INT64[]"], "INT64")
        self.assertEqual(self.one("RETURN biggest([3, 9, 4])"), 9)
        self.connection.create_function("both", lambda a, b: a | b, ["MAP(STRING, INT64)"] * 2, "MAP(STRING, INT64)")
        self.assertEqual(self.one("RETURN both({a: 1}, {b: 2})"), {"a": 1, "b": 2})
        listed = {"x": {"key": ["k", "l"], "value": [1, 2]}}
        self.assertEqual(self.one("RETURN both($x, {b: 3})", listed), {"k": 1, "l": 2, "b": 3})
        for types in (["WHOLE"], ["INT64", "INT64"], "INT64"):
            with self.assertRaises((graven.Error, TypeError)) as caught:
                self.connection.create_function("one", lambda a: a, types, "ANY")
            self.assertIn("one", str(caught.exception))

    def test_types_of_python(self):
        def kinds(a: datetime.date, b: datetime.timedelta, c: uuid.UUID, d: decimal.Decimal, e: graven.Duration) -> str:
            return ",".join(type(it).__name__ for it in (a, b, c, d, e))

        self.connection.create_function("kinds", kinds)
        key = uuid.uuid4()
        text = "RETURN kinds(date('2024-02-29'), duration('P1DT2S'), $key, 2.5, duration('P1M'))"
        self.assertEqual(self.one(text, {"key": key}), "date,timedelta,UUID,Decimal,Duration")
        # No month is a fixed time.
        error = self.raises("Function.Failed", text.replace("P1DT2S", "P1M"), {"key": key})
        self.assertIn("months", str(error))

        self.connection.create_function("later", lambda t, d: t + d, [Type.TIMESTAMP, Type.INTERVAL], Type.TIMESTAMP)
        begun = datetime.datetime(2024, 4, 25, 15, 39, 20)
        day = datetime.timedelta(days=1)
        self.assertEqual(self.one("RETURN later($a, $b)", {"a": begun, "b": day}), begun + day)
        made = {"key": key, "price": decimal.Decimal("9.99"), "days": [day]}
        self.connection.create_function("made", lambda name: made[name], [Type.STRING], Type.ANY)
        self.assertEqual(self.one("RETURN made('key')"), str(key))
        self.assertEqual(self.one("RETURN made('price')"), 9.99)
        self.assertEqual(self.one("RETURN made('days')"), [graven.Duration(days=1)])
        self.connection.create_function("huge", lambda x: x**3, [Type.INT128], Type.INT128)
        self.assertEqual(self.one("RETURN huge(huge(huge(9)))"), str(9**27))

    def test_parameters_of_other_types(self):
        key = uuid.uuid4()
        self.assertEqual(self.one("RETURN $x", {"x": key}), str(key))
        self.assertEqual(self.one("RETURN $x", {"x": [decimal.Decimal("2.50")]}), [2.5])
        with self.assertRaises(ValueError) as caught:
            self.one("RETURN $x", {"x": decimal.Decimal("0.12345678901234567890")})
        self.assertIn("more digits", str(caught.exception))

    def test_wrong_parameters(self):
        for wrong in ([1], {1: 2}):
            with self.assertRaises(graven.ParameterError) as caught:
                self.connection.execute("RETURN 1", wrong)
            self.assertIsInstance(caught.exception, TypeError)
            self.assertIsInstance(caught.exception, graven.Error)


class Calls(Case):
    def test_nulls(self):
        self.connection.create_function("five", lambda x: 5, ["ANY"], "INT64")
        self.assertIsNone(self.one("RETURN five(null)"))
        self.connection.remove_function("five")
        self.connection.create_function("five", lambda x: 5, ["ANY"], "INT64", default_null_handling=False)
        self.assertEqual(self.one("RETURN five(null)"), 5)

    def test_exceptions(self):
        def fails(x: int) -> int:
            raise KeyError(f"no {x}")

        self.connection.create_function("fails", fails)
        self.connection.create_function("hides", fails, catch_exceptions=True)
        error = self.raises("Function.Failed", "UNWIND [1, 2] AS x\nRETURN fails(x)")
        self.assertIn("KeyError: 'no 1'", str(error))
        self.assertIsInstance(error.__cause__, KeyError)
        self.assertEqual((error.line, error.column), (2, 8))
        self.assertIsNone(self.one("RETURN hides(1)"))

        def stops() -> int:
            raise KeyboardInterrupt

        self.connection.create_function("stops", stops)
        with self.assertRaises(KeyboardInterrupt):
            self.one("RETURN stops()")
        self.connection.create_function("wrong", lambda: object(), [], "ANY")
        self.assertIn("what it returned", str(self.raises("Function.Failed", "RETURN wrong()")))
        # A statement that fails so has done nothing.
        self.raises("Function.Failed", "UNWIND [1, 2] AS x CREATE (:N {x: fails(x)})")
        self.assertEqual(self.one("MATCH (n) RETURN count(n)"), 0)

    def test_names(self):
        for name in ("size", "count", "list_len", "cast", "a b"):
            with self.assertRaises(graven.Error) as caught:
                self.connection.create_function(name, lambda: 1, [], "ANY")
            self.assertEqual(caught.exception.code, "Function.Invalid")
        with self.assertRaises(graven.Error) as caught:
            self.connection.remove_function("size")
        self.assertEqual(caught.exception.code, "Function.NotFound")
        with self.assertRaises(TypeError):
            self.connection.create_function("mine", 5)

    def test_a_removed_function_is_forgotten(self):
        class Held:
            def __call__(self):
                return 1

        held = Held()
        gone = weakref.ref(held)
        self.connection.create_function("held", held, [], "INT64")
        prepared = self.connection.prepare("RETURN held()")
        self.assertEqual(prepared.execute().get_all(), [[1]])
        self.assertEqual(self.one("RETURN held()"), 1)
        self.connection.remove_function("held")
        self.raises("SyntaxError.UnknownFunction", "RETURN held()")
        with self.assertRaises(graven.Error):
            prepared.execute()
        del prepared, held
        gc.collect()
        self.one("RETURN 1")
        self.assertIsNone(gone())

    def test_a_function_runs_no_statements(self):
        for work in (
            lambda: self.connection.execute("RETURN 1"),
            lambda: transaction.execute("RETURN 1"),
            lambda: transaction.commit(),
            lambda: self.connection.prepare("RETURN 1"),
        ):
            transaction = self.connection.begin()
            self.connection.create_function("nested", work, [], "ANY")
            with self.assertRaises(graven.Error) as caught:
                transaction.execute("RETURN nested()").get_all()
            self.assertIn("cannot run statements", str(caught.exception))
            self.connection.remove_function("nested")
            transaction.rollback()

    def test_other_threads_go_on(self):
        self.connection.execute("UNWIND range(1, 20000) AS x CREATE (:N {x: x})")
        self.connection.create_function("same", lambda x: x, ["INT64"], "INT64")
        sums = []

        def ask():
            connection = graven.Connection(self.db)
            connection.create_function("same", lambda x: x + 1, ["INT64"], "INT64")
            sums.append(connection.execute("MATCH (n:N) RETURN sum(same(n.x) - n.x)").get_all())

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            # A result that is left behind ends its statement.
            self.connection.execute("MATCH (n:N) WHERE same(n.x) > 0 RETURN same(n.x)").get_n(1)
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [[[20000]]] * 3)

    def test_a_timeout_ends_calls(self):
        self.connection.create_function("waits", lambda x: threading.Event().wait(0.01), ["INT64"], "BOOL")
        self.connection.set_query_timeout(100)
        self.raises("Statement.TimedOut", "UNWIND range(1, 1000) AS x RETURN count(waits(x))")


if __name__ == "__main__":
    unittest.main()

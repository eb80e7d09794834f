"""The package as a program uses it: databases in a temporary folder, nothing but the standard library."""

import asyncio
import datetime
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
import zoneinfo

import graven
from case import Case


class Values(Case):
    def test_parameters_come_back_as_they_were(self):
        utc = datetime.timezone.utc
        east = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
        twice = datetime.datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
        values = [
            None,
            True,
            False,
            0,
            -(2**63),
            2**63 - 1,
            1.5,
            float("inf"),
            "",
            "Gr\u00fc\u00dfe \U0001f600",
            b"\x00\xff",
            [],
            [1, "a", None, [2.5]],
            {},
            {"a": {"b": [1]}, "": None},
            datetime.date(1, 1, 1),
            datetime.date(9999, 12, 31),
            datetime.time(23, 59, 59, 999999),
            datetime.time(1, 2, tzinfo=east),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 1),
            datetime.datetime(2024, 2, 29, 12, tzinfo=utc),
            datetime.datetime(1900, 1, 1, tzinfo=east),
            datetime.datetime(2024, 7, 1, 12, tzinfo=berlin),
            twice,
            twice.replace(fold=1),
            graven.Duration(14, -3, 5, 6),
            graven.Point(4326, 12.5, 50.0),
            graven.Point(9157, 1.0, 2.0, 3.0),
        ]
        for value in values:
            with self.subTest(value=value):
                back = self.one("RETURN $value", {"value": value})
                self.assertEqual(back, value)
                self.assertIs(type(back), type(value))
                if isinstance(value, datetime.datetime):
                    self.assertEqual(back.utcoffset(), value.utcoffset())
                    self.assertEqual(str(back.tzinfo), str(value.tzinfo))
        self.assertEqual(self.one("RETURN $value", {"value": (1, 2)}), [1, 2])
        self.assertEqual(self.one("RETURN $value", {"value": bytearray(b"ab")}), b"ab")

    def test_what_datetime_cannot_hold_is_kept_as_text(self):
        for written, kind in [
            ("2024-01-01T00:00:00.000000001", "localdatetime"),
            ("12:00:00.123456789", "localtime"),
            ("12:00:00.123456789+01:00", "time"),
            ("+12024-01-01", "date"),
            ("1818-07-21T21:40:32.000000001+00:53:28[Europe/Stockholm]", "datetime"),
        ]:
            with self.subTest(written=written):
                value = self.one(f"RETURN {kind}($text)", {"text": written})
                self.assertIsInstance(value, graven.Temporal)
                self.assertEqual((str(value), value.type), (written, kind))
                same = self.one(f"RETURN $value = {kind}($value2)", {"value": value, "value2": written})
                self.assertIs(same, True)
                self.assertEqual(pickle.loads(pickle.dumps(value)).type, kind)

    def test_durations(self):
        value = self.one("RETURN duration('P1Y2M3DT4H5M6.000000007S')")
        self.assertEqual(value, graven.Duration(14, 3, 4 * 3600 + 5 * 60 + 6, 7))
        with self.assertRaisesRegex(ValueError, "14 months"):
            value.to_timedelta()
        delta = datetime.timedelta(days=-1, microseconds=5)
        self.assertEqual(self.one("RETURN $d", {"d": delta}).to_timedelta(), delta)
        # The parts of a duration as a program may give them.
        self.assertEqual(
            self.one("RETURN $d", {"d": graven.Duration(nanoseconds=-1)}),
            graven.Duration(0, 0, -1, 999_999_999),
        )

    def test_what_is_no_parameter_is_named(self):
        loop = []
        loop.append(loop)
        for value, error, says in [
            (object(), TypeError, "parameter `x`.*object"),
            (2**63, OverflowError, "parameter `x`: 9223372036854775808"),
            ({1: 2}, TypeError, "keys of maps are text, got int"),
            ({1, 2}, TypeError, "set"),
            (loop, ValueError, "exceeds 100 levels"),
            (graven.Point(1, 2.0, 3.0), ValueError, "1 is not a coordinate system"),
            (graven.Point(4326, 2.0, 3.0, 4.0), ValueError, "two coordinates"),
            (graven.Temporal("yesterday", "date"), ValueError, "yesterday"),
            ("\ud800", ValueError, "parameter `x`: .*surrogates"),
            (datetime.time(1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")), ValueError, "no offset without a date"),
        ]:
            with self.subTest(value=str(value)[:20]):
                with self.assertRaisesRegex(error, says):
                    self.connection.execute("RETURN $x", {"x": value})
        with self.assertRaisesRegex(TypeError, "Parameter name must be"):
            self.connection.execute("RETURN 1", {1: 2})
        with self.assertRaisesRegex(ValueError, "`x` is given twice"):
            self.connection.execute("RETURN $x", {"x": 1, "$x": 2})

    def test_numbers_of_other_packages(self):
        class Scalar:
            def tolist(self):
                return 7

        self.assertEqual(self.one("RETURN $x + 1", {"x": Scalar()}), 8)

    def test_nodes_relationships_and_paths(self):
        self.connection.execute(
            "CREATE (:Person:Author {name: 'Ada', _id: 'own'})-[:KNOWS {since: 1842}]->(:Person {name: 'Bo'})"
        )
        [[ada, knows, path]] = self.connection.execute(
            "MATCH p = (a:Author)-[k:KNOWS]->() RETURN a, k, p"
        ).get_all()
        self.assertEqual(set(ada.labels), {"Person", "Author"})
        self.assertEqual(ada.properties, {"name": "Ada", "_id": "own"})
        self.assertEqual((ada["name"], ada["_id"]), ("Ada", ada.id))
        self.assertEqual((knows.type, knows["since"], knows["_label"]), ("KNOWS", 1842, "KNOWS"))
        self.assertEqual((knows.start, knows["_dst"]), (ada.id, path.nodes[1].id))
        self.assertEqual([node["name"] for node in path["_nodes"]], ["Ada", "Bo"])
        self.assertEqual(path.relationships, [knows])
        self.assertEqual({ada: 1}[path.nodes[0]], 1)
        for value in (ada, knows, path):
            copy = pickle.loads(pickle.dumps(value))
            self.assertEqual((copy, type(copy)), (value, type(value)))


class Results(Case):
    def test_a_published_snapshot_is_read_and_followed(self):
        url = "file://" + self.folder + "/published/"
        self.connection.execute("UNWIND range(1, 100) AS x CREATE (:N {x: x})")
        done = self.db.publish(url, chunk="1MiB")
        self.assertEqual((done["sent_chunks"], done["unchanged"]), (1, False))
        tier = os.path.join(self.folder, "tier")
        reader = graven.Database(url, memory="16MiB", disk_cache=tier, disk_budget="64MiB")
        connection = graven.Connection(reader)
        count = "MATCH (n:N) RETURN count(n), sum(n.x)"
        self.assertEqual(connection.execute(count).get_all(), [[100, 5050]])
        with self.assertRaises(graven.Error) as caught:
            connection.execute("CREATE (:N)").get_all()
        self.assertEqual(caught.exception.code, "Database.ReadOnly")
        self.assertFalse(reader.refresh())
        self.connection.execute("CREATE (:N {x: 1})")
        self.assertFalse(self.db.publish(url)["unchanged"])
        self.assertEqual(connection.execute(count).get_all(), [[100, 5050]])
        self.assertTrue(reader.refresh())
        self.assertEqual(connection.execute(count).get_all(), [[101, 5051]])
        with self.assertRaises(graven.Error) as caught:
            graven.Database("file://" + self.folder + "/nothing/")
        self.assertEqual(caught.exception.code, "Database.NotFound")

    def test_rows_in_every_way(self):
        def rows():
            return self.connection.execute("UNWIND range(1, 5000) AS x RETURN x, toString(x) AS text")

        expected = [[x, str(x)] for x in range(1, 5001)]
        self.assertEqual(rows().get_all(), expected)
        self.assertEqual(list(rows()), expected)
        self.assertEqual(rows().get_columns(), [list(column) for column in zip(*expected)])
        self.assertEqual(rows().get_column_names(), ["x", "text"])
        self.assertEqual(rows().rows_as_dict().get_next(), {"x": 1, "text": "1"})
        result = rows()
        self.assertEqual(result.get_n(3), expected[:3])
        self.assertEqual(result.get_num_tuples(), 5000)
        self.assertEqual(result.get_next(), expected[3])
        self.assertTrue(result.has_next())
        self.assertEqual(result.get_all(), expected[4:])
        self.assertFalse(result.has_next())
        self.assertEqual(result.get_num_tuples(), 5000)
        with self.assertRaisesRegex(RuntimeError, "no more rows"):
            result.get_next()
        self.assertGreater(result.get_execution_time(), 0)
        self.assertEqual(result.summary["rows"], 5000)
        result.close()
        self.assertEqual(result.get_all(), [])

    def test_rows_come_as_they_are_asked_for(self):
        result = self.connection.execute("UNWIND range(1, 1000000000) AS x RETURN x")
        self.assertEqual(result.get_n(2), [[1], [2]])
        result.close()

    def test_an_error_on_the_way_comes_with_its_row(self):
        # What fails among the first rows fails at once.
        self.raises("ArithmeticError.InvalidValue", "UNWIND [1, 0] AS x RETURN 1 / x")
        result = self.connection.execute("UNWIND range(1, 20000) AS x RETURN 1 / (x - 15000)")
        for _ in range(2):
            with self.assertRaises(graven.Error):
                result.get_all()
            with self.assertRaises(graven.Error):
                result.has_next()

    def test_summary_of_a_write(self):
        result = self.connection.execute("CREATE (:A {x: 1}), (:B)")
        self.assertEqual(result.summary["counters"]["nodes_created"], 2)
        self.assertEqual(result.get_all(), [])
        notices = self.connection.execute("MATCH (x:Nowhere) RETURN x").summary["notices"]
        self.assertIn("Nowhere", notices[0]["message"])
        self.assertIn("Unwind", self.connection.execute("EXPLAIN UNWIND [1] AS x RETURN x").summary["plan"])


class Statements(Case):
    def test_errors_say_where(self):
        error = self.raises("SyntaxError.UndefinedVariable", "RETURN 1 AS one,\n  nobody AS x")
        self.assertEqual((error.line, error.column, error.retryable), (2, 3, False))
        self.assertIn("nobody", str(error))
        self.assertIsInstance(error, RuntimeError)
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((copy.code, str(copy)), (error.code, str(error)))
        with self.assertRaisesRegex(TypeError, "text or a PreparedStatement"):
            self.connection.execute(7)

    def test_prepared(self):
        twice = self.connection.prepare("RETURN 2 * $x AS twice")
        self.assertTrue(twice.is_success())
        for x in range(100):
            self.assertEqual(twice.execute({"x": x}).get_all(), [[2 * x]])
            self.assertEqual(self.connection.execute(twice, {"$x": x}).get_next(), [2 * x])
        with self.assertRaises(graven.Error):
            self.connection.prepare("RETURN")

    def test_transactions(self):
        with self.connection.begin() as transaction:
            transaction.execute("CREATE (:N {x: $x})", {"x": 1})
            self.assertEqual(self.one("MATCH (n:N) RETURN count(n)"), 0)
        self.assertEqual(self.one("MATCH (n:N) RETURN count(n)"), 1)
        with self.assertRaisesRegex(KeyError, "mine"):
            with self.connection.begin() as transaction:
                transaction.execute("CREATE (:N)")
                raise KeyError("mine")
        self.assertEqual(self.one("MATCH (n:N) RETURN count(n)"), 1)
        with self.assertRaisesRegex(graven.Error, "has ended"):
            transaction.commit()
        first, second = self.connection.begin(), self.connection.begin()
        for transaction in (first, second):
            transaction.execute("MATCH (n:N) SET n.x = n.x + 1")
        first.commit()
        with self.assertRaises(graven.Error) as caught:
            second.commit()
        self.assertTrue(caught.exception.retryable)
        self.assertEqual(caught.exception.code, "Transaction.Conflict")
        self.assertEqual(self.one("MATCH (n:N) RETURN n.x"), 2)

    def test_options(self):
        relaxed = graven.Connection(self.db, durability="relaxed", relaxed_ms=5, isolation="serializable")
        relaxed.execute("CREATE (:M)")
        self.assertEqual(self.one("MATCH (m:M) RETURN count(m)"), 1)
        for options in ({"isolation": "none"}, {"durability": "maybe"}, {"relaxed_ms": 5}):
            with self.assertRaises(ValueError):
                graven.Connection(self.db, **options)
        with self.assertRaises(ValueError):
            graven.Connection(self.db, timeout=-1.0)

    def test_timeout_and_interrupt(self):
        endless = "UNWIND range(1, 1000000000000) AS x WITH count(x) AS n RETURN n"
        self.connection.set_query_timeout(30)
        self.raises("Statement.TimedOut", endless)
        self.connection.set_query_timeout(0)
        # Also for what was prepared before.
        prepared = self.connection.prepare("UNWIND range(1, $n) AS x WITH count(x) AS n RETURN n")
        self.connection.set_query_timeout(30)
        with self.assertRaisesRegex(graven.Error, "Statement.TimedOut"):
            self.connection.execute(prepared, {"n": 1000000000000}).get_all()
        self.connection.set_query_timeout(0)
        self.assertEqual(self.connection.execute(prepared, {"n": 3}).get_all(), [[3]])
        ended = []

        def run():
            try:
                self.connection.execute(endless).get_all()
            except graven.Error as error:
                ended.append(error.code)

        thread = threading.Thread(target=run)
        thread.start()
        # The statement may not have begun yet: it forgets what was asked of the one before.
        while thread.is_alive():
            self.connection.interrupt()
            time.sleep(0.01)
        thread.join()
        self.assertEqual(ended, ["Statement.Cancelled"])

    def test_control_c_ends_a_statement(self):
        program = (
            "import graven, signal, sys\n"
            # The program that starts this one in the background may have made it ignore the signal.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "c = graven.Database(sys.argv[1]).connect()\n"
            "endless = 'UNWIND range(1, 1000000000000) AS x WITH count(x) AS n RETURN n'\n"
            "c.execute('RETURN 1').get_all()\n"
            "try: print('ready', flush=True); c.execute(endless).get_all()\n"
            "except KeyboardInterrupt: print('interrupted', c.execute('RETURN 1').get_all(), flush=True)\n"
            "signal.signal(signal.SIGINT, lambda *_: print('own handler', flush=True))\n"
            "try: c.execute(endless).get_all()\n"
            "except graven.Error as error: print(error.code, flush=True)\n"
        )
        path = os.path.join(self.folder, "other.graven")
        run = subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True)
        self.assertEqual(run.stdout.readline(), "ready\n")
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.stdout.readline(), "interrupted [[1]]\n")
        # Another handler is preceded after a moment.
        while run.poll() is None:
            time.sleep(0.2)
            run.send_signal(signal.SIGINT)
        said = run.communicate()[0].splitlines()
        self.assertEqual(set(said[:-1]), {"own handler"})
        self.assertEqual(said[-1], "Statement.Cancelled")

    def test_other_threads_go_on_meanwhile(self):
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(1)
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        self.connection.set_query_timeout(200)
        with self.assertRaises(graven.Error):
            self.connection.execute("UNWIND range(1, 1000000000000) AS x RETURN count(x)").get_all()
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 10)

    def test_no_thread_waits_for_rows_with_the_interpreter_in_hand(self):
        # It has its first rows at once, and never another one.
        endless = "UNWIND range(1, 1000000000000) AS x WITH x WHERE x < 10000 RETURN x"
        for pause in (0.05, 0.5, 5):
            result = self.connection.execute(endless)
            self.assertEqual(len(result.get_n(9999)), 9999)
            begun = threading.Event()
            ended = []

            def read(result=result, begun=begun, ended=ended):
                begun.set()
                try:
                    ended.append(result.get_all())
                except graven.Error as error:
                    ended.append(error.code)

            thread = threading.Thread(target=read)
            thread.start()
            begun.wait()
            stop = threading.Timer(0.2, self.connection.interrupt)
            time.sleep(pause)
            stop.start()
            # These wait for the thread, which the timer stops.
            result.rows_as_dict()
            result.close()
            thread.join()
            stop.join()
            # On a busy machine the result may have been closed before the thread asked for rows.
            if ended != [[]]:
                break
        self.assertEqual(ended, ["Statement.Cancelled"])

    def test_threads_share_a_connection(self):
        def write(writer):
            for x in range(20):
                self.connection.execute("CREATE (:T {writer: $writer, x: $x})", {"writer": writer, "x": x})

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.one("MATCH (t:T) RETURN count(DISTINCT [t.writer, t.x])"), 80)

    def test_asynchronous(self):
        async def ask():
            async with graven.AsyncConnection(self.db, max_concurrent_queries=2) as connection:
                await connection.execute("CREATE (:S {x: 1})")
                with self.assertRaises(asyncio.TimeoutError):
                    endless = "UNWIND range(1, 1000000000000) AS x RETURN count(x)"
                    await asyncio.wait_for(connection.execute_all(endless), 0.1)
                asked = [connection.execute_all("RETURN $x", {"x": x}) for x in range(8)]
                prepared = await connection.prepare("MATCH (s:S) RETURN s.x")
                return await asyncio.gather(*asked, connection.execute_all(prepared))

        self.assertEqual(asyncio.run(ask()), [[[x]] for x in range(8)] + [[[1]]])


class Files(Case):
    def test_what_was_committed_is_there_again(self):
        self.connection.execute("CREATE (:P {x: 1})")
        self.assertTrue(self.db.checkpoint())
        self.assertFalse(self.db.checkpoint())
        copy = os.path.join(self.folder, "copy.graven")
        self.assertGreater(self.db.backup(copy), 0)
        self.db.close()
        with self.assertRaises(graven.Error):
            self.connection.execute("CREATE (:P)")
        for path in (self.path, copy):
            with graven.Database(path, read_only=True) as db:
                rows = db.connect().execute("MATCH (p:P) RETURN p.x").get_all()
                self.assertEqual(rows, [[1]])
                with self.assertRaises(graven.Error) as caught:
                    db.connect().execute("CREATE (:P)")
                self.assertEqual(caught.exception.code, "Database.ReadOnly")

    def test_settings(self):
        self.assertEqual(self.db.memory, 16 << 20)
        self.db.set_memory("32MiB")
        self.assertEqual(self.db.memory, 32 << 20)
        self.db.set_policy("lru")
        with self.assertRaises(graven.Error):
            self.db.set_policy("nothing")
        with self.assertRaises(graven.Error):
            self.db.set_memory("much")
        with self.assertRaises(TypeError):
            self.db.set_memory([])
        self.assertEqual(os.fspath(self.db.path), self.path)
        self.assertIsNone(self.db.attached_to)

    def test_wrong_files(self):
        with self.assertRaisesRegex(graven.Error, "a database without a name is new"):
            graven.Database(":memory:", read_only=True)
        with self.assertRaises(graven.Error) as caught:
            graven.Database(os.path.join(self.folder, "none.graven"), create=False)
        self.assertEqual(caught.exception.code, "Database.NotFound")
        text = os.path.join(self.folder, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no database " * 1000)
        with self.assertRaisesRegex(graven.Error, "text"):
            graven.Database(text)

    def test_a_database_without_a_name(self):
        for path in ([], [":memory:"], [""]):
            made = graven.Database(*path)
            folder = os.path.dirname(made.path)
            connection = graven.Connection(made)
            connection.execute("CREATE (:P {a: 1})")
            self.assertEqual(connection.execute("MATCH (p:P) RETURN p.a").get_all(), [[1]])
            self.assertFalse(made.is_closed or connection.is_closed)
            connection.close()
            made.close()
            self.assertTrue(made.is_closed and connection.is_closed)
            self.assertTrue(os.path.isdir(folder))
            del made, connection
            gc.collect()
            self.assertFalse(os.path.exists(folder))

    def test_what_is_made_of_a_database_keeps_it(self):
        database = graven.Database()
        folder = os.path.dirname(database.path)
        connection = graven.Connection(database)
        del database
        gc.collect()
        connection.execute("UNWIND range(1, 100000) AS x CREATE (:P {x: x})")
        result = connection.execute("MATCH (p:P) RETURN p.x")
        prepared = connection.prepare("MATCH (p:P) RETURN count(p)")
        del connection
        gc.collect()
        self.assertTrue(os.path.isdir(folder))
        self.assertEqual(len(result.get_all()), 100000)
        self.assertEqual(prepared.execute().get_all(), [[100000]])
        del result, prepared
        gc.collect()
        self.assertFalse(os.path.exists(folder))

    def test_several_statements_in_one_text(self):
        text = "CREATE (:P {a: ';'});\n// a; b\nMATCH (p:P) RETURN p.a; RETURN 2 AS two;"
        made, read, two = self.connection.execute(text)
        self.assertEqual((made.get_all(), read.get_all(), two.get_all()), ([], [[";"]], [[2]]))
        self.assertEqual(self.connection.execute("RETURN 1;").get_all(), [[1]])
        with self.assertRaises(graven.Error) as caught:
            self.connection.execute("RETURN 1;\n  RETURN x; CREATE (:Q)")
        self.assertEqual((caught.exception.line, caught.exception.column), (2, 10))
        self.assertEqual(self.connection.execute("MATCH (q:Q) RETURN q").get_all(), [])

    def test_files_of_kuzu(self):
        path = os.path.join(self.folder, "t.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write('1,"{a: 1, b: [\\"x,y\\"]}",{k= 33},3.12\n2,"{a: 2}",{},2023-12-15\n')
        self.connection.execute(
            "CREATE NODE TABLE T(id INT64, s STRUCT(a INT64, b STRING[]), m MAP(STRING, INT64), "
            "u UNION(x FLOAT, d DATE), PRIMARY KEY(id));"
        )
        self.connection.execute(f'COPY T FROM "{path}" (PARALLEL = false)')
        rows = self.connection.execute("MATCH (t:T) RETURN t.* ORDER BY t.id").get_all()
        self.assertEqual(rows[0], [1, '{a: 1, b: ["x,y"]}', "{k= 33}", "3.12"])
        self.assertEqual(rows[1], [2, "{a: 2}", "{}", "2023-12-15"])

    def test_arrays_beside_each_other(self):
        def array(name, descr, shape, data):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n".encode()
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(data))
            return path

        ids = array("ids.npy", "|i1", "2,", [1, 2])
        pairs = array("pairs.npy", "|i1", "2, 2", [3, 4, 5, 6])
        self.connection.execute("CREATE NODE TABLE T(id INT64, p INT64[2], PRIMARY KEY(id))")
        self.connection.execute(f'COPY T FROM ("{ids}", "{pairs}") BY COLUMN')
        rows = self.connection.execute("MATCH (t:T) RETURN t.id, t.p ORDER BY t.id").get_all()
        self.assertEqual(rows, [[1, [3, 4]], [2, [5, 6]]])

    def test_types_of_columns(self):
        result = self.connection.execute(
            "UNWIND [1, 2] AS i RETURN i, i / 2.0 AS x, [[i], []] AS l, CASE i WHEN 1 THEN i ELSE 'a' END AS m, "
            "null AS n, date('2024-01-01') AS d, {a: i} AS s"
        )
        types = ["INT64", "DOUBLE", "INT64[][]", "ANY", "ANY", "DATE", "MAP"]
        self.assertEqual(result.get_column_data_types(), types)
        self.assertEqual(result.get_schema(), dict(zip("ixlmnds", types)))
        self.assertEqual(len(result.get_all()), 2)
        self.assertEqual(result.get_column_data_types(), types)

    def test_names_beside_the_properties(self):
        from graven import constants

        [[path]] = self.connection.execute("CREATE p = (:A)-[:R]->(:B) RETURN p").get_all()
        first, last = path[constants.NODES]
        [relationship] = path[constants.RELS]
        self.assertEqual(relationship[constants.SRC], first[constants.ID])
        self.assertEqual(relationship[constants.DST], last[constants.ID])
        self.assertEqual(last[constants.LABEL], "B")
        self.assertEqual(graven.version, graven.__version__)

    def test_a_result_from_its_beginning(self):
        result = self.connection.execute("UNWIND range(1, 5000) AS i RETURN i")
        self.assertEqual(result.get_n(3000)[-1], [3000])
        result.reset_iterator()
        self.assertEqual(len(result.get_all()), 5000)
        result.reset_iterator()
        self.assertEqual(result.get_next(), [1])
        self.assertEqual(result.get_num_tuples(), 5000)
        self.assertEqual(len(result.get_columns()[0]), 4999)
        self.assertFalse(result.has_next_query_result() or result.is_closed)
        result.close()
        self.assertTrue(result.is_closed)
        result = self.connection.execute("UNWIND range(1, 50000) AS i RETURN i")
        self.assertEqual(len(result.get_n(30000)), 30000)
        for gone in (result.reset_iterator, result.get_schema):
            with self.assertRaisesRegex(RuntimeError, "the first rows are gone"):
                gone()
        self.assertEqual(result.get_next(), [30001])

    def test_a_closed_connection(self):
        with graven.Connection(self.db) as connection:
            self.assertEqual(connection.execute("RETURN 1").get_all(), [[1]])
        with self.assertRaisesRegex(graven.Error, "closed"):
            connection.execute("RETURN 1")

    def test_another_process_attaches(self):
        self.connection.execute("CREATE (:Q {x: 1})")
        program = (
            "import graven, sys; db = graven.Database(sys.argv[1]); c = db.connect(); "
            "c.execute('MATCH (q:Q) SET q.x = 2'); print(db.attached_to, c.execute('MATCH (q:Q) RETURN q').get_all()[0][0]['x'])"
        )
        ran = subprocess.run(
            [sys.executable, "-c", program, self.path], capture_output=True, text=True, check=True
        )
        self.assertEqual(ran.stdout.split(), [str(os.getpid()), "2"])
        self.assertEqual(self.one("MATCH (q:Q) RETURN q.x"), 2)

    def test_a_forked_process_opens_the_file_again(self):
        # A program of its own, which ends as programs do in parent and child.
        program = (
            "import graven, os, sys\n"
            "db = graven.Database(sys.argv[1]); c = db.connect()\n"
            "c.execute('CREATE (:F {x: 0})')\n"
            "rows = c.execute('UNWIND range(1, 10000) AS i RETURN i')\n"
            "transaction = c.begin()\n"
            "transaction.execute('CREATE (:F {x: 1})')\n"
            "child = os.fork()\n"
            "if not child:\n"
            "    uses = [lambda: c.execute('CREATE (:F {x: 2})'), rows.get_all, transaction.commit, db.checkpoint, db.close]\n"
            "    for use in uses:\n"
            "        try:\n"
            "            use()\n"
            "        except graven.Error as error:\n"
            "            assert error.code == 'Database.Forked', error.code\n"
            "        else:\n"
            "            assert False, use\n"
            "    del uses, use, c, rows, transaction, db\n"
            "    again = graven.Database(sys.argv[1])\n"
            "    assert again.attached_to == os.getppid(), again.attached_to\n"
            "    again.connect().execute('CREATE (:F {x: 3})')\n"
            "    sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0\n"
            "assert len(rows.get_all()) == 10000\n"
            "transaction.commit()\n"
            "print(c.execute('MATCH (f:F) WITH f.x AS x ORDER BY x RETURN collect(x)').get_all()[0][0])\n"
        )
        path = os.path.join(self.folder, "forked.graven")
        ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout.strip()), (0, "[0, 1, 3]"), ran.stderr)


if __name__ == "__main__":
    unittest.main()

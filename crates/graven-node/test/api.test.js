"use strict";

// Goal: databases, connections, statements, transactions and results do what the guide says.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const graven = require("graven");
const { folder, opened, fails, pause, ENDLESS } = require("./scratch.js");

const numbers = (n) => `UNWIND range(1, ${n}) AS x RETURN x`;

test("the names of Kuzu's package", async (t) => {
  const { db, connection } = opened(t);
  await db.init();
  await connection.init();
  await connection.query("CREATE NODE TABLE Person(name STRING, age INT64, PRIMARY KEY (name))");
  const statement = await connection.prepare("CREATE (:Person {name: $name, age: $age})");
  assert.equal(statement.isSuccess(), true);
  assert.equal(statement.getErrorMessage(), "");
  await connection.execute(statement, { name: "Ada", age: 36 }, () => {});
  connection.executeSync(statement, { name: "Bo", age: 4 });
  const result = await connection.query(
    "MATCH (p:Person) RETURN p.name, p.age ORDER BY p.name",
    () => {},
  );
  const all = [
    { "p.name": "Ada", "p.age": 36 },
    { "p.name": "Bo", "p.age": 4 },
  ];
  assert.deepStrictEqual(await result.getColumnNames(), ["p.name", "p.age"]);
  assert.deepStrictEqual(await result.getColumnDataTypes(), ["STRING", "INT64"]);
  assert.deepStrictEqual(result.getColumnDataTypesSync(), ["STRING", "INT64"]);
  assert.deepStrictEqual(result.getDeclaredTypes(), ["STRING", "INT64"]);
  assert.equal(result.getNumTuples(), 2);
  assert.equal(result.hasNext(), true);
  assert.deepStrictEqual(await result.getNext(), all[0]);
  assert.deepStrictEqual(await result.getAll(), all);
  assert.equal(result.hasNext(), false);
  assert.equal(await result.getNext(), null);
  assert.equal(result.getNextSync(), null);
  result.resetIterator();
  assert.deepStrictEqual(result.getNextSync(), all[0]);
  assert.deepStrictEqual(result.getAllSync(), all);
  result.resetIterator();
  const rows = [];
  await new Promise((done, failed) => result.each((row) => rows.push(row), done, failed));
  assert.deepStrictEqual(rows, all);
  assert.deepStrictEqual(await new Promise((done, failed) => result.all(done, failed)), all);
  result.close();
  result.close();
  assert.equal(result.isClosed, true);
  await fails(() => result.getNext(), "Request.Invalid", /Query result is closed/);
  const wrong = await connection.prepare("MATCH (p:Person RETURN p");
  assert.equal(wrong.isSuccess(), false);
  assert.match(wrong.getErrorMessage(), /RETURN/);
  await fails(connection.execute(wrong, {}), "SyntaxError.UnexpectedSyntax", /RETURN/);
  assert.equal(connection.prepareSync("RETURN").isSuccess(), false);
  assert.equal(typeof graven.Database.getVersion(), "string");
  assert.equal(graven.Database.getStorageVersion(), graven.STORAGE_VERSION);
  connection.setMaxNumThreadForExec(2);
  await connection.close();
  await fails(connection.query("RETURN 1"), "Request.Invalid", /Connection is closed/);
  assert.equal(new graven.Connection(db, 4).querySync("RETURN 1 AS x").getNextSync().x, 1);
  const positional = new graven.Database("", 1 << 24, true, false, 1 << 30, true, -1);
  await positional.init();
  assert.equal(positional.memory, 1 << 24);
  await positional.close();
});

test("several statements give several results", async (t) => {
  const { connection } = opened(t);
  const text = "CREATE (:P {a: ';'});\n// a; b\nMATCH (p:P) RETURN p.a AS a; RETURN 2 AS two;";
  const [made, read, two] = await connection.query(text);
  assert.deepStrictEqual(await made.getAll(), []);
  assert.equal(made.getSummary().counters.nodes_created, 1);
  assert.deepStrictEqual(read.getAllSync(), [{ a: ";" }]);
  assert.deepStrictEqual(await two.getAll(), [{ two: 2 }]);
  const error = await fails(connection.query("RETURN 1;\n  RETURN x; CREATE (:Q)"), "SyntaxError.UndefinedVariable");
  assert.deepStrictEqual([error.line, error.column], [2, 10]);
  assert.deepStrictEqual(connection.querySync("MATCH (q:Q) RETURN q").getAllSync(), []);
});

test("rows come while the statement runs", async (t) => {
  const { db, connection } = opened(t, { memory: "16MiB" });
  let seen = 0;
  const result = await connection.query(numbers(1_000_000_000_000));
  for await (const row of result) {
    seen += 1;
    assert.equal(row.x, seen);
    if (seen === 5000) {
      break;
    }
  }
  assert.equal(result.isClosed, true);
  // A loop that was not left early leaves the result open.
  const short = await connection.query(numbers(3));
  let sum = 0;
  for await (const { x } of short) {
    sum += x;
  }
  short.resetIterator();
  for (const { x } of short) {
    sum += x;
  }
  assert.deepStrictEqual([sum, short.isClosed], [12, false]);
  const long = await connection.query(numbers(100_000));
  assert.equal(await long.countRows(), 100_000);
  assert.equal((await long.getAll()).length, 100_000);
  await fails(long.getAll(), "Request.Invalid", /first rows are gone/);
  await fails(() => long.resetIterator(), "Request.Invalid", /10000 rows/);
  // hasNext knows without waiting, also where one batch ends and the next begins.
  const slowly = await connection.query(numbers(5000));
  for (seen = 0; slowly.hasNext(); seen++) {
    assert.equal((await slowly.getNext()).x, seen + 1);
  }
  assert.equal(seen, 5000);
  // An error behind rows comes behind them.
  const broken = await connection.query("UNWIND range(1, 10000) AS x RETURN 1 / (9000 - x) AS y");
  await fails(async () => {
    for (seen = 0; seen < 9000; seen++) {
      await broken.getNext();
    }
  }, "ArithmeticError.InvalidValue");
  assert.equal(db.isClosed, false);
});

test("results that were read hold no memory, however many there are", async (t) => {
  const { connection } = opened(t, { memory: "4MiB" });
  const all = [];
  for (let round = 0; round < 1500; round++) {
    const statement = "UNWIND range(1, 1) AS x RETURN x, $round AS round";
    const one = await connection.query(statement, { round });
    assert.equal((await one.getNext()).round, round);
    const two = connection.querySync(statement, { round });
    assert.equal(two.getNextSync().round, round);
    all.push(one, two);
  }
  assert.equal(all[0].getSummary().rows, 1);
  assert.equal(all[0].isClosed, false);
});

test("the loop of events turns meanwhile", async (t) => {
  const { connection } = opened(t);
  connection.setQueryTimeout(400);
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 5);
  const error = await fails(connection.query(ENDLESS), "Statement.TimedOut");
  assert.equal(error.retryable, true);
  clearInterval(timer);
  assert.ok(ticks > 10, `${ticks} ticks`);
  await fails(() => connection.setQueryTimeout(0), "Request.Invalid");
  const limited = new graven.Connection(new graven.Database("", { timeout: 50 }));
  await fails(limited.query(ENDLESS), "Statement.TimedOut");
  await fails(() => limited.querySync(ENDLESS), "Statement.TimedOut");
});

test("a statement is interrupted, others of other connections are not", async (t) => {
  const { db, connection } = opened(t);
  const other = new graven.Connection(db);
  const running = connection.query(ENDLESS);
  running.catch(() => {});
  await pause(100);
  assert.deepStrictEqual(await (await other.query("RETURN 1 AS x")).getAll(), [{ x: 1 }]);
  connection.interrupt();
  await fails(running, "Statement.Cancelled");
  assert.deepStrictEqual(await (await connection.query("RETURN 1 AS x")).getAll(), [{ x: 1 }]);
});

test("more statements at once than there are threads", async (t) => {
  const { db } = opened(t);
  const work = Array.from({ length: 200 }, async (_, at) => {
    const connection = new graven.Connection(db);
    await connection.query("CREATE (:N {at: $at})", { at });
    const result = await connection.query("MATCH (n:N {at: $at}) RETURN n.at AS at", { at });
    return (await result.getAll())[0].at;
  });
  // Files are read by Node's own threads, which stay free.
  const read = fs.promises.readFile(__filename);
  assert.deepStrictEqual(await Promise.all(work), Array.from({ length: 200 }, (_, at) => at));
  await read;
  const counted = new graven.Connection(db).querySync("MATCH (n:N) RETURN count(n) AS n");
  assert.deepStrictEqual(counted.getAllSync(), [{ n: 200 }]);
});

test("transactions", async (t) => {
  const { db, connection } = opened(t);
  const count = () => connection.querySync("MATCH (n:T) RETURN count(n) AS n").getNextSync().n;
  const first = await connection.begin({ isolation: "serializable", durability: "relaxed", relaxedMs: 5 });
  await first.query("CREATE (:T {x: $x})", { x: 1 });
  assert.equal(count(), 0);
  assert.deepStrictEqual(first.querySync("MATCH (n:T) RETURN n.x AS x").getAllSync(), [{ x: 1 }]);
  await first.commit();
  assert.deepStrictEqual([count(), first.hasEnded], [1, true]);
  await fails(first.commit(), "Request.Invalid", /has ended/);
  await fails(first.query("RETURN 1"), "Request.Invalid", /has ended/);
  const second = connection.beginSync();
  second.querySync("CREATE (:T)");
  const rows = await second.stream(numbers(1_000_000_000));
  assert.equal((await rows.getNext()).x, 1);
  rows.close();
  second.rollbackSync();
  assert.equal(count(), 1);
  assert.equal(await connection.transaction(async (tx) => {
    await tx.query("CREATE (:T)");
    return 7;
  }), 7);
  assert.equal(count(), 2);
  await assert.rejects(
    connection.transaction(async (tx) => {
      await tx.query("CREATE (:T)");
      throw new RangeError("no");
    }),
    RangeError,
  );
  assert.equal(count(), 2);
  // Two change the same: the later commit is refused, and may be tried again.
  const [a, b] = [connection.beginSync(), new graven.Connection(db).beginSync()];
  a.querySync("MATCH (n:T {x: 1}) SET n.x = 2");
  await fails(async () => {
    b.querySync("MATCH (n:T {x: 1}) SET n.x = 3");
    a.commitSync();
    b.commitSync();
  }, "Transaction.Conflict").then((error) => assert.equal(error.retryable, true));
  if (!a.hasEnded) {
    a.rollbackSync();
  }
  await fails(connection.begin({ timeout: 5 }), "Request.Invalid", /no setting `timeout` of a transaction/);
  await fails(connection.begin({ relaxedMs: 5, durability: "full" }), "Request.Invalid", /relaxedMs/);
  await fails(connection.begin({ durability: "fast" }), "Request.Invalid", /fast/);
});

test("closing waits for statements, ends results, and frees the file", async (t) => {
  const file = path.join(folder(t), "closed.graven");
  const options = { memory: "16MiB", attach: false };
  const db = new graven.Database(file, options);
  const connection = new graven.Connection(db);
  await connection.query("UNWIND range(1, 30000) AS x CREATE (:N {x: x})");
  const open = await connection.query("MATCH (n:N) RETURN n.x");
  const transaction = await connection.begin();
  await transaction.query("CREATE (:N {x: 0})");
  const running = connection.query("MATCH (n:N) WHERE n.x % 7 = 3 SET n.y = n.x");
  const stopped = connection.prepare("RETURN 1");
  await db.init();
  await pause(0);
  const closed = db.close();
  await fails(connection.query("RETURN 1"), "Database.Closed");
  await Promise.all([running, stopped, closed, db.close()]);
  await fails(() => new graven.Connection(db).query("RETURN 1"), "Database.Closed");
  await fails(open.getAll(), "Request.Invalid", /closed/);
  await fails(transaction.commit(), "Database.Closed");
  assert.equal(fs.existsSync(`${file}-wal`), false);
  // Nothing of it is open: the file can be opened again, by itself alone.
  const again = new graven.Database(file, options);
  const counted = new graven.Connection(again).querySync("MATCH (n:N) RETURN count(n) AS n, count(n.y) AS y");
  assert.deepStrictEqual(counted.getAllSync(), [{ n: 30000, y: 4286 }]);
  again.closeSync();
  again.closeSync();
  await new graven.Database(file).close();
});

test("a result is closed while it reads", async (t) => {
  const { connection } = opened(t);
  const result = await connection.query(
    "UNWIND range(1, 1000000000) AS x WITH x WHERE x < 3000 OR x > 900000000 RETURN x",
  );
  const reading = result.getAll();
  reading.catch(() => {});
  await pause(50);
  const begun = Date.now();
  result.close();
  assert.ok(Date.now() - begun < 1000, "the loop of events waited");
  connection.interrupt();
  await reading.catch((error) => assert.match(String(error), /clos|Cancel/i));
});

test("settings that are none, and files that are none", async (t) => {
  const own = folder(t);
  const at = (name) => path.join(own, name);
  await fails(() => new graven.Database(at("a"), { memroy: "1MiB" }), "Request.Invalid", /`memroy`.*memory, threads/);
  await fails(() => new graven.Database(7), "Request.Invalid", /path must be a string/);
  await fails(() => new graven.Database(at("a"), -1), "Request.Invalid", /positive/);
  await fails(() => new graven.Connection({}), "Request.Invalid", /valid Database/);
  await fails(new graven.Database(at("a"), { memory: "much" }).init(), "Config.Invalid", /much/);
  await fails(new graven.Database(at("a"), { policy: "best" }).init(), "Config.Invalid", /best/);
  await fails(new graven.Database(at("a"), { io: "fast" }).init(), "Config.Invalid", /fast/);
  await fails(() => new graven.Database(at("a"), { readOnly: {} }), "Request.Invalid", /readOnly/);
  const missing = new graven.Database(at("none.graven"), { create: false });
  await fails(missing.init(), "Database.NotFound", /none\.graven/);
  // It is tried again: now there is one.
  const made = new graven.Database(at("none.graven"));
  await made.init();
  await made.close();
  await missing.init();
  await missing.close();
  fs.writeFileSync(at("text"), "no database ".repeat(1000));
  await fails(new graven.Database(at("text")).init(), "Database.NotADatabase", /text/);
  await fails(() => new graven.Database(own).initSync(), "Database.NotADatabase");
  await fails(new graven.Database("", { readOnly: true }).init(), "Request.Invalid", /without a name/);
  const readOnly = new graven.Database(at("none.graven"), { readOnly: true });
  const connection = new graven.Connection(readOnly);
  await fails(connection.query("CREATE (:N)"), "Database.ReadOnly");
  await fails(connection.query(7), "Request.Invalid", /statement must be a string/);
  await fails(connection.query("RETURN \ud800"), "Request.Invalid", /surrogates/);
  await fails(connection.prepare("RETURN '\ud800'"), "Request.Invalid", /surrogates/);
  await fails(new graven.Database("\ud800.graven").init(), "Request.Invalid", /the path .*surrogates/);
  await fails(connection.query("RETURN $x"), "ParameterMissing.MissingParameter", /x/);
  await fails(connection.prepare(7), "Request.Invalid");
  await fails(connection.execute({}, {}), "Request.Invalid", /PreparedStatement/);
  const syntax = await fails(connection.query("MATCH (n) RETRN n"), "SyntaxError.UnexpectedSyntax");
  assert.deepStrictEqual([syntax.line, syntax.column, syntax.retryable], [1, 11, false]);
  assert.match(syntax.stack, /api\.test\.js/);
  await readOnly.close();
});

test("memory, policy, checkpoint and backup", async (t) => {
  const { db, connection, file } = opened(t, { memory: 16 << 20 });
  await connection.query("UNWIND range(1, 1000) AS x CREATE (:N {x: x})");
  assert.equal(db.memory, 16 << 20);
  await db.setMemory("32MiB");
  await db.setPolicy("lru");
  assert.equal(db.memory, 32 << 20);
  await fails(db.setPolicy("nothing"), "Config.Invalid");
  await fails(db.setMemory("much"), "Config.Invalid");
  assert.equal(await db.checkpoint(), true);
  assert.equal(await db.checkpoint(), false);
  const copy = path.join(path.dirname(file), "copy.graven");
  assert.ok((await db.backup(copy)) > 0);
  const copied = new graven.Database(copy, { readOnly: true });
  const counted = new graven.Connection(copied).querySync("MATCH (n:N) RETURN count(n) AS n");
  assert.equal(counted.getNextSync().n, 1000);
  await copied.close();
  assert.deepStrictEqual([db.path, db.attachedTo], [fs.realpathSync(file), null]);
  const explained = await connection.query("EXPLAIN MATCH (n:N) RETURN n.x");
  assert.match(explained.getSummary().plan, /N/);
  const noticed = await connection.query("MATCH (n:Nothing) RETURN n");
  assert.equal(noticed.getSummary().notices.length, 1);
});

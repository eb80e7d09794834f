"use strict";

// Goal: databases that a program does not close are closed; processes and workers that end, by
// themselves or by force, leave databases whole.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { Worker } = require("node:worker_threads");
const graven = require("graven");
const { folder, program, pause, ENDLESS } = require("./scratch.js");

const BEGIN = `
  const { Database, Connection } = require("graven");
  const file = process.argv[1];
  let db = new Database(file, { attach: false });
  let connection = new Connection(db);
  connection.querySync("CREATE (:N)");
`;

/** Expects that the file was closed cleanly, and has so many nodes. */
function isClosed(file, nodes) {
  assert.equal(fs.existsSync(`${file}-wal`), false, "there is a log: the file was not closed");
  holds(file, nodes);
}

function holds(file, nodes) {
  const db = new graven.Database(file, { attach: false, create: false });
  const result = new graven.Connection(db).querySync("MATCH (n:N) RETURN count(n) AS n");
  assert.equal(result.getNextSync().n, nodes);
  db.closeSync();
}

/** Runs a program on a new file; gives the file and how it ended. */
async function run(t, text, flags) {
  const file = path.join(folder(t), "life.graven");
  const ended = await program(BEGIN + text, [file], flags).ended;
  return { file, ...ended };
}

test("a database that is forgotten is closed when it is collected", async (t) => {
  const { file, code, stdout, stderr } = await run(
    t,
    `
    let open = connection.querySync("UNWIND range(1, 1000000) AS x RETURN x");
    let transaction = connection.beginSync();
    (async () => {
      gc();
      await new Promise((done) => setTimeout(done, 50));
      // A result and a transaction hold their database.
      console.log(require("node:fs").existsSync(file + "-wal"), open.getNextSync().x);
      open = transaction = db = connection = null;
    })().then(async () => {
      for (let round = 0; round < 100; round++) {
        gc();
        await new Promise((done) => setTimeout(done, 20));
        if (!require("node:fs").existsSync(file + "-wal")) break;
      }
      const again = new Database(file, { attach: false });
      await again.init();
      console.log("closed");
      process.kill(process.pid, "SIGKILL");
    });
    `,
    ["--expose-gc"],
  );
  assert.match(stdout, /^true 1\n/, stderr + code);
  assert.match(stdout, /closed/, stderr + code);
  holds(file, 1);
});

test("a process that ends closes its databases", async (t) => {
  for (const text of [
    "",
    "process.exit(0)",
    "connection.query('MATCH (n) RETURN n').then((result) => (globalThis.result = result))",
    "connection.begin().then((it) => it.querySync('CREATE (:N)'))",
    "setTimeout(() => { throw new Error('not caught'); }, 10)",
  ]) {
    const { file, signal, stderr } = await run(t, text);
    assert.equal(signal, null, `${text}: ${stderr}`);
    isClosed(file, 1);
  }
});

test("process.exit stops statements that run", async (t) => {
  const begun = Date.now();
  const { file, code, stderr } = await run(
    t,
    `connection.query(${JSON.stringify(ENDLESS)}).catch(() => {});
    setTimeout(() => process.exit(3), 200);`,
  );
  assert.equal(code, 3, stderr);
  assert.ok(Date.now() - begun < 20000);
  isClosed(file, 1);
});

test("a promise that is pending keeps the process", async (t) => {
  const { code, stdout, stderr } = await run(
    t,
    "connection.query('UNWIND range(1, 2000000) AS x RETURN max(x) AS n')" +
      ".then(async (result) => console.log((await result.getNext()).n))",
  );
  assert.deepEqual([code, stdout], [0, "2000000\n"], stderr);
});

test("a process that is killed loses nothing that was committed", async (t) => {
  const file = path.join(folder(t), "killed.graven");
  const { child, ended } = program(
    `${BEGIN}
    (async () => {
      for (let n = 2; ; n++) {
        await connection.query("CREATE (:N)");
        console.log(n);
      }
    })();`,
    [file],
  );
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  while (printed.split("\n").length < 20) {
    await pause(20);
  }
  child.kill("SIGKILL");
  const { stdout } = await ended;
  const told = Math.max(...stdout.trim().split("\n").map(Number));
  const db = new graven.Database(file, { create: false });
  const found = new graven.Connection(db).querySync("MATCH (n:N) RETURN count(n) AS n").getNextSync().n;
  await db.close();
  // The last commit may be durable and not told.
  assert.ok(found === told || found === told + 1, `${found} found, ${told} told`);
});

test("closing at once waits for a close that has begun", async (t) => {
  const file = path.join(folder(t), "both.graven");
  const db = new graven.Database(file, { attach: false });
  const connection = new graven.Connection(db);
  const { n } = await (await connection.query("CREATE (:N) RETURN 1 AS n")).getNext();
  const running = connection.query("UNWIND range(1, 3000000) AS x WITH sum(x) AS n RETURN n");
  const closing = db.close();
  // A turn of the loop later the other close is at it.
  await pause(1);
  db.closeSync();
  isClosed(file, n);
  await Promise.allSettled([running, closing]);
});

test("two processes have one file", async (t) => {
  const file = path.join(folder(t), "shared.graven");
  const db = new graven.Database(file);
  await new graven.Connection(db).query("CREATE (:N)");
  const text = `
    const { Database, Connection } = require("graven");
    const db = new Database(process.argv[1]);
    const connection = new Connection(db);
    connection.query("CREATE (:N)").then(() => connection.query("MATCH (n:N) RETURN n")).then(async (result) => {
      console.log((await result.getAll()).length, db.attachedTo);
      await db.close();
    });`;
  const { stdout, stderr } = await program(text, [file]).ended;
  assert.equal(stdout, `2 ${process.pid}\n`, stderr);
  await db.close();
  isClosed(file, 2);
});

test("workers have databases of their own, and may be stopped at any time", async (t) => {
  const own = folder(t);
  const text = `
    const { parentPort, workerData } = require("node:worker_threads");
    const { Database, Connection } = require("graven");
    const db = new Database(workerData.file, { attach: false });
    const connection = new Connection(db);
    connection.query("CREATE (:N)").then(() => {
      parentPort.postMessage("ready");
      return connection.query(workerData.endless);
    }).catch((error) => parentPort.postMessage(error.code));`;
  const workers = [1, 2, 3].map(async (at) => {
    const file = path.join(own, `${at}.graven`);
    const worker = new Worker(text, { eval: true, workerData: { file, endless: ENDLESS } });
    const said = await new Promise((done, failed) => worker.once("message", done).once("error", failed));
    assert.equal(said, "ready");
    await pause(at * 20);
    await worker.terminate();
    return file;
  });
  for (const file of await Promise.all(workers)) {
    isClosed(file, 1);
  }
  const db = new graven.Database();
  assert.equal(new graven.Connection(db).querySync("RETURN 1 AS x").getNextSync().x, 1);
  await db.close();
});

test("a database without a name leaves nothing", async () => {
  const db = new graven.Database();
  await db.init();
  const place = path.dirname(db.path);
  assert.equal(fs.existsSync(place), true);
  await db.close();
  assert.equal(fs.existsSync(place), false);
  const text = `
    const { Database, Connection } = require("graven");
    const db = new Database(":memory:");
    new Connection(db).querySync("CREATE (:N)");
    console.log(require("node:path").dirname(db.path));`;
  const { stdout } = await program(text).ended;
  assert.match(stdout, /graven-/);
  assert.equal(fs.existsSync(stdout.trim()), false);
});

test("without its compiled part the package says what to do", async (t) => {
  const copy = path.join(folder(t), "graven");
  const installed = path.dirname(require.resolve("graven"));
  fs.cpSync(installed, copy, { recursive: true, filter: (name) => !name.endsWith(".node") });
  const { stderr } = await program(`require(${JSON.stringify(copy)})`).ended;
  assert.match(stderr, /graven\.node cannot be loaded on this machine.*cargo xtask release/s);
});

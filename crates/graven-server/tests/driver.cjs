// What a program with the official driver for JavaScript sees; GRAVEN_BOLT is the address of the server. With GRAVEN_WEBSOCKET the
// driver is the one for browsers, which speaks Bolt inside a WebSocket.
"use strict";
const assert = require("node:assert");
const test = require("node:test");
const path = require("node:path");

const folder = path.dirname(require.resolve("neo4j-driver/package.json", { paths: [process.cwd()] }));
const inBrowser = Boolean(process.env.GRAVEN_WEBSOCKET);
if (inBrowser) {
  // What the driver for browsers looks at.
  try {
    // Node from version 22 on has one of its own.
    globalThis.WebSocket ??= require(require.resolve("ws", { paths: [process.cwd()] })).WebSocket;
  } catch {
    console.error("SKIPPED: this Node has no WebSocket and no package ws");
    process.exit(0);
  }
  globalThis.window = { location: { protocol: "http:" }, navigator: {}, WebSocket, addEventListener() {} };
}
const neo4j = require(inBrowser ? path.join(folder, "lib/browser/neo4j-web.js") : folder);
const address = process.env.GRAVEN_BOLT;

async function connected(scheme, work) {
  const driver = neo4j.driver(`${scheme}://${address}`, neo4j.auth.basic("any", "at all"));
  try {
    await work(driver);
  } finally {
    await driver.close();
  }
}

test("all schemes find the server", async () => {
  for (const scheme of inBrowser ? ["bolt", "neo4j"] : ["bolt", "neo4j", "bolt+ssc", "neo4j+ssc"]) {
    await connected(scheme, async (driver) => {
      await driver.verifyConnectivity();
      const info = await driver.getServerInfo();
      assert.ok(info.agent.startsWith("Neo4j/"));
      assert.ok(Number(info.protocolVersion.major ?? info.protocolVersion) >= 5);
    });
  }
});

test("values come back", () =>
  connected("bolt", async (driver) => {
    const values = [
      null, true, 1.5, "Gr\u00fc\u00dfe", neo4j.int("9223372036854775807"), [neo4j.int(1), "a"],
      new neo4j.types.Date(2024, 2, 29), new neo4j.types.Duration(1, -2, 3, 4),
      new neo4j.types.DateTime(2024, 7, 1, 12, 0, 0, 5, 7200), new neo4j.types.Point(neo4j.int(4326), 1, 2),
    ];
    for (const value of values) {
      const { records } = await driver.executeQuery("RETURN $value AS value", { value });
      assert.deepStrictEqual(String(records[0].get("value")), String(value));
    }
    if (neo4j.vector) {
      for (const numbers of [Float32Array.of(0.5, -1.5), Float64Array.of(0.1), Int8Array.of(-128, 127), BigInt64Array.of(-(2n ** 63n))]) {
        const value = neo4j.vector(numbers);
        const { records } = await driver.executeQuery("CREATE (n:V {v: $value}) RETURN n.v AS value, $value AS again", { value });
        for (const key of ["value", "again"]) {
          assert.deepStrictEqual(records[0].get(key).asTypedArray(), numbers);
        }
      }
    } else {
      const { records } = await driver.executeQuery("RETURN vector([1, 2], 2, FLOAT32) AS value");
      assert.strictEqual(records[0].get("value").originalType, "VECTOR<FLOAT32 NOT NULL>(2) NOT NULL");
    }
    const { records } = await driver.executeQuery("CREATE p = (:P {x: 1})-[:R]->(:Q) RETURN p");
    assert.strictEqual(records[0].get("p").segments[0].relationship.type, "R");
  }));

test("rows of a transaction leave while it runs, and a failure has its code", () =>
  connected("bolt", async (driver) => {
    const session = driver.session({ fetchSize: 10 });
    const transaction = await session.beginTransaction();
    for await (const row of transaction.run("UNWIND range(1, 1000000000000) AS x RETURN x")) {
      assert.strictEqual(row.get("x").toNumber(), 1);
      break;
    }
    await transaction.rollback();
    await assert.rejects(session.run("RETURN nobody"), (error) => {
      assert.strictEqual(error.code, "Neo.ClientError.Statement.SyntaxError");
      assert.strictEqual(error.gqlStatus, "42001");
      return true;
    });
    const noticed = await session.run("MATCH (n:Nowhere) RETURN n");
    assert.ok(noticed.summary.gqlStatusObjects.some((status) => status.gqlStatus === "01N50"));
    const planned = await session.run("EXPLAIN MATCH (n:P) RETURN n.x ORDER BY n.x");
    assert.ok(planned.summary.plan.children.length > 0);
    await session.close();
  }));

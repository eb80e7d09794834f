"use strict";

// Goal: values come as the guide says, and go back as what they were.

const assert = require("node:assert/strict");
const { test } = require("node:test");
const graven = require("graven");
const { opened, fails } = require("./scratch.js");

/** The value of an expression. */
async function value(connection, expression, params) {
  const result = await connection.query(`RETURN ${expression} AS value`, params);
  return (await result.getAll())[0].value;
}

/** Whether the value that an expression gives is, as a parameter, what it was. */
async function comesBack(connection, expression, type) {
  const it = await value(connection, expression);
  const test = `$it = ${expression} AND valueType($it) = valueType(${expression})`;
  assert.equal(await value(connection, test, { it }), true, `${expression}: ${type}`);
  return it;
}

test("numbers, texts, bytes, lists and maps", async (t) => {
  const { connection } = opened(t);
  for (const it of [
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e300,
    Infinity,
    2 ** 53 - 1,
    -(2 ** 53) + 1,
    2n ** 53n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    "",
    "\u{1F600} a'\"\\\n\0",
    [],
    [1, [null, "x"], {}],
    {},
    { a: 1, b: { c: [1.5] }, "": null },
    Buffer.from([0, 255]),
    Buffer.alloc(0),
  ]) {
    assert.deepStrictEqual(await value(connection, "$it", { it }), it);
  }
  assert.ok(Number.isNaN(await value(connection, "$it", { it: NaN })));
  assert.ok(Object.is(await value(connection, "$it", { it: -0 }), -0));
  assert.deepStrictEqual(await value(connection, "$it", { it: undefined }), null);
  assert.deepStrictEqual(await value(connection, "$it", { it: 2n ** 53n - 1n }), 2 ** 53 - 1);
  // What is whole is an integer, unless the program says otherwise.
  assert.match(await value(connection, "valueType($it)", { it: 3 }), /^INTEGER/);
  assert.match(await value(connection, "valueType($it)", { it: 1e20 }), /^FLOAT/);
  assert.match(await value(connection, "valueType($it)", { it: new graven.Float(3) }), /^FLOAT/);
  assert.equal(await value(connection, "$a + $b", { $a: 1, b: 2 }), 3);
});

test("classes of JavaScript as parameters", async (t) => {
  const { connection } = opened(t);
  const pairs = [
    [new Map([["a", 1]]), { a: 1 }],
    [new Set([1, "x"]), [1, "x"]],
    [new Int16Array([1, -2]), [1, -2]],
    [new BigInt64Array([1n, 2n ** 60n]), [1, 2n ** 60n]],
    [new Float32Array([1, 0.5]), [1, 0.5]],
    [new Uint8Array([1, 2]), Buffer.from([1, 2])],
    [new Uint8Array([9, 1, 2, 9]).subarray(1, 3), Buffer.from([1, 2])],
    [new Uint8Array([1, 2]).buffer, Buffer.from([1, 2])],
    [new Uint8Array(new SharedArrayBuffer(2)).fill(7), Buffer.from([7, 7])],
    [new SharedArrayBuffer(2), Buffer.from([0, 0])],
    [new DataView(new Uint8Array([9, 1, 2]).buffer, 1), Buffer.from([1, 2])],
    [Object.create(null, { a: { value: 1, enumerable: true } }), { a: 1 }],
    [new String("x"), "x"],
    [Object(7n), 7],
  ];
  for (const [given, came] of pairs) {
    assert.deepStrictEqual(await value(connection, "$it", { it: given }), came);
  }
  const floats = await value(connection, "[x IN $it | valueType(x)]", { it: new Float64Array([1]) });
  assert.match(floats[0], /^FLOAT/);
  // A program that runs in a realm of its own, as tests under Jest do.
  const other = require("node:vm").runInNewContext(
    "({ a: [1], d: new Date(0), m: new Map([['k', new Uint8Array([1])]]) })",
  );
  const came = await value(connection, "$it", { it: other });
  assert.deepStrictEqual(came.m, { k: Buffer.from([1]) });
  assert.equal(Number(came.d), 0);
  const endless = [];
  endless.push(endless);
  class Person {}
  for (const [it, message] of [
    [2n ** 63n, /parameter `it`: a BigInt does not fit/],
    [endless, /nested in itself/],
    [new Person(), /Person cannot be a parameter/],
    [Promise.resolve(1), /await it/],
    [() => 1, /function cannot be a parameter/],
    [Symbol("x"), /symbol cannot be a parameter/],
    ["\ud800", /pair of surrogates/],
    [new Map([[1, 2]]), /keys of maps are text/],
    [new Date(NaN), /invalid Date/],
    [new graven.Duration(1.5), /`months` is no whole number/],
    [new graven.Point(1, 2, 3), /coordinate system/],
    [new graven.Point(7203, 2, 3, 4), /two coordinates/],
    [new graven.Temporal("date", "2020-02-30"), /2020-02-30|day/],
    [new graven.Temporal("day", "x"), /`day` is no type/],
    [new graven.Moment("date", 1), /date with a time of day/],
    [new graven.Moment("datetime", 1, 0, "Nowhere/At_All"), /Nowhere/],
  ]) {
    await fails(value(connection, "$it", { it }), "Request.Invalid", message);
  }
  // What the program's own code throws comes as it is.
  const trap = { get a() { throw new RangeError("no"); } };
  await assert.rejects(value(connection, "$it", { it: trap }), RangeError);
  assert.equal(await value(connection, "1"), 1);
  await fails(value(connection, "1", [1]), "Request.Invalid", /params must be a plain object/);
  await fails(value(connection, "1", "x"), "Request.Invalid", /params must be a plain object/);
  await fails(value(connection, "1", { a: 1, $a: 2 }), "Request.Invalid", /given twice/);
});

test("integers are BigInts where that is asked for", async (t) => {
  const { connection, db } = opened(t, { integers: "bigint" });
  assert.deepStrictEqual(await value(connection, "[1, 1.5]"), [1n, 1.5]);
  const other = new graven.Connection(db, { integers: "auto" });
  assert.deepStrictEqual(await value(other, "[1, 1.5]"), [1, 1.5]);
  await fails(() => new graven.Connection(db, { integers: "number" }), "Request.Invalid", /"bigint"/);
});

test("dates, times, durations and points", async (t) => {
  const { connection } = opened(t);
  const moments = [
    "date('2020-02-29')",
    "date('-0044-03-15')",
    "date('+12345-01-01')",
    "localdatetime('2020-01-02T03:04:05')",
    "localdatetime('1960-01-02T03:04:05.123456789')",
    "datetime('2020-01-02T03:04:05.5Z')",
    "datetime('2020-01-02T03:04:05.000000001+02:00')",
    "datetime('2020-07-02T03:04:05-03:30')",
    "datetime('2020-07-02T03:04[Europe/Berlin]')",
    "datetime('2020-10-25T02:30+01:00[Europe/Berlin]')",
  ];
  for (const expression of moments) {
    const it = await comesBack(connection, expression, "moment");
    assert.ok(it instanceof graven.Moment && it instanceof Date, expression);
    assert.equal(`${it}`, await value(connection, `toString(${expression})`));
    assert.equal(JSON.stringify(it), `"${it}"`);
  }
  const day = await value(connection, "date('2020-02-29')");
  assert.equal(day.getTime(), Date.UTC(2020, 1, 29));
  assert.equal(day.type, "date");
  const now = new Date(1234567890123);
  assert.equal(await value(connection, "$it.epochMillis", { it: now }), 1234567890123);
  const texts = [
    "localtime('03:04:05.123456789')",
    "time('03:04:05+02:00')",
    "date('+999999999-12-31')",
    "localdatetime('-999999999-01-01T00:00')",
  ];
  for (const expression of texts) {
    const it = await comesBack(connection, expression, "text");
    assert.ok(it instanceof graven.Temporal, expression);
    assert.equal(it.text, await value(connection, `toString(${expression})`));
  }
  const span = await comesBack(connection, "duration('P1Y2M3DT4.5S')", "duration");
  assert.deepStrictEqual({ ...span }, { months: 14, days: 3, seconds: 4, nanoseconds: 5e8 });
  assert.equal(+span, (14 * 30 + 3) * 86400000 + 4500);
  assert.equal(await value(connection, "duration($it) = duration('P1Y2M3DT4.5S')", { it: `${span}` }), true);
  const back = await comesBack(connection, "duration('PT-0.25S')", "duration");
  assert.equal(`${back}`, "P0M0DT-0.25S");
  await comesBack(connection, "duration({seconds: 9223372036854775807})", "duration");
  const point = await comesBack(connection, "point({x: 1, y: 2})", "point");
  assert.deepStrictEqual(point, new graven.Point(7203, 1, 2));
  await comesBack(connection, "point({longitude: 1, latitude: 2, height: 3})", "point");
});

test("nodes, relationships and paths", async (t) => {
  const { connection } = opened(t);
  await connection.query(
    "CREATE (:A:B {name: 'x', `__proto__`: [1], _id: 7})-[:KNOWS {since: 2020}]->(:C)",
  );
  const result = await connection.query("MATCH p = (a:A)-[k]->(c) RETURN a, k, c, p");
  const [{ a, k, c, p }] = await result.getAll();
  assert.ok(a instanceof graven.Node && k instanceof graven.Relationship);
  assert.equal(a._label, "A:B");
  assert.deepStrictEqual(a._labels, ["A", "B"]);
  assert.equal(a.name, "x");
  assert.deepStrictEqual(a._id, { offset: a._id.offset, table: 0 });
  assert.ok(Object.hasOwn(a, "__proto__"));
  assert.equal(a._properties._id, 7);
  assert.deepStrictEqual([k._src, k._dst, k._label, k.since], [a._id, c._id, "KNOWS", 2020]);
  assert.deepStrictEqual([p._nodes.length, p._rels.length], [2, 1]);
  assert.deepStrictEqual(p._nodes[0], a);
  const found = await connection.query("MATCH (n) WHERE id(n) = $id RETURN n._id AS own", { id: a._id.offset });
  assert.deepStrictEqual(await found.getAll(), [{ own: 7 }]);
  await fails(value(connection, "$a", { a }), "Request.Invalid", /_id.offset/);
  const wild = await value(connection, "{`__proto__`: {x: 1}}");
  assert.deepStrictEqual([Object.keys(wild), wild.x], [["__proto__"], undefined]);
  const column = await (await connection.query("RETURN 1 AS `__proto__`, 2 AS `1`")).getAll();
  assert.deepStrictEqual(Object.keys(column[0]).sort(), ["1", "__proto__"]);
});

test("any nest of values comes back", async (t) => {
  const { connection } = opened(t);
  // SplitMix-like steps of a linear generator; the seed is 1.
  let state = 1;
  const random = (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
  const leaves = [
    () => null,
    () => random(2) === 0,
    () => random(2147483647) * (random(2) ? 1 : -1) * random(100000),
    () => BigInt(random(2147483647)) * 2n ** 31n + 2n ** 53n,
    () => random(1000) + 0.5,
    () => String.fromCodePoint(random(0xd000), 0x10000 + random(0x1000)),
    () => Buffer.from([random(256)]),
  ];
  const make = (depth) => {
    const kind = random(depth > 0 ? 9 : 7);
    if (kind === 7) {
      return Array.from({ length: random(4) }, () => make(depth - 1));
    }
    if (kind === 8) {
      const keys = Array.from({ length: random(4) }, () => `k${random(1000)}`).sort();
      return Object.fromEntries(keys.map((key) => [key, make(depth - 1)]));
    }
    return leaves[kind]();
  };
  for (let round = 0; round < 300; round++) {
    const it = make(4);
    assert.deepStrictEqual(await value(connection, "$it", { it }), it);
  }
});

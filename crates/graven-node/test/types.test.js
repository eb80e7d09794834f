"use strict";

// Goal: index.d.ts declares what there is: every class with every method, getter and constant.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const graven = require("graven");

const declared = fs.readFileSync(path.join(path.dirname(require.resolve("graven")), "index.d.ts"), "utf8");

/** Classes of the declarations: names of their members, static ones as `static name`. */
function classes() {
  const found = new Map();
  for (const [, name, body] of declared.matchAll(/^export class (\w+)[^{]*\{\n(.*?)^\}/gms)) {
    const members = new Set();
    for (const line of body.split("\n")) {
      const member = /^ {2}(static )?(?:readonly )?(\w+|\[Symbol\.\w+\])\??[(:<]/.exec(line);
      if (member && member[2] !== "constructor") {
        members.add((member[1] ?? "") + member[2]);
      }
    }
    found.set(name, members);
  }
  return found;
}

const shown = (key) => (typeof key === "symbol" ? `[${key.description}]` : key);

test("every class has the members that are declared, and no others", () => {
  const found = classes();
  const exported = Object.keys(graven).filter((name) => typeof graven[name] === "function");
  assert.deepStrictEqual([...found.keys()].sort(), exported.sort());
  // What instances have of their own, from the constructor on.
  const instances = {
    GravenError: new graven.GravenError("a", "b"),
    Database: new graven.Database(),
    Node: new graven.Node(1, ["A"], {}),
    Relationship: new graven.Relationship(1, "A", 1, 1, {}),
    Path: new graven.Path([], []),
    Moment: new graven.Moment("date", 0),
    Temporal: new graven.Temporal("date", "x"),
    Duration: new graven.Duration(),
    Point: new graven.Point(7203, 1, 2),
    Float: new graven.Float(1),
  };
  for (const [name, members] of found) {
    const { prototype } = graven[name];
    const real = Reflect.ownKeys(prototype).map(shown).filter((key) => key !== "constructor");
    const statics = Object.getOwnPropertyNames(graven[name]).filter((key) => !["length", "name", "prototype"].includes(key));
    const own = Object.keys(instances[name] ?? {});
    const all = [...real, ...statics.map((key) => `static ${key}`), ...own];
    const hidden = (key) =>
      ["_opened", "_openedSync", "_unlessClosed", "_prepared", "[nodejs.util.inspect.custom]"].includes(key) || /asyncDispose/.test(key);
    const there = new Set(all.filter((key) => !hidden(key)));
    assert.deepStrictEqual([...members].sort(), [...there].sort(), name);
  }
});

test("every export is there for import, too", async () => {
  const module = await import(path.join(path.dirname(require.resolve("graven")), "index.mjs"));
  const names = Object.keys(module).filter((name) => name !== "default");
  assert.deepStrictEqual(names.sort(), Object.keys(graven).sort());
  assert.equal(module.default, graven);
  for (const name of names) {
    const constant = new RegExp(`^export (class|const) ${name}\\b`, "m");
    assert.match(declared, constant);
    assert.match(declared, new RegExp(`^  ${name}: `, "m"), `${name} of the default export`);
  }
});

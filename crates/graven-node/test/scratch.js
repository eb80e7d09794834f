"use strict";

// What the tests share: databases in folders of their own, other processes, errors by their codes.

const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const graven = require("graven");

/** A folder that goes with the test. */
function folder(t) {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), "graven-node-"));
  t.after(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A database with a connection, both closed with the test. */
function opened(t, options, ofConnection) {
  const file = path.join(folder(t), "test.graven");
  const db = new graven.Database(file, { memory: "32MiB", ...options });
  t.after(() => db.close());
  return { db, file, connection: new graven.Connection(db, ofConnection) };
}

/** Expects an error of this code; gives it. */
async function fails(work, code, message = /./) {
  let failed = null;
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    failed = error;
  }
  assert.ok(failed instanceof graven.GravenError, `no error ${code}: ${failed && failed.stack}`);
  assert.equal(failed.code, code, failed.message);
  assert.match(failed.message, message);
  return failed;
}

/** Runs a program in another process; gives what it prints, and how it ends. */
function program(text, args = [], flags = []) {
  const child = spawn(process.execPath, [...flags, "-e", text, "--", ...args]);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data) => (stdout += data));
  child.stderr.on("data", (data) => (stderr += data));
  const ended = new Promise((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
  return { child, ended };
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A statement that never ends, without a row. */
const ENDLESS = "UNWIND range(1, 1000000000000) AS x WITH count(x) AS n RETURN n";

module.exports = { folder, opened, fails, program, pause, ENDLESS };

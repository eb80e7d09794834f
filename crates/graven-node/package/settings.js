"use strict";

// Settings of programs as the names and texts that the compiled part knows.

const { usage } = require("./errors.js");

const DATABASE = {
  memory: "memory",
  threads: "threads",
  policy: "policy",
  io: "io",
  readOnly: "read_only",
  create: "create",
  attach: "attach",
  timeout: "timeout_ms",
  diskCache: "disk_cache",
  diskBudget: "disk_budget",
};

const CONNECTION = {
  isolation: "isolation",
  durability: "durability",
  timeout: "timeout_ms",
};

const TRANSACTION = {
  isolation: "isolation",
  durability: "durability",
};

/** Settings beside those of the compiled part. */
const OWN = ["integers"];

function text(name, value) {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    default:
      throw usage(`the setting \`${name}\` is a text, a number or a boolean, not ${typeof value}`);
  }
}

/** Pairs of names and texts; what is undefined is left out. */
function settings(known, given, what) {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw usage(`settings of a ${what} are an object, such as { ${Object.keys(known)[0]}: ... }`);
  }
  const { relaxedMs, ...rest } = given;
  if (relaxedMs !== undefined) {
    if (!("durability" in known) || (rest.durability ?? "relaxed") !== "relaxed") {
      throw usage("`relaxedMs` goes with the durability `relaxed` of a connection or transaction");
    }
    rest.durability = `relaxed:${text("relaxedMs", relaxedMs)}`;
  }
  const pairs = [];
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined || (OWN.includes(name) && known !== TRANSACTION)) {
      continue;
    }
    if (!Object.hasOwn(known, name)) {
      const names = Object.keys(known).concat(known === TRANSACTION ? [] : OWN);
      throw usage(`there is no setting \`${name}\` of a ${what}: the settings are ${names.join(", ")}`);
    }
    pairs.push([known[name], text(name, value)]);
  }
  return pairs;
}

/** Whether all integers are to be BigInts. */
function bigints(given, otherwise) {
  switch (given) {
    case undefined:
      return otherwise;
    case "auto":
      return false;
    case "bigint":
      return true;
    default:
      throw usage('`integers` is "auto" (a BigInt beyond 2^53) or "bigint" (always)');
  }
}

module.exports = {
  ofDatabase: (given) => settings(DATABASE, given, "database"),
  ofConnection: (given) => settings(CONNECTION, given, "connection"),
  ofTransaction: (given) => settings(TRANSACTION, given, "transaction"),
  bigints,
};

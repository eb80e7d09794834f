"use strict";

// The compiled part of the package.

const path = require("node:path");

const file = path.join(__dirname, "graven.node");

function load() {
  try {
    return require(file);
  } catch (cause) {
    const machine = `${process.platform} ${process.arch}, Node.js ${process.version}`;
    const why = cause.message.split("\n")[0];
    const message =
      `graven: the compiled part ${file} cannot be loaded on this machine (${machine}): ` +
      `${why}. Install the package that was made for it, or make one with ` +
      "`cargo xtask release --only node`.";
    throw new Error(message, { cause });
  }
}

module.exports = load();

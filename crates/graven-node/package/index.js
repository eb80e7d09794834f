"use strict";

// What programs import.

const { Connection } = require("./connection.js");
const { Database } = require("./database.js");
const { GravenError } = require("./errors.js");
const { QueryResult } = require("./result.js");
const { PreparedStatement } = require("./statement.js");
const { Transaction } = require("./transaction.js");
const { Node, Relationship, Path, Moment, Temporal, Duration, Point, Float } = require("./values.js");

module.exports = {
  Database,
  Connection,
  Transaction,
  PreparedStatement,
  QueryResult,
  GravenError,
  Node,
  Relationship,
  Path,
  Moment,
  Temporal,
  Duration,
  Point,
  Float,
  VERSION: Database.getVersion(),
  STORAGE_VERSION: Database.getStorageVersion(),
};

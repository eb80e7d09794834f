"use strict";

// Where statements are run.

const errors = require("./errors.js");
const settings = require("./settings.js");
const { QueryResult } = require("./result.js");
const { PreparedStatement } = require("./statement.js");
const { Transaction } = require("./transaction.js");
const { makers } = require("./values.js");

const isObject = (it) => typeof it === "object" && it !== null;

/** The parameters of a call: programs for Kuzu pass a function for progress in their place. */
function given(params, progress) {
  if (typeof params === "function" && progress === undefined) {
    return undefined;
  }
  if (progress !== undefined && progress !== null && typeof progress !== "function") {
    throw errors.usage("progressCallback must be a function.");
  }
  return params;
}

/** A connection to a database. Statements of one connection may run side by side. */
class Connection {
  #database;
  #settings;
  #bigints;
  #native = null;
  #isClosed = false;

  constructor(database, options = {}) {
    if (!isObject(database) || typeof database._opened !== "function") {
      throw errors.usage("database must be a valid Database object.");
    }
    // Kuzu has a number of threads here; threads are those of the database.
    const own = isObject(options) ? options : {};
    this.#database = database;
    this.#settings = settings.ofConnection(own);
    this.#bigints = settings.bigints(own.integers, database._bigints);
  }

  #unlessClosed() {
    if (this.#isClosed) {
      throw errors.usage("Connection is closed.");
    }
    this.#database._unlessClosed();
  }

  #connected(opened) {
    this.#unlessClosed();
    this.#native ??= opened.connect(this.#settings);
    return this.#native;
  }

  async #open() {
    this.#unlessClosed();
    return this.#native ?? this.#connected(await this.#database._opened());
  }

  #openSync() {
    this.#unlessClosed();
    return this.#native ?? this.#connected(this.#database._openedSync());
  }

  /** Opens the database if that has not been done; statements do it, too. */
  init() {
    return errors.async(async () => void (await this.#open()));
  }

  initSync() {
    errors.sync(() => void this.#openSync());
  }

  #results(natives) {
    const results = natives.map((native) => new QueryResult(this, native, this.#bigints));
    return results.length === 1 ? results[0] : results;
  }

  /** Runs a statement up to its first rows; several give an array of results. */
  query(statement, params, progressCallback) {
    return errors.async(async () => {
      const values = given(params, progressCallback);
      const native = await this.#open();
      return this.#results(await native.query(statement, values, makers));
    });
  }

  querySync(statement, params) {
    return errors.sync(() =>
      this.#results(this.#openSync().querySync(statement, given(params), makers)),
    );
  }

  /** Checks and plans a statement; one that is wrong says so by `isSuccess`. */
  prepare(statement) {
    return errors.async(async () => {
      if (typeof statement !== "string") {
        throw errors.usage("statement must be a string.");
      }
      const native = await this.#open();
      return this.#prepared(await native.prepare(statement).catch((error) => error));
    });
  }

  prepareSync(statement) {
    return errors.sync(() => {
      if (typeof statement !== "string") {
        throw errors.usage("statement must be a string.");
      }
      const native = this.#openSync();
      let prepared;
      try {
        prepared = native.prepareSync(statement);
      } catch (error) {
        prepared = error;
      }
      return this.#prepared(prepared);
    });
  }

  #prepared(it) {
    if (!(it instanceof Error)) {
      return new PreparedStatement(this, it, null);
    }
    const error = errors.told(it);
    if (!errors.ofText.has(error)) {
      throw error;
    }
    return new PreparedStatement(this, null, error);
  }

  #check(prepared, params, progressCallback) {
    this.#unlessClosed();
    if (!(prepared instanceof PreparedStatement)) {
      throw errors.usage("preparedStatement must be a valid PreparedStatement object.");
    }
    return [prepared._prepared(), given(params, progressCallback)];
  }

  /** Runs a prepared statement up to its first rows. */
  execute(preparedStatement, params, progressCallback) {
    return errors.async(async () => {
      const [native, values] = this.#check(preparedStatement, params, progressCallback);
      return this.#results([await native.execute(values, makers)]);
    });
  }

  executeSync(preparedStatement, params) {
    return errors.sync(() => {
      const [native, values] = this.#check(preparedStatement, params);
      return this.#results([native.executeSync(values, makers)]);
    });
  }

  /** Begins a transaction. */
  begin(options = {}) {
    return errors.async(async () => {
      const pairs = settings.ofTransaction(options);
      const native = await this.#open();
      return new Transaction(this, await native.begin(pairs), this.#bigints);
    });
  }

  beginSync(options = {}) {
    return errors.sync(() => {
      const native = this.#openSync().beginSync(settings.ofTransaction(options));
      return new Transaction(this, native, this.#bigints);
    });
  }

  /** Does `work` in a transaction: committed when it is done, rolled back if it throws. */
  async transaction(work, options = {}) {
    const transaction = await this.begin(options);
    try {
      const done = await work(transaction);
      if (!transaction.hasEnded) {
        await transaction.commit();
      }
      return done;
    } catch (error) {
      if (!transaction.hasEnded) {
        await transaction.rollback();
      }
      throw error;
    }
  }

  /** Stops the statements of this connection that run. */
  interrupt() {
    this.#native?.interrupt();
  }

  /** How long each statement may take. */
  setQueryTimeout(timeoutInMs) {
    if (typeof timeoutInMs !== "number" || !(timeoutInMs > 0)) {
      throw errors.usage("timeoutInMs must be a positive number.");
    }
    this.#unlessClosed();
    const pair = ["timeout_ms", String(Math.max(1, Math.round(timeoutInMs)))];
    this.#settings.push(pair);
    errors.sync(() => this.#native?.set([pair]));
  }

  /** Of Kuzu's package: threads are those of the database, so this changes nothing. */
  setMaxNumThreadForExec(numThreads) {
    if (typeof numThreads !== "number" || !(numThreads > 0)) {
      throw errors.usage("numThreads must be a positive number.");
    }
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** No more statements; results go on. */
  async close() {
    this.closeSync();
  }

  closeSync() {
    this.#isClosed = true;
    this.#native = null;
  }
}

if (Symbol.asyncDispose) {
  Connection.prototype[Symbol.asyncDispose] = Connection.prototype.close;
}

module.exports = { Connection };

"use strict";

// Statements that become visible together, or not at all.

const errors = require("./errors.js");
const { QueryResult } = require("./result.js");
const { makers } = require("./values.js");

/** A transaction. `Connection.begin` makes it; one that is forgotten is rolled back. */
class Transaction {
  #native;
  #owner;
  #bigints;
  #hasEnded = false;

  constructor(owner, native, bigints) {
    this.#owner = owner;
    this.#native = native;
    this.#bigints = bigints;
  }

  #result(native) {
    return new QueryResult(this, native, this.#bigints);
  }

  /** Runs a statement to its end. */
  query(statement, params) {
    return errors.async(async () =>
      this.#result(await this.#native.query(statement, params, makers, false)),
    );
  }

  querySync(statement, params) {
    return errors.sync(() => this.#result(this.#native.querySync(statement, params, makers)));
  }

  /** Runs a statement whose rows come while they are read; later statements may change them. */
  stream(statement, params) {
    return errors.async(async () =>
      this.#result(await this.#native.query(statement, params, makers, true)),
    );
  }

  /** Makes the changes visible and durable. An error that is `retryable`: run it all again. */
  commit() {
    this.#hasEnded = true;
    return errors.async(() => this.#native.commit());
  }

  commitSync() {
    this.#hasEnded = true;
    errors.sync(() => this.#native.commitSync());
  }

  /** Undoes the changes. */
  rollback() {
    this.#hasEnded = true;
    return errors.async(() => this.#native.rollback());
  }

  rollbackSync() {
    this.#hasEnded = true;
    errors.sync(() => this.#native.rollbackSync());
  }

  /** Whether it was committed or rolled back. */
  get hasEnded() {
    return this.#hasEnded;
  }
}

module.exports = { Transaction };

"use strict";

// A statement that is planned once and run often.

/** A prepared statement. Connections make them. */
class PreparedStatement {
  #native;
  #error;
  #owner;

  constructor(owner, native, error) {
    this.#owner = owner;
    this.#native = native;
    this.#error = error;
  }

  /** Whether the statement can be run. */
  isSuccess() {
    return this.#error === null;
  }

  /** Why it cannot; an empty text where it can. */
  getErrorMessage() {
    return this.#error === null ? "" : this.#error.message;
  }

  /** For connections: the compiled part. */
  _prepared() {
    if (this.#error !== null) {
      throw this.#error;
    }
    return this.#native;
  }
}

module.exports = { PreparedStatement };

"use strict";

// Rows of a statement.

const errors = require("./errors.js");
const { makers } = require("./values.js");

/** Rows that are made objects at once: the loop of events turns between them. */
const CHUNK = 1024;

/** Rows of a statement, read while it runs. Connections and transactions make them. */
class QueryResult {
  #native;
  #bigints;
  /** What must live as long as the rows are read. */
  #owner;
  #isClosed = false;

  constructor(owner, native, bigints) {
    this.#owner = owner;
    this.#native = native;
    this.#bigints = bigints;
  }

  #open() {
    if (this.#isClosed) {
      throw errors.usage("Query result is closed.");
    }
    return this.#native;
  }

  #take(most) {
    return this.#native.rows(most, this.#bigints, makers);
  }

  /** Rows from the next one on, up to so many; none at the end. */
  async #chunk(most) {
    const native = this.#open();
    if (native.atHand === 0 && !native.hasEnded) {
      await native.read(1);
    }
    return this.#isClosed ? [] : this.#take(most);
  }

  /** Headings of the columns. */
  getColumnNamesSync() {
    return this.#open().names;
  }

  async getColumnNames() {
    return this.getColumnNamesSync();
  }

  /** Types of the columns: reads the result to its end. */
  getColumnDataTypes() {
    return errors.async(() => this.#open().columnTypes());
  }

  getColumnDataTypesSync() {
    return errors.sync(() => this.#open().columnTypesSync());
  }

  /** Types that tables and casts declare for the columns; null where none does. */
  getDeclaredTypes() {
    return this.#open().declared.map((type) => type ?? null);
  }

  /** Whether there is another row. Seldom waits: each row is read with the row behind it. */
  hasNext() {
    return errors.sync(() => this.#hasNext(1));
  }

  #hasNext(rows) {
    const native = this.#open();
    if (native.atHand < rows && !native.hasEnded) {
      native.readSync(rows);
    }
    return native.atHand > 0;
  }

  /** The next row; null at the end. */
  getNext() {
    return errors.async(async () => {
      const native = this.#open();
      // The row behind is read, too: so hasNext need not wait, and a result that has no more holds
      // nothing of its statement.
      if (native.atHand < 2 && !native.hasEnded) {
        await native.read(2);
      }
      return this.#isClosed ? null : (this.#take(1)[0] ?? null);
    });
  }

  getNextSync() {
    return errors.sync(() => (this.#hasNext(2) ? this.#take(1)[0] : null));
  }

  /** All rows, from the first one on. */
  getAll() {
    return errors.async(async () => {
      this.#open().beginAgain();
      const all = [];
      for (;;) {
        const rows = await this.#chunk(CHUNK);
        if (rows.length === 0) {
          return all;
        }
        all.push(...rows);
      }
    });
  }

  getAllSync() {
    return errors.sync(() => {
      this.#open().beginAgain();
      const all = [];
      while (this.hasNext()) {
        all.push(...this.#take(CHUNK));
      }
      return all;
    });
  }

  /** Calls back for each row, then at the end or with an error. */
  each(resultCallback, doneCallback, errorCallback) {
    this.#open();
    const run = async () => {
      for (let row = await this.getNext(); row !== null; row = await this.getNext()) {
        resultCallback(row);
      }
    };
    run().then(doneCallback, errorCallback);
  }

  /** Calls back with all rows, or with an error. */
  all(resultCallback, errorCallback) {
    this.#open();
    this.getAll().then(resultCallback, errorCallback);
  }

  /** How many rows there are: reads the result to its end, and waits for that. */
  getNumTuples() {
    return errors.sync(() => this.#open().countSync());
  }

  /** The same, without waiting. */
  countRows() {
    return errors.async(() => this.#open().count());
  }

  /** The next row is the first one again, unless more than 10,000 were read. */
  resetIterator() {
    errors.sync(() => this.#open().beginAgain());
  }

  /** Notices, counters, pages, times and the plan of EXPLAIN and PROFILE. */
  getSummary() {
    return errors.sync(() => JSON.parse(this.#open().summary()));
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** Ends the statement. */
  close() {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#native.close();
      this.#owner = null;
    }
  }

  /** The rows that are left. A loop that is left early ends the statement. */
  async *[Symbol.asyncIterator]() {
    let isWhole = false;
    try {
      for (;;) {
        const rows = await errors.async(() => this.#chunk(CHUNK));
        if (rows.length === 0) {
          break;
        }
        yield* rows;
      }
      isWhole = true;
    } finally {
      if (!isWhole) {
        this.close();
      }
    }
  }

  /** The same, waiting for each batch. */
  *[Symbol.iterator]() {
    let isWhole = false;
    try {
      for (let row = this.getNextSync(); row !== null; row = this.getNextSync()) {
        yield row;
      }
      isWhole = true;
    } finally {
      if (!isWhole) {
        this.close();
      }
    }
  }
}

module.exports = { QueryResult };

"use strict";

// A file with its page cache.

const errors = require("./errors.js");
const native = require("./native.js");
const settings = require("./settings.js");

/** Kuzu's arguments after the path, as settings. */
function ofKuzu(bufferManagerSize, enableCompression, readOnly, maxDBSize) {
  const sizes = { "Buffer manager size": bufferManagerSize, "Max DB size": maxDBSize };
  for (const [name, size] of Object.entries(sizes)) {
    if (typeof size !== "number" || !(size >= 0)) {
      throw errors.usage(`${name} must be a positive integer.`);
    }
  }
  const memory = bufferManagerSize > 0 ? Math.floor(bufferManagerSize) : undefined;
  return { memory, readOnly: Boolean(readOnly) };
}

/** A database. It is opened by `init`, or by the first statement. */
class Database {
  #path;
  #settings;
  /** The promise of the opened database, while it is being opened and after. */
  #opening = null;
  #native = null;
  #closing = null;

  constructor(
    databasePath = "",
    options = {},
    enableCompression = true,
    readOnly = false,
    maxDBSize = 0,
    // A checkpoint runs beside the work, whenever there is enough to do.
    autoCheckpoint = true,
    checkpointThreshold = -1,
  ) {
    if (databasePath !== null && typeof databasePath !== "string") {
      throw errors.usage("Database path must be a string.");
    }
    const isKuzu = typeof options !== "object" || options === null;
    const own = isKuzu ? ofKuzu(options ?? 0, enableCompression, readOnly, maxDBSize) : options;
    if (typeof checkpointThreshold !== "number") {
      throw errors.usage("Checkpoint threshold must be a positive integer.");
    }
    this.#path = databasePath ?? "";
    this.#settings = settings.ofDatabase(own);
    Object.defineProperty(this, "_bigints", { value: settings.bigints(own.integers, false) });
  }

  static getVersion() {
    return native.NativeDatabase.version();
  }

  static getStorageVersion() {
    return native.NativeDatabase.storageVersion();
  }

  /** For connections, too. */
  _unlessClosed() {
    if (this.#closing !== null) {
      throw new errors.GravenError("Database.Closed", "Database is closed.");
    }
  }

  /** For connections: the compiled part. */
  _opened() {
    return errors.async(async () => {
      this._unlessClosed();
      this.#opening ??= native.NativeDatabase.open(this.#path, this.#settings);
      try {
        this.#native = await this.#opening;
      } catch (error) {
        // It may be tried again.
        this.#opening = null;
        throw error;
      }
      return this.#native;
    });
  }

  _openedSync() {
    return errors.sync(() => {
      this._unlessClosed();
      if (this.#native === null) {
        if (this.#opening !== null) {
          throw errors.usage("There is an ongoing asynchronous initialization. Please wait for it to finish.");
        }
        this.#native = native.NativeDatabase.openSync(this.#path, this.#settings);
        this.#opening = Promise.resolve(this.#native);
      }
      return this.#native;
    });
  }

  /** Opens the file, or makes it. Statements do it, too. */
  async init() {
    await this._opened();
  }

  initSync() {
    this._openedSync();
  }

  /** Waits for statements that run, ends results and transactions, and makes all durable. */
  close() {
    this.#closing ??= errors.async(async () => {
      const opened = await this.#opening?.catch(() => null);
      await opened?.close();
    });
    return this.#closing;
  }

  closeSync() {
    if (this.#native === null && this.#opening !== null) {
      throw errors.usage("There is an ongoing asynchronous initialization. Please wait for it to finish.");
    }
    // Where `close` is at it, this waits for its end.
    this.#closing ??= Promise.resolve();
    errors.sync(() => this.#native?.closeSync());
  }

  /** Folds what was committed into the data file; whether there was something. */
  checkpoint() {
    return errors.async(async () => (await this._opened()).checkpoint());
  }

  /** Copies the database while it is used; with `since` what has changed since that copy. */
  backup(path, { since } = {}) {
    return errors.async(async () => (await this._opened()).backup(path, since));
  }

  /** Looks for a newer version of a database in object storage; whether there was one. */
  refresh() {
    return errors.async(async () => (await this._opened()).refresh());
  }

  /** Changes the budget while statements run: bytes, or text such as "64MiB". */
  setMemory(size) {
    return errors.async(async () => (await this._opened()).setMemory(String(size)));
  }

  /** Changes the replacement policy while statements run. */
  setPolicy(policy) {
    return errors.async(async () => (await this._opened()).setPolicy(String(policy)));
  }

  /** The budget in bytes. */
  get memory() {
    return errors.sync(() => this._openedSync().memory);
  }

  /** The file. */
  get path() {
    return this.#native?.path ?? this.#path;
  }

  /** The process that owns the file, if it is another one. */
  get attachedTo() {
    return errors.sync(() => this._openedSync().attachedTo ?? null);
  }

  get isClosed() {
    return this.#closing !== null;
  }
}

if (Symbol.asyncDispose) {
  Database.prototype[Symbol.asyncDispose] = Database.prototype.close;
}

module.exports = { Database };

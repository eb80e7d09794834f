// Types of the package `graven`.

/// <reference types="node" />

/** An id in the form of Kuzu: `offset` is the id, which is unique in the database. */
export interface Id {
  offset: number;
  table: 0;
}

/** What a result holds. */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Buffer
  | Moment
  | Temporal
  | Duration
  | Point
  | Node
  | Relationship
  | Path
  | Value[]
  | { [key: string]: Value };

/** What a parameter may be; `undefined` is null. */
export type Parameter =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | string
  | Date
  | Temporal
  | Duration
  | Point
  | Float
  | ArrayBuffer
  | ArrayBufferView
  | readonly Parameter[]
  | ReadonlyMap<string, Parameter>
  | ReadonlySet<Parameter>
  | { readonly [key: string]: Parameter };

/** Values by the names of parameters, with `$` before them or without. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** Values by the headings of columns. */
export type Row = Record<string, Value>;

/** Accepted for programs of Kuzu, and never called. */
export type ProgressCallback = (
  pipelineProgress: number,
  numPipelinesFinished: number,
  numPipelines: number,
) => void;

/** "auto": a BigInt beyond 2^53, a number otherwise. "bigint": always a BigInt. */
export type Integers = "auto" | "bigint";

/** How a database is opened. */
export interface DatabaseOptions {
  /** The whole budget: bytes, or text such as "64MiB". */
  memory?: number | bigint | string;
  /** Threads that one statement may use. */
  threads?: number;
  /** Replacement policy of the page cache, such as "gclock:max=7". */
  policy?: string;
  io?: "direct" | "buffered";
  /** Never write, not even to make the file. */
  readOnly?: boolean;
  /** Make an empty database where there is none; true if not given. */
  create?: boolean;
  /** Share the file with other processes; true if not given. */
  attach?: boolean;
  /** Milliseconds that a statement may take; 0 for as long as it takes. */
  timeout?: number;
  /** A folder for blocks of a database in object storage. */
  diskCache?: string;
  /** What the folder may take: bytes, or text such as "10GiB". */
  diskBudget?: number | bigint | string;
  integers?: Integers;
}

/** How transactions run. */
export interface TransactionOptions {
  isolation?: "snapshot" | "serializable";
  durability?: "full" | "relaxed" | "off";
  /** Milliseconds that a relaxed commit may wait for the device; 100 if not given. */
  relaxedMs?: number;
}

/** How statements of a connection run. */
export interface ConnectionOptions extends TransactionOptions {
  /** Milliseconds that a statement may take; 0 for as long as it takes. */
  timeout?: number;
  integers?: Integers;
}

/** What went wrong in the database. */
export class GravenError extends Error {
  constructor(code: string, message: string, details?: Partial<GravenError>);
  name: "GravenError";
  /** Stable, such as "Transaction.Conflict". */
  code: string;
  /** Place in the statement, from 1. */
  line: number | null;
  column: number | null;
  /** Whether the same statement or transaction may succeed when it is run again. */
  retryable: boolean;
  /** Of a commit that failed: "yes", "no" or "unknown". */
  durable: string | null;
}

/** A file with its page cache. It is opened by `init`, or by the first statement. */
export class Database {
  /** Without a path, or with ":memory:": a new database in the folder for temporary files. */
  constructor(databasePath?: string | null, options?: DatabaseOptions);
  /** As programs for Kuzu call it. */
  constructor(
    databasePath?: string | null,
    bufferManagerSize?: number,
    enableCompression?: boolean,
    readOnly?: boolean,
    maxDBSize?: number,
    autoCheckpoint?: boolean,
    checkpointThreshold?: number,
  );
  static getVersion(): string;
  static getStorageVersion(): number;
  init(): Promise<void>;
  initSync(): void;
  /** Waits for statements that run, ends results and transactions, and makes all durable. */
  close(): Promise<void>;
  closeSync(): void;
  /** Folds what was committed into the data file; whether there was something. */
  checkpoint(): Promise<boolean>;
  /** Copies the database while it is used: bytes that were written. */
  backup(path: string, options?: { since?: string }): Promise<number>;
  /** Looks for a newer version of a database in object storage; whether there was one. */
  refresh(): Promise<boolean>;
  setMemory(size: number | bigint | string): Promise<void>;
  setPolicy(policy: string): Promise<void>;
  /** The budget in bytes. */
  readonly memory: number;
  readonly path: string;
  /** The process that owns the file, if it is another one. */
  readonly attachedTo: number | null;
  readonly isClosed: boolean;
}

/** Where statements are run. */
export class Connection {
  /** A number of threads, as programs for Kuzu pass it, has no meaning. */
  constructor(database: Database, options?: ConnectionOptions | number | null);
  init(): Promise<void>;
  initSync(): void;
  /** Runs a statement up to its first rows; several give an array of results. */
  query(
    statement: string,
    params?: Parameters | ProgressCallback | null,
    progressCallback?: ProgressCallback | null,
  ): Promise<QueryResult>;
  querySync(statement: string, params?: Parameters | null): QueryResult;
  /** Checks and plans a statement. */
  prepare(statement: string): Promise<PreparedStatement>;
  prepareSync(statement: string): PreparedStatement;
  execute(
    preparedStatement: PreparedStatement,
    params?: Parameters | ProgressCallback | null,
    progressCallback?: ProgressCallback | null,
  ): Promise<QueryResult>;
  executeSync(preparedStatement: PreparedStatement, params?: Parameters | null): QueryResult;
  begin(options?: TransactionOptions): Promise<Transaction>;
  beginSync(options?: TransactionOptions): Transaction;
  /** Does `work` in a transaction: committed when it is done, rolled back if it throws. */
  transaction<T>(
    work: (transaction: Transaction) => T | Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /** Stops the statements of this connection that run. */
  interrupt(): void;
  setQueryTimeout(timeoutInMs: number): void;
  setMaxNumThreadForExec(numThreads: number): void;
  readonly isClosed: boolean;
  close(): Promise<void>;
  closeSync(): void;
}

/** Statements that become visible together, or not at all. */
export class Transaction {
  private constructor();
  /** Runs a statement to its end. */
  query(statement: string, params?: Parameters | null): Promise<QueryResult>;
  querySync(statement: string, params?: Parameters | null): QueryResult;
  /** Runs a statement whose rows come while they are read; later statements may change them. */
  stream(statement: string, params?: Parameters | null): Promise<QueryResult>;
  commit(): Promise<void>;
  commitSync(): void;
  rollback(): Promise<void>;
  rollbackSync(): void;
  readonly hasEnded: boolean;
}

/** A statement that is planned once and run often. */
export class PreparedStatement {
  private constructor();
  isSuccess(): boolean;
  getErrorMessage(): string;
}

/** What is known of a statement besides its rows. */
export interface Summary {
  /** Rows that were read. */
  rows: number;
  milliseconds: number;
  compilingMilliseconds: number;
  notices: { code: string; message: string; line: number | null; column: number | null }[];
  pages: Record<
    string,
    {
      hits: number;
      faults: number;
      blocked: number;
      evictions: number;
      waitNs: number;
      bytesRead: number;
    }
  >;
  /** What it changed, such as `nodes_created`. */
  counters: Record<string, number>;
  /** Of EXPLAIN and PROFILE. */
  plan: string | null;
}

/** Rows of a statement, read while it runs. */
export class QueryResult implements AsyncIterable<Row>, Iterable<Row> {
  private constructor();
  hasNext(): boolean;
  /** The next row; null at the end. */
  getNext(): Promise<Row | null>;
  getNextSync(): Row | null;
  /** All rows, from the first one on. */
  getAll(): Promise<Row[]>;
  getAllSync(): Row[];
  each(
    resultCallback: (row: Row) => void,
    doneCallback: () => void,
    errorCallback: (error: Error) => void,
  ): void;
  all(resultCallback: (rows: Row[]) => void, errorCallback: (error: Error) => void): void;
  /** How many rows there are: reads the result to its end, and waits for that. */
  getNumTuples(): number;
  countRows(): Promise<number>;
  /** The next row is the first one again, unless more than 10,000 were read. */
  resetIterator(): void;
  getColumnNames(): Promise<string[]>;
  getColumnNamesSync(): string[];
  /** Types of the columns: reads the result to its end. */
  getColumnDataTypes(): Promise<string[]>;
  getColumnDataTypesSync(): string[];
  /** Types that tables and casts declare for the columns. */
  getDeclaredTypes(): (string | null)[];
  getSummary(): Summary;
  readonly isClosed: boolean;
  close(): void;
  /** The rows that are left. A loop that is left early ends the statement. */
  [Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined>;
  [Symbol.iterator](): Generator<Row, void, undefined>;
}

/** A node: its properties, `_id` and `_label`. */
export class Node {
  constructor(offset: number, labels: string[], properties: Record<string, Value>);
  _id: Id;
  /** Its labels, joined by colons. */
  _label: string;
  readonly _labels: string[];
  readonly _properties: Record<string, Value>;
  [property: string]: any;
}

/** A relationship: its properties, `_id`, `_label` (its type), `_src` and `_dst`. */
export class Relationship {
  constructor(
    offset: number,
    type: string,
    start: number,
    end: number,
    properties: Record<string, Value>,
  );
  _id: Id;
  _label: string;
  _src: Id;
  _dst: Id;
  readonly _properties: Record<string, Value>;
  [property: string]: any;
}

/** A path: one node more than relationships, in order of travel. */
export class Path {
  constructor(nodes: Node[], relationships: Relationship[]);
  _nodes: Node[];
  _rels: Relationship[];
}

/** A date, a local datetime or a datetime: a Date with what a Date cannot hold. */
export class Moment extends Date {
  constructor(
    type: "date" | "localdatetime" | "datetime",
    milliseconds: number,
    nanoseconds?: number,
    zone?: string | null,
    offset?: number,
  );
  type: "date" | "localdatetime" | "datetime";
  /** Beyond the milliseconds, 0 to 999999. */
  nanoseconds: number;
  /** Name or offset of the zone of a datetime. */
  zone: string | null;
  /** Seconds east of UTC of a datetime. */
  offset: number;
  /** The exact text, as the language writes it. */
  toString(): string;
  toJSON(): string;
}

/** A date or time by its text: a time of day, or what lies beyond the years of a Date. */
export class Temporal {
  constructor(
    type: "date" | "localtime" | "time" | "localdatetime" | "datetime",
    text: string,
  );
  type: "date" | "localtime" | "time" | "localdatetime" | "datetime";
  text: string;
  toString(): string;
  toJSON(): string;
}

/** A span of time, whose parts do not carry into each other. */
export class Duration {
  constructor(
    months?: number | bigint,
    days?: number | bigint,
    seconds?: number | bigint,
    nanoseconds?: number,
  );
  months: number | bigint;
  days: number | bigint;
  seconds: number | bigint;
  nanoseconds: number;
  /** Milliseconds, a month having 30 days. */
  valueOf(): number;
  toString(): string;
  toJSON(): string;
}

/** A point: 7203 and 9157 are Cartesian in two and three dimensions, 4326 and 4979 WGS 84. */
export class Point {
  constructor(srid: number, x: number, y: number, z?: number | null);
  srid: number;
  x: number;
  y: number;
  z: number | null;
}

/** A number that is a float for the database, also where it is whole. */
export class Float {
  constructor(value: number);
  value: number;
  valueOf(): number;
}

export const VERSION: string;
export const STORAGE_VERSION: number;

declare const graven: {
  Database: typeof Database;
  Connection: typeof Connection;
  Transaction: typeof Transaction;
  PreparedStatement: typeof PreparedStatement;
  QueryResult: typeof QueryResult;
  GravenError: typeof GravenError;
  Node: typeof Node;
  Relationship: typeof Relationship;
  Path: typeof Path;
  Moment: typeof Moment;
  Temporal: typeof Temporal;
  Duration: typeof Duration;
  Point: typeof Point;
  Float: typeof Float;
  VERSION: string;
  STORAGE_VERSION: number;
};

export default graven;

"use strict";

// Values that JavaScript has no type for, and how the compiled part makes and takes them.

const { types } = require("node:util");

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** An id in the form of Kuzu: `offset` is the id, which is unique in the database. */
const id = (offset) => ({ offset, table: 0 });

/** Sets all properties, one called `__proto__` too. */
function assign(target, properties) {
  for (const name of Object.keys(properties)) {
    if (name === "__proto__") {
      const value = properties[name];
      Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
    } else {
      target[name] = properties[name];
    }
  }
}

/** A node: its properties, `_id` and `_label`. */
class Node {
  #labels;
  #properties;

  constructor(offset, labels, properties) {
    this.#labels = labels;
    this.#properties = properties;
    assign(this, properties);
    this._label = labels.join(":");
    this._id = id(offset);
  }

  /** All labels. */
  get _labels() {
    return this.#labels;
  }

  /** The properties alone, those called `_id` or `_label` too. */
  get _properties() {
    return this.#properties;
  }
}

/** A relationship: its properties, `_id`, `_label` (its type), `_src` and `_dst`. */
class Relationship {
  #properties;

  constructor(offset, type, start, end, properties) {
    this.#properties = properties;
    assign(this, properties);
    this._label = type;
    this._id = id(offset);
    this._src = id(start);
    this._dst = id(end);
  }

  get _properties() {
    return this.#properties;
  }
}

/** A path: one node more than relationships, in order of travel. */
class Path {
  constructor(nodes, relationships) {
    this._nodes = nodes;
    this._rels = relationships;
  }
}

const digits = (number, length) => String(number).padStart(length, "0");

/** The offset `+02:00` of so many seconds. */
function offsetText(seconds) {
  if (seconds === 0) {
    return "Z";
  }
  const all = Math.abs(seconds);
  const parts = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  if (all % 60 !== 0) {
    parts.push(all % 60);
  }
  return (seconds < 0 ? "-" : "+") + parts.map((part) => digits(part, 2)).join(":");
}

/**
 * A date, a local datetime or a datetime: a Date with what a Date cannot hold. A date is its first
 * moment in UTC, a local datetime as if it were in UTC.
 */
class Moment extends Date {
  constructor(type, milliseconds, nanoseconds = 0, zone = null, offset = 0) {
    super(milliseconds);
    /** "date", "localdatetime" or "datetime". */
    this.type = type;
    /** Beyond the milliseconds, 0 to 999999. */
    this.nanoseconds = nanoseconds;
    /** Name or offset of the zone of a datetime. */
    this.zone = zone;
    /** Seconds east of UTC of a datetime. */
    this.offset = offset;
  }

  /** The exact text, as the language writes it. */
  toString() {
    if (Number.isNaN(this.getTime())) {
      return super.toString();
    }
    const local = new Date(this.getTime() + this.offset * 1000);
    const [date, clock] = local.toISOString().split("T");
    // Of a year with a sign, JavaScript writes six digits.
    const day = date.replace(/^([+-])0*(\d{4,}-)/, "$1$2");
    if (this.type === "date") {
      return day;
    }
    const fraction = clock.slice(9, 12) + digits(this.nanoseconds, 6);
    const shown = fraction.replace(/0+$/, "");
    const seconds = clock.slice(5, 8) + (shown && `.${shown}`);
    const time = `${day}T${clock.slice(0, 5)}${seconds === ":00" ? "" : seconds}`;
    if (this.type !== "datetime") {
      return time;
    }
    const offset = offsetText(this.offset);
    const named = this.zone !== null && /^[A-Za-z]/.test(this.zone) && this.zone !== "Z";
    return time + offset + (named ? `[${this.zone}]` : "");
  }

  toJSON() {
    return this.toString();
  }

  [INSPECT]() {
    return `${this.type}(${this})`;
  }
}

/** A date or time by its text: a time of day, or what lies beyond the years of a Date. */
class Temporal {
  constructor(type, text) {
    /** "date", "localtime", "time", "localdatetime" or "datetime". */
    this.type = type;
    this.text = text;
  }

  toString() {
    return this.text;
  }

  toJSON() {
    return this.text;
  }

  [INSPECT]() {
    return `${this.type}(${this})`;
  }
}

/** A span of time, whose parts do not carry into each other. */
class Duration {
  constructor(months = 0, days = 0, seconds = 0, nanoseconds = 0) {
    this.months = months;
    this.days = days;
    this.seconds = seconds;
    this.nanoseconds = nanoseconds;
  }

  /** Milliseconds, a month having 30 days. */
  valueOf() {
    const days = Number(this.months) * 30 + Number(this.days);
    return days * 86400000 + Number(this.seconds) * 1000 + this.nanoseconds / 1e6;
  }

  toString() {
    const nanoseconds = BigInt(this.seconds) * 1000000000n + BigInt(this.nanoseconds);
    const all = nanoseconds < 0n ? -nanoseconds : nanoseconds;
    const fraction = digits(all % 1000000000n, 9).replace(/0+$/, "");
    const seconds = `${nanoseconds < 0n ? "-" : ""}${all / 1000000000n}${fraction && `.${fraction}`}`;
    return `P${this.months}M${this.days}DT${seconds}S`;
  }

  toJSON() {
    return this.toString();
  }

  [INSPECT]() {
    return `duration(${this})`;
  }
}

/** A point: 7203 and 9157 are Cartesian in two and three dimensions, 4326 and 4979 WGS 84. */
class Point {
  constructor(srid, x, y, z = null) {
    this.srid = srid;
    this.x = x;
    this.y = y;
    this.z = z;
  }
}

/** A number that is a float for the database, also where it is whole. */
class Float {
  constructor(value) {
    this.value = value;
  }

  valueOf() {
    return this.value;
  }
}

/** What the compiled part makes objects with. */
const makers = {
  node: (...parts) => new Node(...parts),
  relationship: (...parts) => new Relationship(...parts),
  path: (...parts) => new Path(...parts),
  moment: (...parts) => new Moment(...parts),
  temporal: (...parts) => new Temporal(...parts),
  duration: (...parts) => new Duration(...parts),
  point: (...parts) => new Point(...parts),
  parts,
};

/** Whether it is an object without a class, of this realm or another one. */
function isPlain(it) {
  const prototype = Object.getPrototypeOf(it);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function bytes(it) {
  const all = new Uint8Array(it.buffer ?? it, it.byteOffset ?? 0, it.byteLength);
  // Another worker may write to shared memory while it is read.
  return ["bytes", types.isSharedArrayBuffer(all.buffer) ? Uint8Array.from(all) : all];
}

function ofMap(map) {
  const object = Object.create(null);
  for (const [key, value] of map) {
    if (typeof key !== "string") {
      return ["wrong", `keys of maps are text, got ${typeof key}`];
    }
    Object.defineProperty(object, key, { value, enumerable: true });
  }
  return ["value", object];
}

/** A word and what goes with it, for an object that is no plain one; null for a plain one. */
function parts(it) {
  if (isPlain(it)) {
    return null;
  }
  if (it instanceof Moment) {
    return ["moment", it.type, it.getTime(), it.nanoseconds, it.zone];
  }
  if (types.isDate(it)) {
    return ["moment", "datetime", Number(it), 0, null];
  }
  if (it instanceof Temporal) {
    return ["temporal", it.type, it.text];
  }
  if (it instanceof Duration) {
    return ["duration", it.months, it.days, it.seconds, it.nanoseconds];
  }
  if (it instanceof Point) {
    return ["point", it.srid, it.x, it.y, it.z];
  }
  if (it instanceof Float) {
    return typeof it.value === "number" ? ["float", it.value] : ["wrong", "a Float holds a number"];
  }
  if (types.isTypedArray(it) || types.isDataView(it) || types.isAnyArrayBuffer(it)) {
    if (types.isFloat32Array(it) || types.isFloat64Array(it)) {
      return ["floats", Array.from(it)];
    }
    const isNumbers = types.isTypedArray(it) && !types.isUint8Array(it) && !types.isUint8ClampedArray(it);
    return isNumbers ? ["list", Array.from(it)] : bytes(it);
  }
  if (types.isMap(it)) {
    return ofMap(it);
  }
  if (types.isSet(it)) {
    return ["list", [...it]];
  }
  if (types.isBoxedPrimitive(it)) {
    return ["value", it.valueOf()];
  }
  if (types.isPromise(it)) {
    return ["wrong", "a Promise cannot be a parameter: await it"];
  }
  if (it instanceof Node || it instanceof Relationship || it instanceof Path) {
    return ["wrong", "nodes, relationships and paths cannot be parameters: pass properties, or `_id.offset` for id(n)"];
  }
  const name = it.constructor?.name || "an unknown class";
  return ["wrong", `an object of ${name} cannot be a parameter: pass a plain object, as { ...it }`];
}

module.exports = { Node, Relationship, Path, Moment, Temporal, Duration, Point, Float, makers };

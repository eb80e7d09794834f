"use strict";

// Errors: what the compiled part says becomes a GravenError.

/** What went wrong in the database: `code` is stable, the message is for people. */
class GravenError extends Error {
  constructor(code, message, details = {}) {
    super(message);
    this.name = "GravenError";
    this.code = code;
    this.line = details.line ?? null;
    this.column = details.column ?? null;
    this.retryable = details.retryable ?? false;
    this.durable = details.durable ?? null;
  }
}

/** Errors of a statement's text alone: nothing of it has run. */
const ofText = new WeakSet();

/** The error for programs of an error of the compiled part. */
function told(error) {
  if (!(error instanceof Error) || !error.message.startsWith("{")) {
    return error;
  }
  let said;
  try {
    said = JSON.parse(error.message);
  } catch {
    return error;
  }
  if (typeof said.graven !== "string") {
    return error;
  }
  const made = new GravenError(said.graven, said.message, said);
  if (said.ofText) {
    ofText.add(made);
  }
  return made;
}

/** What the work gives; errors are those for programs. */
function sync(work) {
  try {
    return work();
  } catch (error) {
    throw told(error);
  }
}

/** The same for work that gives a promise. */
async function async(work) {
  try {
    return await work();
  } catch (error) {
    throw told(error);
  }
}

/** The error of a request that makes no sense where it stands. */
function usage(message) {
  return new GravenError("Request.Invalid", message);
}

module.exports = { GravenError, ofText, told, sync, async, usage };

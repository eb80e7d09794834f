// The same for `import`.

import graven from "./index.js";

export const {
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
  VERSION,
  STORAGE_VERSION,
} = graven;

export default graven;

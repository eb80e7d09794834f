//! Page-access traces: format, reading, writing, imports, next-use annotation.

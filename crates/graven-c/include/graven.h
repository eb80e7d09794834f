/* graven.h: Graven, an embedded property-graph database, from C.
 *
 * Made by cbindgen of crates/graven-c; docs/guide/c.md explains it.
 *
 * A function that can fail takes a pointer to a graven_error pointer last, which may be null. It
 * sets it to null, or to an error that is freed with graven_error_free(). Handles may be freed in
 * any order. Texts are UTF-8. Databases and connections may be shared by threads; everything else
 * belongs to one thread at a time.
 */

#ifndef GRAVEN_H
#define GRAVEN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#define GRAVEN_VERSION_MAJOR 0
#define GRAVEN_VERSION_MINOR 1

/* As a length: the text ends at its zero byte. */
#define GRAVEN_TO_ZERO SIZE_MAX

/* The Arrow C data and stream interfaces, as their specification gives them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

// The commit that failed left nothing.
#define GRAVEN_DURABLE_NO 0

// The commit is durable, whatever failed after it.
#define GRAVEN_DURABLE_YES 1

// It is not known whether the commit is durable.
#define GRAVEN_DURABLE_UNKNOWN 2

// What a value is.
typedef enum {
  // Absent or unknown.
  GRAVEN_TYPE_NULL = 0,
  // graven_value_bool()
  GRAVEN_TYPE_BOOL = 1,
  // graven_value_int64()
  GRAVEN_TYPE_INT64 = 2,
  // graven_value_double()
  GRAVEN_TYPE_DOUBLE = 3,
  // graven_value_text()
  GRAVEN_TYPE_TEXT = 4,
  // graven_value_bytes()
  GRAVEN_TYPE_BYTES = 5,
  // graven_value_length(), graven_value_item()
  GRAVEN_TYPE_LIST = 6,
  // graven_value_length(), graven_value_key(), graven_value_item(), graven_value_get()
  GRAVEN_TYPE_MAP = 7,
  // graven_value_id(), graven_node_label(), and its properties as a map has its entries
  GRAVEN_TYPE_NODE = 8,
  // graven_value_id(), graven_relationship_type(), and its properties
  GRAVEN_TYPE_RELATIONSHIP = 9,
  // graven_path_length(), graven_path_node(), graven_path_relationship()
  GRAVEN_TYPE_PATH = 10,
  // graven_value_days()
  GRAVEN_TYPE_DATE = 11,
  // graven_value_nanoseconds()
  GRAVEN_TYPE_LOCAL_TIME = 12,
  // graven_value_nanoseconds(), graven_value_offset()
  GRAVEN_TYPE_TIME = 13,
  // graven_value_instant(), as if it were in UTC
  GRAVEN_TYPE_LOCAL_DATETIME = 14,
  // graven_value_instant(), graven_value_offset(), graven_value_zone()
  GRAVEN_TYPE_DATETIME = 15,
  // graven_value_duration()
  GRAVEN_TYPE_DURATION = 16,
  // graven_value_point()
  GRAVEN_TYPE_POINT = 17,
  // graven_value_vector()
  GRAVEN_TYPE_VECTOR = 18,
} graven_type;

// Settings with which a database is opened.
typedef struct graven_config graven_config;

// Where statements are run. One for each thread is usual; it may be shared.
typedef struct graven_connection graven_connection;

// A database file with its page cache. May be used by several threads.
typedef struct graven_database graven_database;

// What went wrong. Its code is stable and for programs, its message is for people.
typedef struct graven_error graven_error;

// Rows of a statement, those behind the first ones read as they are asked for.
typedef struct graven_result graven_result;

// A statement that is checked and planned, and what is bound to its parameters.
typedef struct graven_statement graven_statement;

// Statements that see each other's changes and become visible together, or not at all.
typedef struct graven_transaction graven_transaction;

// A value: of a result, of a list or map, or made by the program.
typedef struct graven_value graven_value;

// Text or bytes that a value holds: so many bytes from `data` on, in UTF-8 if it is text. No zero
// byte follows them; printf prints them with `%.*s`.
typedef struct {
  // The first byte; null where there is no text.
  const char *data;
  // How many bytes.
  size_t length;
} graven_string;

// A moment: seconds since 1970, and nanoseconds from 0 to 999,999,999.
typedef struct {
  // Seconds since 1970-01-01T00:00.
  int64_t seconds;
  // 0 to 999,999,999.
  uint32_t nanoseconds;
} graven_instant;

// A span of time; its parts do not carry into each other, except nanoseconds into seconds.
typedef struct {
  // Months.
  int64_t months;
  // Days.
  int64_t days;
  // Seconds.
  int64_t seconds;
  // 0 to 999,999,999.
  uint32_t nanoseconds;
} graven_duration;

// A point: 7203 and 9157 are Cartesian in two and three dimensions, 4326 and 4979 WGS 84.
typedef struct {
  // The coordinate system.
  uint32_t srid;
  // First coordinate.
  double x;
  // Second coordinate.
  double y;
  // Third coordinate of the systems with three, 0 otherwise.
  double z;
} graven_point;

// A vector: numbers of one type, one behind the other.
typedef struct {
  // Bytes of a number: 1, 2, 4 or 8 of signed integers, 4 or 8 of floats.
  uint32_t width;
  // Whether they are floats.
  bool is_float;
  // How many there are, 1 to 4096.
  size_t dimension;
  // The numbers, little-endian, perhaps at an odd address; null where there is no vector.
  const void *data;
} graven_vector;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// New settings, all as if none were given. To be freed with graven_config_free().
graven_config *graven_config_new(void);

// Sets one: "memory" (such as "64MiB"), "threads", "policy", "io" ("direct" or "buffered"),
// "read_only", "create" (true if not set), "attach" ("true" or "false"), "timeout_ms",
// "disk_cache" (a folder), "disk_budget" (such as "10GiB"). Whether it was set.
bool graven_config_set(graven_config *config,
                       const char *name,
                       const char *value,
                       graven_error **error);

// Frees settings; a null pointer is left alone.
void graven_config_free(graven_config *config);

// A new connection, to be freed with graven_disconnect().
graven_connection *graven_connect(const graven_database *database, graven_error **error);

// Frees a connection; its results and transactions go on. A null pointer is left alone.
void graven_disconnect(graven_connection *connection);

// Sets for the statements that begin from now on: "isolation" ("snapshot" or "serializable"),
// "durability" ("full", "relaxed", "relaxed:MILLISECONDS" or "off"), "timeout_ms" (0: as long as
// it takes). Whether it was set.
bool graven_set(const graven_connection *connection,
                const char *name,
                const char *value,
                graven_error **error);

// Stops the statements of the connection that run now: they end with `Statement.Cancelled`. May
// be called by any thread, while others use the connection.
void graven_interrupt(const graven_connection *connection);

// Runs a statement up to its first rows. One that writes is committed when this returns, and as
// durable as asked for. `parameters` is a map, or null. The result is to be freed with
// graven_result_free().
graven_result *graven_query(const graven_connection *connection,
                            const char *statement,
                            const graven_value *parameters,
                            graven_error **error);

// Checks and plans a statement; its parameters are bound later. To be freed with
// graven_statement_free().
graven_statement *graven_prepare(const graven_connection *connection,
                                 const char *statement,
                                 graven_error **error);

// Begins a transaction. It ends with graven_commit() or graven_rollback().
graven_transaction *graven_begin(const graven_connection *connection, graven_error **error);

// Opens a database, or makes an empty one where there is none, unless "create" is "false" or
// "read_only" is "true". Without a path, or with ":memory:", it is a new one in the folder for
// temporary files, which goes with its last handle. `config` may be null. To be closed with
// graven_close().
graven_database *graven_open(const char *path, const graven_config *config, graven_error **error);

// Makes everything durable, notes that the database was closed cleanly, and frees the handle in
// every case. Connections that are still there cannot write any more. A null pointer is left
// alone.
bool graven_close(graven_database *database, graven_error **error);

// Folds what was committed into the data file.
bool graven_checkpoint(const graven_database *database, graven_error **error);

// Copies the database to `path` while it is used, and checks the copy.
bool graven_backup(const graven_database *database, const char *path, graven_error **error);

// The whole budget of the database, in bytes.
uint64_t graven_memory(const graven_database *database);

// Changes the budget while statements run; `size` is text such as "64MiB".
bool graven_set_memory(const graven_database *database, const char *size, graven_error **error);

// The id of a node or relationship; -1 for other values.
int64_t graven_value_id(const graven_value *value);

// How many labels a node has.
size_t graven_node_label_count(const graven_value *value);

// A label of a node, from 0; no text beyond the last.
graven_string graven_node_label(const graven_value *value, size_t at);

// The type of a relationship; no text for other values.
graven_string graven_relationship_type(const graven_value *value);

// The id of the node that a relationship starts at; -1 for other values.
int64_t graven_relationship_start(const graven_value *value);

// The id of the node that a relationship ends at; -1 for other values.
int64_t graven_relationship_end(const graven_value *value);

// How many relationships a path has; it has one node more. 0 for other values.
size_t graven_path_length(const graven_value *value);

// A node of a path in the order of travel, from 0; null beyond the last. To be freed with
// graven_value_free().
graven_value *graven_path_node(const graven_value *value, size_t at);

// A relationship of a path in the order of travel, from 0; null beyond the last. To be freed with
// graven_value_free().
graven_value *graven_path_relationship(const graven_value *value, size_t at);

// Stable name of the error, such as `Memory.Limit`.
const char *graven_error_code(const graven_error *error);

// One sentence for people; it may change.
const char *graven_error_message(const graven_error *error);

// The message with the line of the statement that it is about, and a caret, where there is one.
const char *graven_error_rendered(const graven_error *error);

// Whether the same statement or transaction may succeed when it is run again.
bool graven_error_retryable(const graven_error *error);

// For a commit that failed: GRAVEN_DURABLE_NO, GRAVEN_DURABLE_YES or GRAVEN_DURABLE_UNKNOWN.
int32_t graven_error_durable(const graven_error *error);

// Line in the statement, from 1; 0 where the error has no place there.
uint32_t graven_error_line(const graven_error *error);

// Column in the line, from 1; 0 where the error has no place there.
uint32_t graven_error_column(const graven_error *error);

// Frees an error; a null pointer is left alone.
void graven_error_free(graven_error *error);

// Null. What all functions of this kind give belongs to the program: it is freed with
// graven_value_free(), or given away to a list or map.
graven_value *graven_value_new_null(void);

// A boolean.
graven_value *graven_value_new_bool(bool value);

// An integer.
graven_value *graven_value_new_int64(int64_t value);

// A float.
graven_value *graven_value_new_double(double value);

// Text, which is copied: so many bytes, or GRAVEN_TO_ZERO.
graven_value *graven_value_new_text(const char *value, size_t length, graven_error **error);

// Bytes, which are copied.
graven_value *graven_value_new_bytes(const uint8_t *value, size_t length, graven_error **error);

// An empty list, for graven_list_append().
graven_value *graven_value_new_list(void);

// An empty map, for graven_map_set(): also what graven_query() takes as its parameters.
graven_value *graven_value_new_map(void);

// Appends to a list and takes `item`, which is freed in every case, but not where it is the list
// itself. Whether it was appended.
bool graven_list_append(graven_value *list, graven_value *item, graven_error **error);

// Sets an entry of a map and takes `value`, which is freed in every case, but not where it is the
// map itself. A parameter's name stands without `$`. Whether it was set.
bool graven_map_set(graven_value *map, const char *key, graven_value *value, graven_error **error);

// Goes to the next row: 1 if there is one, 0 at the end, -1 with an error. Values of the row
// before are gone.
int32_t graven_result_next(graven_result *result, graven_error **error);

// How many columns the rows have; 0 for a statement without RETURN.
size_t graven_result_column_count(const graven_result *result);

// The heading of a column, from 0; null beyond the last.
const char *graven_result_column_name(const graven_result *result, size_t column);

// The type that a table or a cast in the statement declares for a column; null where none does.
// What values are, each of them says: graven_value_type().
const char *graven_result_declared_type(const graven_result *result, size_t column);

// The value of a column in the row of the last graven_result_next(); null where there is no row
// or no such column. It lives until the next row.
const graven_value *graven_result_value(const graven_result *result, size_t column);

// How much the statement changed of a kind: "nodes_created", "nodes_deleted",
// "relationships_created", "relationships_deleted", "properties_set", "labels_added",
// "labels_removed", "indexes_added", "indexes_removed", "constraints_added",
// "constraints_removed". -1 for another name.
int64_t graven_result_counter(const graven_result *result, const char *name);

// How many things are worth knowing of the statement, such as unknown labels.
size_t graven_result_notice_count(const graven_result *result);

// One of them, a sentence; null beyond the last.
const char *graven_result_notice(const graven_result *result, size_t at);

// The plan of EXPLAIN, and of PROFILE with what each step did so far; null for other statements.
// It lives until this is called again or the result is freed.
const char *graven_result_plan(graven_result *result);

// Frees a result and ends its statement. A null pointer is left alone.
void graven_result_free(graven_result *result);

// Binds null to the parameter of this name. Whether it was bound, as with all that follow.
bool graven_bind_null(graven_statement *statement, const char *name, graven_error **error);

// Binds a boolean.
bool graven_bind_bool(graven_statement *statement,
                      const char *name,
                      bool value,
                      graven_error **error);

// Binds an integer.
bool graven_bind_int64(graven_statement *statement,
                       const char *name,
                       int64_t value,
                       graven_error **error);

// Binds a float.
bool graven_bind_double(graven_statement *statement,
                        const char *name,
                        double value,
                        graven_error **error);

// Binds text, which is copied: so many bytes, or GRAVEN_TO_ZERO.
bool graven_bind_text(graven_statement *statement,
                      const char *name,
                      const char *value,
                      size_t length,
                      graven_error **error);

// Binds bytes, which are copied.
bool graven_bind_bytes(graven_statement *statement,
                       const char *name,
                       const uint8_t *value,
                       size_t length,
                       graven_error **error);

// Binds a value of any type, which is copied: a list, a map, a date.
bool graven_bind_value(graven_statement *statement,
                       const char *name,
                       const graven_value *value,
                       graven_error **error);

// Binds nothing any more.
void graven_clear_bindings(graven_statement *statement);

// Runs it with what is bound, as graven_query() does; what is bound stays.
graven_result *graven_execute(const graven_statement *statement, graven_error **error);

// Frees a statement; its results go on. A null pointer is left alone.
void graven_statement_free(graven_statement *statement);

// Makes `stream` a stream of the rows that are left, of the Arrow C stream interface. The
// statement runs to its end first: a column's type is what all of its values have in common. What
// `stream` held before is not released; the program releases the stream when it has read it. It
// outlives the result and its database. Whether there is a stream.
bool graven_result_arrow(graven_result *result,
                         struct ArrowArrayStream *stream,
                         graven_error **error);

// Days from 1970-01-01 to a date; 0 for other values.
int64_t graven_value_days(const graven_value *value);

// Nanoseconds from midnight to a time of day; 0 for other values.
int64_t graven_value_nanoseconds(const graven_value *value);

// Seconds east of UTC, of a time or of a datetime at its moment; 0 for other values.
int32_t graven_value_offset(const graven_value *value);

// The moment of a datetime, or of a local datetime as if it were in UTC; zeros for other values.
graven_instant graven_value_instant(const graven_value *value);

// The name of the zone of a datetime; no text where it has an offset alone.
graven_string graven_value_zone(const graven_value *value);

// The parts of a duration; zeros for other values.
graven_duration graven_value_duration(const graven_value *value);

// A point; zeros for other values.
graven_point graven_value_point(const graven_value *value);

// A vector; its numbers live as long as the value. Zeros for other values.
graven_vector graven_value_vector(const graven_value *value);

// A vector of numbers that are copied; floats must be finite.
graven_value *graven_value_new_vector(graven_vector vector, graven_error **error);

// A date, time, datetime or duration from its ISO text, such as `2026-01-31` or `P1M`. `type` is
// one of GRAVEN_TYPE_DATE to GRAVEN_TYPE_DURATION. A time or datetime without an offset is in
// UTC.
graven_value *graven_value_new_temporal(int32_t type, const char *iso_text, graven_error **error);

// A date of so many days since 1970-01-01.
graven_value *graven_value_new_date(int64_t days, graven_error **error);

// A local datetime: the moment as if it were in UTC.
graven_value *graven_value_new_local_datetime(graven_instant at, graven_error **error);

// A datetime: the moment as a clock in `zone` shows it, which is a name such as `Europe/Berlin`,
// an offset such as `+02:00`, or null for UTC.
graven_value *graven_value_new_datetime(graven_instant at, const char *zone, graven_error **error);

// A duration.
graven_value *graven_value_new_duration(graven_duration parts, graven_error **error);

// A point; its third coordinate counts in the systems that have one.
graven_value *graven_value_new_point(graven_point point, graven_error **error);

// Runs a statement of the transaction to its end, as graven_query() does otherwise. A statement
// that fails fails the transaction: graven_rollback() is all that is left.
graven_result *graven_transaction_query(graven_transaction *transaction,
                                        const char *statement,
                                        const graven_value *parameters,
                                        graven_error **error);

// Commits, and frees the transaction in every case. False with an error for which
// graven_error_retryable() is true where another transaction was in the way: run it all again.
bool graven_commit(graven_transaction *transaction, graven_error **error);

// Undoes everything, and frees the transaction. A null pointer is left alone.
void graven_rollback(graven_transaction *transaction);

// What a value is; GRAVEN_TYPE_NULL for a null pointer, too.
graven_type graven_value_type(const graven_value *value);

// Whether it is null, or not there.
bool graven_value_is_null(const graven_value *value);

// The boolean; false for other values.
bool graven_value_bool(const graven_value *value);

// The integer; 0 for other values.
int64_t graven_value_int64(const graven_value *value);

// The number, also of an integer; 0 for other values.
double graven_value_double(const graven_value *value);

// The text, which lives as long as the value; no text for other values.
graven_string graven_value_text(const graven_value *value);

// The bytes, which live as long as the value; none for other values.
graven_string graven_value_bytes(const graven_value *value);

// The items of a list, the entries of a map, the properties of a node or relationship: how many.
size_t graven_value_length(const graven_value *value);

// An item of a list, or the value of an entry of a map, node or relationship, from 0 and by
// ascending key; null beyond the last. Lives as long as the value. Entries are counted from the
// first: for large maps take graven_value_get().
const graven_value *graven_value_item(const graven_value *value, size_t at);

// The key of an entry of a map, node or relationship, from 0; no text beyond the last.
graven_string graven_value_key(const graven_value *value, size_t at);

// The value under a key of a map, node or relationship; null where there is none. Lives as long
// as the value.
const graven_value *graven_value_get(const graven_value *value, const char *key);

// A value as the language writes it, as text that ends in a zero byte. To be freed with
// graven_text_free().
char *graven_value_to_text(const graven_value *value);

// Frees a text of graven_value_to_text(). A null pointer is left alone.
void graven_text_free(char *text);

// A copy of a value that belongs to the program and outlives the row. To be freed with
// graven_value_free().
graven_value *graven_value_copy(const graven_value *value, graven_error **error);

// Frees a value that belongs to the program. A null pointer is left alone.
void graven_value_free(graven_value *value);

// The version of the library, such as `0.1.0`.
const char *graven_version(void);

// The format of the data files that this library writes.
uint32_t graven_storage_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GRAVEN_H */

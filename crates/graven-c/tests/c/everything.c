/* Goal: every function of graven.h does what it says: values both ways, errors, transactions,
 * Arrow streams, and handles freed in any order. Ends with 0 if all is right. */
#include <graven.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
      failures++;                                                          \
    }                                                                      \
  } while (0)

static bool is(graven_string text, const char *expected) {
  return text.data && text.length == strlen(expected) && !memcmp(text.data, expected, text.length);
}

/* The error has this code; frees it. */
static bool failed_with(graven_error **error, const char *code) {
  bool same = *error && !strcmp(graven_error_code(*error), code);
  if (!same) {
    fprintf(stderr, "%s instead of %s: %s\n", graven_error_code(*error), code, graven_error_message(*error));
  }
  graven_error_free(*error);
  *error = NULL;
  return same;
}

static graven_result *run(graven_connection *connection, const char *text, graven_value *parameters) {
  graven_error *error = NULL;
  graven_result *result = graven_query(connection, text, parameters, &error);
  if (!result) {
    fprintf(stderr, "%s: %s\n", text, graven_error_message(error));
    graven_error_free(error);
    failures++;
  }
  graven_value_free(parameters);
  return result;
}

static void values(graven_connection *connection) {
  graven_value *map = graven_value_new_map();
  const uint8_t bytes[] = {0, 255};
  CHECK(graven_map_set(map, "none", graven_value_new_null(), NULL));
  CHECK(graven_map_set(map, "b", graven_value_new_bool(true), NULL));
  CHECK(graven_map_set(map, "i", graven_value_new_int64(INT64_MIN), NULL));
  CHECK(graven_map_set(map, "x", graven_value_new_double(0.5), NULL));
  CHECK(graven_map_set(map, "t", graven_value_new_text("a\0b", 3, NULL), NULL));
  CHECK(graven_map_set(map, "raw", graven_value_new_bytes(bytes, 2, NULL), NULL));
  graven_value *list = graven_value_new_list();
  CHECK(graven_list_append(list, graven_value_new_int64(1), NULL));
  CHECK(graven_list_append(list, graven_value_new_text("two", GRAVEN_TO_ZERO, NULL), NULL));
  CHECK(graven_map_set(map, "l", list, NULL));
  graven_value *inner = graven_value_new_map();
  CHECK(graven_map_set(inner, "key", graven_value_new_int64(7), NULL));
  CHECK(graven_map_set(map, "m", inner, NULL));
  CHECK(graven_map_set(map, "date", graven_value_new_temporal(GRAVEN_TYPE_DATE, "2026-01-31", NULL), NULL));
  CHECK(graven_map_set(map, "day", graven_value_new_date(-1, NULL), NULL));
  graven_instant at = {1000000000, 5};
  CHECK(graven_map_set(map, "moment", graven_value_new_datetime(at, "Europe/Berlin", NULL), NULL));
  CHECK(graven_map_set(map, "local", graven_value_new_local_datetime(at, NULL), NULL));
  CHECK(graven_map_set(map, "time", graven_value_new_temporal(GRAVEN_TYPE_TIME, "12:00+02:00", NULL), NULL));
  graven_duration span = {1, 2, 3, 4};
  CHECK(graven_map_set(map, "span", graven_value_new_duration(span, NULL), NULL));
  graven_point point = {9157, 1.0, 2.0, 3.0};
  CHECK(graven_map_set(map, "point", graven_value_new_point(point, NULL), NULL));
  float numbers[] = {0.5f, -1.0f};
  graven_vector vector = {4, true, 2, numbers};
  CHECK(graven_map_set(map, "vector", graven_value_new_vector(vector, NULL), NULL));
  vector.width = 2;
  CHECK(graven_value_new_vector(vector, NULL) == NULL);
  vector.width = 4;
  vector.dimension = 0;
  CHECK(graven_value_new_vector(vector, NULL) == NULL);

  graven_result *result = run(connection,
      "RETURN $none, $b, $i, $x, $t, $raw, $l, $m, $date, $day, $moment, $local, $time, $span, $point, $vector", map);
  CHECK(graven_result_column_count(result) == 16);
  CHECK(!strcmp(graven_result_column_name(result, 0), "$none"));
  CHECK(graven_result_column_name(result, 16) == NULL);
  CHECK(graven_result_value(result, 0) == NULL);
  CHECK(graven_result_next(result, NULL) == 1);
#define VALUE(at) graven_result_value(result, at)
  CHECK(VALUE(0) && graven_value_is_null(VALUE(0)));
  CHECK(graven_value_bool(VALUE(1)));
  CHECK(graven_value_int64(VALUE(2)) == INT64_MIN);
  CHECK(graven_value_double(VALUE(3)) == 0.5);
  CHECK(graven_value_text(VALUE(4)).length == 3);
  CHECK(graven_value_bytes(VALUE(5)).length == 2 && (uint8_t)graven_value_bytes(VALUE(5)).data[1] == 255);
  CHECK(graven_value_type(VALUE(6)) == GRAVEN_TYPE_LIST && graven_value_length(VALUE(6)) == 2);
  CHECK(is(graven_value_text(graven_value_item(VALUE(6), 1)), "two"));
  CHECK(graven_value_item(VALUE(6), 2) == NULL);
  CHECK(graven_value_int64(graven_value_get(VALUE(7), "key")) == 7);
  CHECK(graven_value_get(VALUE(7), "other") == NULL);
  CHECK(is(graven_value_key(VALUE(7), 0), "key"));
  CHECK(graven_value_type(VALUE(8)) == GRAVEN_TYPE_DATE && graven_value_days(VALUE(8)) == 20484);
  CHECK(graven_value_days(VALUE(9)) == -1);
  CHECK(graven_value_instant(VALUE(10)).seconds == 1000000000 && graven_value_instant(VALUE(10)).nanoseconds == 5);
  CHECK(is(graven_value_zone(VALUE(10)), "Europe/Berlin") && graven_value_offset(VALUE(10)) == 7200);
  CHECK(graven_value_type(VALUE(11)) == GRAVEN_TYPE_LOCAL_DATETIME && graven_value_instant(VALUE(11)).seconds == 1000000000);
  CHECK(graven_value_nanoseconds(VALUE(12)) == INT64_C(43200000000000) && graven_value_offset(VALUE(12)) == 7200);
  CHECK(graven_value_duration(VALUE(13)).months == 1 && graven_value_duration(VALUE(13)).nanoseconds == 4);
  CHECK(graven_value_point(VALUE(14)).srid == 9157 && graven_value_point(VALUE(14)).z == 3.0);
  graven_vector got = graven_value_vector(VALUE(15));
  CHECK(graven_value_type(VALUE(15)) == GRAVEN_TYPE_VECTOR);
  CHECK(got.width == 4 && got.is_float && got.dimension == 2 && !memcmp(got.data, numbers, sizeof numbers));
  CHECK(graven_value_vector(VALUE(14)).data == NULL);
  char *text = graven_value_to_text(VALUE(8));
  CHECK(!strcmp(text, "2026-01-31"));
  graven_text_free(text);
  graven_value *kept = graven_value_copy(VALUE(6), NULL);
  CHECK(graven_result_next(result, NULL) == 0 && graven_result_next(result, NULL) == 0);
  CHECK(VALUE(0) == NULL);
  graven_result_free(result);
  CHECK(graven_value_length(kept) == 2);
  graven_value_free(kept);
#undef VALUE
}

static void entities(graven_connection *connection) {
  graven_result *made = run(connection, "CREATE (:A:B {x: 1})-[:R {since: 3}]->(:C)", NULL);
  CHECK(graven_result_counter(made, "nodes_created") == 2);
  CHECK(graven_result_counter(made, "nodes") == -1);
  CHECK(graven_result_column_count(made) == 0 && graven_result_next(made, NULL) == 0);
  graven_result_free(made);
  graven_result *result = run(connection, "MATCH p = (a:A)-[r]->(c) RETURN a, r, p", NULL);
  CHECK(graven_result_next(result, NULL) == 1);
  const graven_value *node = graven_result_value(result, 0);
  const graven_value *relationship = graven_result_value(result, 1);
  const graven_value *path = graven_result_value(result, 2);
  CHECK(graven_value_type(node) == GRAVEN_TYPE_NODE && graven_node_label_count(node) == 2);
  CHECK(is(graven_node_label(node, 0), "A") && graven_node_label(node, 2).data == NULL);
  CHECK(graven_value_int64(graven_value_get(node, "x")) == 1 && graven_value_length(node) == 1);
  CHECK(is(graven_relationship_type(relationship), "R"));
  CHECK(graven_relationship_start(relationship) == graven_value_id(node));
  CHECK(graven_value_int64(graven_value_item(relationship, 0)) == 3);
  CHECK(graven_path_length(path) == 1 && graven_path_node(path, 2) == NULL);
  graven_value *last = graven_path_node(path, 1);
  CHECK(graven_value_id(last) == graven_relationship_end(relationship));
  graven_value_free(last);
  graven_value *step = graven_path_relationship(path, 0);
  CHECK(graven_value_id(step) == graven_value_id(relationship));
  graven_value_free(step);
  graven_result_free(result);
}

static void statements(graven_connection *connection) {
  graven_error *error = NULL;
  graven_statement *statement = graven_prepare(connection, "RETURN $a + 1 AS n, $t AS t", &error);
  CHECK(statement && !error);
  CHECK(graven_bind_int64(statement, "$a", 41, &error) && graven_bind_text(statement, "t", "xyz", 2, &error));
  graven_result *first = graven_execute(statement, &error);
  CHECK(first && graven_result_next(first, &error) == 1);
  CHECK(graven_value_int64(graven_result_value(first, 0)) == 42);
  CHECK(is(graven_value_text(graven_result_value(first, 1)), "xy"));
  CHECK(graven_bind_double(statement, "a", 0.5, &error) && graven_bind_null(statement, "t", &error));
  CHECK(graven_bind_bool(statement, "t", true, &error));
  CHECK(graven_bind_bytes(statement, "t", (const uint8_t *)"ab", 2, &error));
  graven_value *list = graven_value_new_list();
  CHECK(graven_bind_value(statement, "t", list, &error));
  graven_value_free(list);
  graven_result *second = graven_execute(statement, &error);
  CHECK(second && graven_result_next(second, &error) == 1);
  CHECK(graven_value_double(graven_result_value(second, 0)) == 1.5);
  graven_clear_bindings(statement);
  CHECK(!graven_execute(statement, &error));
  CHECK(failed_with(&error, "ParameterMissing.MissingParameter"));
  graven_statement_free(statement);
  graven_result_free(second);
  graven_result_free(first);
}

static void errors(graven_connection *connection) {
  graven_error *error = NULL;
  CHECK(!graven_query(connection, "RETURN\n  nix", NULL, &error));
  CHECK(graven_error_line(error) == 2 && graven_error_column(error) == 3);
  CHECK(strchr(graven_error_rendered(error), '^') && !graven_error_retryable(error));
  CHECK(failed_with(&error, "SyntaxError.UndefinedVariable"));
  CHECK(!graven_query(connection, NULL, NULL, &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_query(NULL, "RETURN 1", NULL, &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_query(connection, "RETURN '\xff'", NULL, &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_query(connection, "RETURN nix", NULL, NULL));
  CHECK(graven_result_next(NULL, &error) == -1 && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_value_new_temporal(GRAVEN_TYPE_DATE, "2026-02-30", &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_value_new_temporal(99, "2026-02-03", &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_value_new_date(INT64_MAX, &error) && failed_with(&error, "Request.Invalid"));
  graven_instant far = {INT64_MAX, 0};
  CHECK(!graven_value_new_datetime(far, NULL, &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_value_new_datetime((graven_instant){0, 0}, "Nix/Da", &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_value_new_point((graven_point){1, 0, 0, 0}, &error) && failed_with(&error, "Request.Invalid"));
  graven_value *number = graven_value_new_int64(1);
  CHECK(!graven_list_append(number, number, &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_list_append(number, graven_value_new_null(), &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_query(connection, "RETURN 1", number, &error) && failed_with(&error, "Request.Invalid"));
  graven_value_free(number);
  graven_value *deep = graven_value_new_list();
  for (int i = 0; i < 200; i++) {
    graven_value *outer = graven_value_new_list();
    if (!graven_list_append(outer, deep, &error)) {
      CHECK(i == 100 && failed_with(&error, "Request.Invalid"));
      deep = outer;
      break;
    }
    deep = outer;
  }
  graven_value_free(deep);
  CHECK(!graven_set(connection, "isolation", "none", &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_set(connection, "colour", "red", &error) && failed_with(&error, "Request.Invalid"));
  CHECK(!graven_open("/no/such/folder/x.graven", NULL, &error) && error);
  graven_error_free(error);
  error = NULL;
  graven_config *config = graven_config_new();
  CHECK(!graven_config_set(config, "memory", "much", &error) && failed_with(&error, "Config.Invalid"));
  CHECK(graven_config_set(config, "read_only", "true", &error) && !error);
  CHECK(!graven_open("missing.graven", config, &error) && failed_with(&error, "Database.NotFound"));
  graven_config_free(config);
  /* Rows beyond the first batch fail when they are reached. */
  graven_result *result = run(connection, "UNWIND range(0, 100000) AS i RETURN 1 / (90000 - i)", NULL);
  int row, rows = 0;
  while ((row = graven_result_next(result, &error)) == 1) rows++;
  CHECK(row == -1 && error && rows > 0);
  graven_error_free(error);
  error = NULL;
  graven_result_free(result);
  /* Nothing of null is something. */
  graven_result_free(NULL);
  graven_value_free(NULL);
  graven_error_free(NULL);
  graven_rollback(NULL);
  graven_disconnect(NULL);
  CHECK(graven_close(NULL, NULL) && graven_value_is_null(NULL) && !graven_commit(NULL, NULL));
}

static void transactions(graven_connection *connection) {
  graven_error *error = NULL;
  graven_transaction *one = graven_begin(connection, &error);
  graven_result_free(graven_transaction_query(one, "CREATE (:Account {id: 1, balance: 5})", NULL, &error));
  CHECK(!error && graven_commit(one, &error));
  one = graven_begin(connection, &error);
  graven_transaction *two = graven_begin(connection, &error);
  graven_result_free(graven_transaction_query(one, "MATCH (a:Account) SET a.balance = 6", NULL, &error));
  graven_result_free(graven_transaction_query(two, "MATCH (a:Account) SET a.balance = 7", NULL, &error));
  graven_error_free(error);
  error = NULL;
  CHECK(graven_commit(one, &error) && !error);
  CHECK(!graven_commit(two, &error) && error);
  graven_error_free(error);
  error = NULL;
  one = graven_begin(connection, &error);
  graven_result_free(graven_transaction_query(one, "MATCH (a:Account) SET a.balance = 8", NULL, &error));
  graven_rollback(one);
  graven_result *result = run(connection, "MATCH (a:Account) RETURN a.balance", NULL);
  CHECK(graven_result_next(result, NULL) == 1 && graven_value_int64(graven_result_value(result, 0)) == 6);
  graven_result_free(result);
  CHECK(graven_set(connection, "isolation", "serializable", &error));
  CHECK(graven_set(connection, "durability", "relaxed:20", &error));
  CHECK(graven_set(connection, "timeout_ms", "1", &error));
  CHECK(!graven_query(connection, "UNWIND range(1, 100000000) AS x RETURN sum(x)", NULL, &error));
  CHECK(failed_with(&error, "Statement.TimedOut"));
  CHECK(graven_set(connection, "timeout_ms", "0", &error));
}

static void streams(graven_connection *connection) {
  graven_error *error = NULL;
  graven_result *result = run(connection, "UNWIND range(1, 5000) AS i RETURN i, toString(i) AS t", NULL);
  CHECK(graven_result_next(result, NULL) == 1);
  struct ArrowArrayStream stream;
  CHECK(graven_result_arrow(result, &stream, &error));
  struct ArrowArrayStream again;
  CHECK(!graven_result_arrow(result, &again, &error) && failed_with(&error, "Request.Invalid"));
  graven_result_free(result);
  struct ArrowSchema schema;
  CHECK(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 2);
  CHECK(!strcmp(schema.children[0]->name, "i") && !strcmp(schema.children[0]->format, "l"));
  CHECK(!strcmp(schema.children[1]->format, "u"));
  schema.release(&schema);
  int64_t rows = 0, sum = 0;
  for (;;) {
    struct ArrowArray batch;
    CHECK(stream.get_next(&stream, &batch) == 0);
    if (!batch.release) break;
    const int64_t *numbers = (const int64_t *)batch.children[0]->buffers[1] + batch.children[0]->offset;
    for (int64_t i = 0; i < batch.length; i++) sum += numbers[i];
    rows += batch.length;
    batch.release(&batch);
  }
  stream.release(&stream);
  CHECK(rows == 4999 && sum == INT64_C(12502500) - 1);
}

int main(int count, char **arguments) {
  CHECK(count == 2 && strlen(graven_version()) > 0 && graven_storage_version() > 0);
  graven_error *error = NULL;
  graven_config *config = graven_config_new();
  CHECK(graven_config_set(config, "memory", "32MiB", &error) && graven_config_set(config, "threads", "2", &error));
  graven_database *database = graven_open(arguments[1], config, &error);
  graven_config_free(config);
  CHECK(database && graven_memory(database) == 32 << 20);
  graven_connection *connection = graven_connect(database, &error);
  values(connection);
  entities(connection);
  statements(connection);
  errors(connection);
  transactions(connection);
  streams(connection);
  graven_result *plan = run(connection, "EXPLAIN MATCH (n:Nothing) RETURN n", NULL);
  CHECK(graven_result_plan(plan) && strlen(graven_result_plan(plan)) > 10);
  CHECK(graven_result_notice_count(plan) > 0 && graven_result_notice(plan, 0));
  graven_result_free(plan);
  CHECK(graven_set_memory(database, "16MiB", &error) && graven_checkpoint(database, &error));
  char copy[4096];
  snprintf(copy, sizeof copy, "%s.copy.graven", arguments[1]);
  CHECK(graven_backup(database, copy, &error));
  /* The database goes first; what was read stays. */
  graven_result *late = run(connection, "MATCH (a:Account) RETURN a", NULL);
  CHECK(graven_result_next(late, NULL) == 1);
  CHECK(graven_close(database, &error) && !error);
  CHECK(graven_value_int64(graven_value_get(graven_result_value(late, 0), "balance")) == 6);
  graven_result_free(late);
  graven_disconnect(connection);
  /* A database without a name lives as long as its connection. */
  database = graven_open(NULL, NULL, &error);
  connection = graven_connect(database, &error);
  graven_result_free(run(connection, "CREATE (:Gone)", NULL));
  graven_disconnect(connection);
  CHECK(graven_close(database, &error));
  if (failures) fprintf(stderr, "%d failures\n", failures);
  return failures ? 1 : 0;
}

/* Makes a small graph, asks it a question with parameters, and prints what comes.
 *
 * cc hello.c $(pkg-config --cflags --libs graven) -o hello && ./hello people.graven
 */
#include <graven.h>
#include <stdio.h>

static int fail(graven_error *error) {
  fprintf(stderr, "%s\n%s\n", graven_error_code(error), graven_error_rendered(error));
  graven_error_free(error);
  return 1;
}

int main(int count, char **arguments) {
  graven_error *error = NULL;
  graven_database *database = graven_open(count > 1 ? arguments[1] : NULL, NULL, &error);
  if (!database) return fail(error);
  graven_connection *connection = graven_connect(database, &error);
  if (!connection) return fail(error);

  /* A statement that is run often is planned once. */
  graven_statement *create =
      graven_prepare(connection, "CREATE (:Person {name: $name, born: $born})", &error);
  if (!create) return fail(error);
  const char *names[] = {"Ada", "Grace", "Edsger"};
  const int64_t born[] = {1815, 1906, 1930};
  for (int i = 0; i < 3; i++) {
    graven_bind_text(create, "name", names[i], GRAVEN_TO_ZERO, NULL);
    graven_bind_int64(create, "born", born[i], NULL);
    graven_result *done = graven_execute(create, &error);
    if (!done) return fail(error);
    graven_result_free(done);
  }
  graven_statement_free(create);

  graven_value *parameters = graven_value_new_map();
  graven_map_set(parameters, "before", graven_value_new_int64(1910), NULL);
  graven_result *result = graven_query(
      connection,
      "MATCH (p:Person) WHERE p.born < $before RETURN p.name AS name, p.born AS born ORDER BY born",
      parameters, &error);
  graven_value_free(parameters);
  if (!result) return fail(error);
  int row;
  while ((row = graven_result_next(result, &error)) == 1) {
    graven_string name = graven_value_text(graven_result_value(result, 0));
    printf("%.*s was born in %lld\n", (int)name.length, name.data,
           (long long)graven_value_int64(graven_result_value(result, 1)));
  }
  if (row < 0) return fail(error);
  graven_result_free(result);

  graven_disconnect(connection);
  if (!graven_close(database, &error)) return fail(error);
  return 0;
}

/* Goal: threads share a database, and one connection; a statement can be interrupted from another
 * thread. */
#include <graven.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static graven_database *database;
static graven_connection *shared;

static void *count(void *own) {
  graven_connection *connection = own ? graven_connect(database, NULL) : shared;
  int64_t wrong = 0;
  for (int64_t i = 1; i <= 50; i++) {
    graven_value *parameters = graven_value_new_map();
    graven_map_set(parameters, "n", graven_value_new_int64(i), NULL);
    graven_result *result =
        graven_query(connection, "UNWIND range(1, $n) AS x CREATE (:T) RETURN sum(x)", parameters, NULL);
    graven_value_free(parameters);
    wrong += graven_result_next(result, NULL) != 1;
    wrong += graven_value_int64(graven_result_value(result, 0)) != i * (i + 1) / 2;
    graven_result_free(result);
  }
  if (own) graven_disconnect(connection);
  return (void *)wrong;
}

static volatile int ended = 0;

static void *endless(void *unused) {
  (void)unused;
  graven_error *error = NULL;
  graven_query(shared, "UNWIND range(1, 1000000000000) AS x RETURN sum(x)", NULL, &error);
  void *wrong = (void *)(int64_t)!(error && !strcmp(graven_error_code(error), "Statement.Cancelled"));
  graven_error_free(error);
  ended = 1;
  return wrong;
}

int main(void) {
  database = graven_open(NULL, NULL, NULL);
  shared = graven_connect(database, NULL);
  pthread_t threads[4];
  int64_t wrong = 0;
  void *answer;
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, count, i % 2 ? &threads[i] : NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], &answer), wrong += (int64_t)answer;
  graven_result *result = graven_query(shared, "MATCH (t:T) RETURN count(t)", NULL, NULL);
  wrong += graven_result_next(result, NULL) != 1;
  wrong += graven_value_int64(graven_result_value(result, 0)) != 4 * 1275;
  graven_result_free(result);
  pthread_create(&threads[0], NULL, endless, NULL);
  /* A statement that is about to begin forgets what was asked before. */
  while (!ended) graven_interrupt(shared), usleep(1000);
  pthread_join(threads[0], &answer);
  wrong += (int64_t)answer;
  graven_disconnect(shared);
  wrong += !graven_close(database, NULL);
  if (wrong) fprintf(stderr, "%lld things were wrong\n", (long long)wrong);
  return wrong != 0;
}

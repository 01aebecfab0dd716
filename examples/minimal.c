/* One fully connected layer, in C: every rank has two samples, everybody gets the mean gradient of all. */
#include <dsop/dsop.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 300, m = 200, k = 2 }; /* inputs, outputs, samples a rank */

static float a[k][n], b[k][m], gradient[n][m];

static void check(int status) {
  if (status == DSOP_SUCCESS) return;
  fprintf(stderr, "error: %s\n", dsop_last_error());
  dsop_abort(EXIT_FAILURE);
}

int main(void) {
  dsop_communicator all = 0;
  dsop_outer_product layer = 0;
  int rank = 0, size = 1;
  check(dsop_init()); /* starts MPI under mpirun, and nothing without it */
  check(dsop_communicator_world(&all));
  check(dsop_communicator_rank(all, &rank, &size));

  for (int i = 0; i < k; ++i) {
    for (int j = 0; j < n; ++j) a[i][j] = 1;           /* what went into the layer, a sample a row */
    for (int j = 0; j < m; ++j) b[i][j] = (float)rank; /* the error that came back, a sample a row */
  }
  const dsop_factor inputs = {.values = a, .rows = k, .columns = n}, errors = {.values = b, .rows = k, .columns = m};
  const dsop_matrix sum = {.values = gradient, .rows = n, .columns = m};
  char options[40];
  snprintf(options, sizeof options, "scale=%.17g", 1.0 / (k * size));

  /* One call that picks the algorithm ... */
  check(dsop_sum_outer_products(all, DSOP_F32, &inputs, &errors, &sum, options));

  /* ... or a layer that plans once and keeps its buffers. */
  check(dsop_outer_product_create(all, DSOP_F32, n, m, k, options, &layer));
  check(dsop_outer_product_run(layer, &inputs, &errors, &sum));

  const char* algorithm = NULL;
  check(dsop_outer_product_plan(layer, NULL, &algorithm));
  if (rank == 0) printf("%s: every element is %g\n", algorithm, (double)gradient[0][0]);
  check(dsop_outer_product_free(layer));
  check(dsop_communicator_free(all));
  check(dsop_finalize());
  return 0;
}

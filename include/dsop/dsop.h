/* dsop for C, and for every language that calls C: sums over ranks of outer products, sparse and dense vectors. Link
 * with -ldsop_c; no mpi.h is needed.
 *
 * Every function returns a status: DSOP_SUCCESS, or what went wrong, with the full text in dsop_last_error(). Objects
 * are handles: numbers that are never used again, so that one which is dead, 0 or of another kind is an error, not a
 * crash. Free each with the function of its kind; to free 0 does nothing. Texts and arrays that a function hands out
 * belong to the library and stay until the object is freed or changed; a text that belongs to no object, until the
 * thread's next call that hands out such a text.
 *
 * `options` is a text of pairs NAME=VALUE separated by semicolons, null or "" for none: "algorithm=ring; scale=0.5".
 * Which names there are is said with each function. All ranks give the same. A machine is `machine=FILE` or
 * `machine=handle:NUMBER`.
 *
 * Functions with a communicator, or an object made with one, communicate unless it says otherwise: all ranks make the
 * same calls in the same order, one thread at a time. A wrong argument on one rank is DSOP_ERROR_ARGUMENT on all, with
 * the same text, but for a wrong handle, which its rank alone sees. What calls compute, cost and promise is said in the
 * C++ headers, under the same names. */
#ifndef DSOP_DSOP_H
#define DSOP_DSOP_H

#include <stddef.h>
#include <stdint.h>

#define DSOP_VERSION_MAJOR 0
#define DSOP_VERSION_MINOR 1
#define DSOP_VERSION_PATCH 0

#if defined(__GNUC__)
#define DSOP_API __attribute__((visibility("default")))
#else
#define DSOP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns. */
typedef enum {
  DSOP_SUCCESS = 0,
  DSOP_ERROR_ARGUMENT = 1,    /* the call makes no sense; after it the communicator can be used again */
  DSOP_ERROR_TRANSPORT = 2,   /* a rank is lost: the communicator is of no more use */
  DSOP_ERROR_MEMORY = 3,      /* there is not enough of it */
  DSOP_ERROR_INTERRUPTED = 4, /* what dsop_set_interrupt() was given has ended a wait: as DSOP_ERROR_TRANSPORT */
  DSOP_ERROR_OTHER = 5        /* a file that can't be read, a body on threads that failed, ... */
} dsop_status;

/* The type of elements. */
typedef int dsop_type;
enum { DSOP_F32 = 0, DSOP_F64 = 1 };

typedef uint64_t dsop_communicator;
typedef uint64_t dsop_pending;
typedef uint64_t dsop_outer_product;
typedef uint64_t dsop_rows;
typedef uint64_t dsop_sparse_allreduce;
typedef uint64_t dsop_topk_allreduce;
typedef uint64_t dsop_sum;
typedef uint64_t dsop_synchronizer;
typedef uint64_t dsop_selector;
typedef uint64_t dsop_machine;

/* A row-major matrix of the caller's: `stride` elements from one row to the next, 0 for `columns`. */
typedef struct {
  void* values;
  size_t rows;
  size_t columns;
  size_t stride;
} dsop_matrix;

/* A factor, pairs x n or pairs x m. Dense: as dsop_matrix, the rest 0. Sparse where row_offsets is given, compressed
 * rows: rows + 1 offsets into `nonzeros` column indices, which rise within a row, and as many values. */
typedef struct {
  const void* values;
  size_t rows;
  size_t columns;
  size_t stride;
  const size_t* row_offsets;
  const uint32_t* column_indices;
  size_t nonzeros;
} dsop_factor;

/* A vector of `dimension` elements. Sparse: `count` indices, which rise, and as many values. Dense: no indices, and
 * count is dimension, at most 2^32. */
typedef struct {
  size_t dimension;
  size_t count;
  const uint32_t* indices;
  const void* values;
} dsop_vector;

/* ---- The library ---- */

/* The text of this thread's last call that failed; "" before any. */
DSOP_API const char* dsop_last_error(void);
/* "0.1.0", of the library that runs; DSOP_VERSION_... are those of this header. */
DSOP_API const char* dsop_version(void);
/* Starts MPI with MPI_THREAD_MULTIPLE where a launcher (mpirun, srun --mpi) has started this process and nobody has
 * started MPI yet. Without a launcher MPI is never touched. May be called again. No other function starts MPI. */
DSOP_API int dsop_init(void);
/* Ends MPI if dsop_init() has started it and nobody has ended it. All ranks call it. */
DSOP_API int dsop_finalize(void);
/* Ends all ranks of the job, with this exit status; this process alone where there is no MPI, or after a fork in the
 * child. Does not return. */
DSOP_API void dsop_abort(int exit_status);
/* What was built and what runs, a JSON object: version, mpi (the library, or null), mpi_error (a text
 * where it is another than dsop is built for, or null), mpi_initialized, mpi_launcher (whether one has started this
 * process), started_without_mpi (null, or rank and ranks of a process that something else has started with others, and
 * the names of the variables that say so), blas, blas_core, blas_keeps_up (false: its core has no AVX, and the processor
 * has), instruction_set, threads. */
DSOP_API int dsop_info(const char** text);
/* `interrupted` is asked every 100 ms by waits of the thread that calls this (null: not any more). If it does not
 * return 0, the wait ends with DSOP_ERROR_INTERRUPTED. Waits within MPI's own collectives do not ask. After that,
 * functions that free objects of a communicator, and dsop_finalize(), do nothing: they would wait again. */
DSOP_API int dsop_set_interrupt(int (*interrupted)(void));
/* How many algorithms there are in all families. */
DSOP_API int dsop_algorithm_count(size_t* count);
/* Family, name, one line about it, and its source, of algorithm 0 .. count - 1. They stay for ever. */
DSOP_API int dsop_algorithm_describe(size_t index, const char** family, const char** name, const char** summary,
                                     const char** source);

/* ---- Communicators ---- */

/* All ranks: those of MPI_COMM_WORLD where MPI runs, else this process alone. Fails where a launcher has started this
 * process and MPI does not run: call dsop_init() first; and where the environment says that something else has started
 * it with others (dsop_info(): started_without_mpi), which would then be alone each. */
DSOP_API int dsop_communicator_world(dsop_communicator* communicator);
/* Of a communicator of MPI's, as MPI_Comm_c2f() gives it. dsop duplicates it on first use. */
DSOP_API int dsop_communicator_from_mpi(int mpi_fint, dsop_communicator* communicator);
/* Of processes without a launcher and without MPI, each a rank 0 .. ranks - 1, which find each other through a store and
 * send over TCP; all call it. `get` writes the text of a key that is there, and a zero, into `room` bytes. `wait` waits
 * for a key for up to so many seconds, perhaps 0, and returns 1 if it is there and 0 if not. set and get return 0; any
 * other value of the three says that the store has failed. They are called before this returns, by this thread.
 * Options: run, restart (keys begin with them), limit_seconds (for all ranks to come), interface. Fails on all ranks with
 * DSOP_ERROR_TRANSPORT if one does not come, two have one number, or the store loses what was set. */
DSOP_API int dsop_communicator_from_store(int (*set)(const char* key, const char* value, void* data),
                                          int (*get)(const char* key, char* value, size_t room, void* data),
                                          int (*wait)(const char* key, double seconds, void* data), void* data,
                                          int rank, int ranks, const char* options, dsop_communicator* communicator);
/* The same with a file that all ranks see as the store. It may serve several runs. */
DSOP_API int dsop_communicator_from_file(const char* path, int rank, int ranks, const char* options,
                                         dsop_communicator* communicator);
/* Another that counts what passes through this one, and is used instead of it, as long as this one lives. */
DSOP_API int dsop_communicator_count_traffic(dsop_communicator communicator, dsop_communicator* counting);
/* What this rank has sent through one that counts: payload, and the records by which calls agree. */
DSOP_API int dsop_communicator_traffic(dsop_communicator counting, size_t* payload_messages, size_t* payload_bytes,
                                       size_t* agreement_messages, size_t* agreement_bytes);
DSOP_API int dsop_communicator_rank(dsop_communicator communicator, int* rank, int* size);
/* In place of a call that this rank can't make: fails with DSOP_ERROR_ARGUMENT on all ranks, `error` in its text. */
DSOP_API int dsop_communicator_fail(dsop_communicator communicator, const char* error);
/* Forgets the handle. A communicator of MPI's stays MPI's; one over TCP ends with the last object that was made with it.
 * Over MPI communicates nothing; over TCP its end completes what was started, and waits for messages on their way. */
DSOP_API int dsop_communicator_free(dsop_communicator communicator);
/* Runs body on so many threads, each a rank whose communicator is dead when body returns, and returns when all have
 * ended. What a body returns is a status: if one is not 0, ranks that wait for it fail, and this call does so too. */
DSOP_API int dsop_run_on_threads(int ranks, int (*body)(dsop_communicator communicator, void* data), void* data,
                                 int omp_threads);
/* What is done about calls that wait for more than so many seconds (0: never): on_stall is called, if it is not null,
 * by the thread that waits, with the text; and where `throws` is not 0 the wait fails with DSOP_ERROR_TRANSPORT. Sends
 * nothing. */
DSOP_API int dsop_set_stall_watch(dsop_communicator communicator, double limit_seconds,
                                  void (*on_stall)(const char* text, void* data), void* data, int throws);
/* How late a rank came to the calls on this communicator: how many are counted (all but the last), how long after the
 * first rank it came to the last of them, and on average, and to how many it came after all others. Any may be null. The
 * same on all ranks. Sends nothing. */
DSOP_API int dsop_arrivals(dsop_communicator communicator, int rank, uint64_t* calls, double* last_seconds,
                           double* mean_seconds, uint64_t* came_last);

/* ---- Dense vectors. Options: algorithm, machine, allow_native. ---- */

DSOP_API int dsop_allreduce(dsop_communicator communicator, dsop_type type, void* values, size_t count,
                            const char* options);
DSOP_API int dsop_broadcast(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                            const char* options);
DSOP_API int dsop_reduce(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                         const char* options);
/* Return at once: the values must stay, and be left alone, until dsop_wait() or dsop_test() says that the call is
 * complete. */
DSOP_API int dsop_start_allreduce(dsop_communicator communicator, dsop_type type, void* values, size_t count,
                                  const char* options, dsop_pending* pending);
DSOP_API int dsop_start_broadcast(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                                  const char* options, dsop_pending* pending);
DSOP_API int dsop_start_reduce(dsop_communicator communicator, dsop_type type, void* values, size_t count, int root,
                               const char* options, dsop_pending* pending);
/* Waits for a call that was started, and returns its status. The handle is dead afterwards. */
DSOP_API int dsop_wait(dsop_pending pending);
/* Whether it is complete (*complete is 1); then returns its status, and the handle is dead. On one rank, and over MPI
 * without MPI_THREAD_MULTIPLE, it runs the call. */
DSOP_API int dsop_test(dsop_pending pending, int* complete);

/* ---- Outer products. Options: algorithm, scale, alpha, beta, machine, allow_native, find_zeros,
 * wire (full or bf16), factor_wire (the same), check_bits. ---- */

/* gradient (n x m) = beta gradient + alpha sum, which is scale times that over ranks of a^T b, a being pairs x n and b
 * pairs x m. Without alpha and beta: the sum. */
DSOP_API int dsop_sum_outer_products(dsop_communicator communicator, dsop_type type, const dsop_factor* a,
                                     const dsop_factor* b, const dsop_matrix* gradient, const char* options);
/* The plan of the last of these calls on the communicator, and what such calls took, as text of several lines. Sends
 * nothing. */
DSOP_API int dsop_last_plan(dsop_communicator communicator, const char** text);
/* The same for one layer, planned once. Further options: density_a, density_b, expected_pairs. */
DSOP_API int dsop_outer_product_create(dsop_communicator communicator, dsop_type type, size_t rows, size_t columns,
                                       size_t max_pairs, const char* options, dsop_outer_product* layer);
DSOP_API int dsop_outer_product_run(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                                    const dsop_matrix* gradient);
/* Leaves this rank its own rows, dsop_outer_product_row_bounds(). Factors are dense. */
DSOP_API int dsop_outer_product_run_sharded(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                                            const dsop_matrix* own_rows);
/* The gradient's rows that are not all zero, instead of it. */
DSOP_API int dsop_outer_product_run_rows(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                                         dsop_rows* rows);
/* Returns at once; factors and gradient stay until dsop_wait(), these structures need not. */
DSOP_API int dsop_outer_product_start(dsop_outer_product layer, const dsop_factor* a, const dsop_factor* b,
                                      const dsop_matrix* gradient, dsop_pending* pending);
/* The plan of the last run as text of several lines, and its algorithm. Either may be null. Sends nothing. */
DSOP_API int dsop_outer_product_plan(dsop_outer_product layer, const char** text, const char** algorithm);
/* Ranks + 1 numbers: rank r's rows of a sharded gradient are bounds[r] .. bounds[r + 1]. Sends nothing. */
DSOP_API int dsop_outer_product_row_bounds(dsop_outer_product layer, const size_t** bounds, size_t* count);
DSOP_API int dsop_outer_product_free(dsop_outer_product layer);
/* `count` rows of `columns` elements of the layer's type; row i is row indices[i] of the gradient. Sends nothing. */
DSOP_API int dsop_rows_get(dsop_rows rows, size_t* count, size_t* columns, const uint32_t** indices,
                           const void** values);
DSOP_API int dsop_rows_free(dsop_rows rows);

/* ---- Sparse vectors. Options: algorithm, machine, wire. ---- */

/* The sum over ranks. */
DSOP_API int dsop_sum_sparse(dsop_communicator communicator, dsop_type type, const dsop_vector* own,
                             const char* options, dsop_sum* sum);
/* Returns at once; what `own` points to stays until dsop_wait(), this structure need not. The sum can be looked at when
 * the call is complete; to free it before is no error. */
DSOP_API int dsop_start_sum_sparse(dsop_communicator communicator, dsop_type type, const dsop_vector* own,
                                   const char* options, dsop_sum* sum, dsop_pending* pending);
/* For sums of vectors that belong together. Sends nothing: what is wrong with the options is said by the first run. */
DSOP_API int dsop_sparse_allreduce_create(dsop_communicator communicator, dsop_type type, const char* options,
                                          dsop_sparse_allreduce* allreduce);
DSOP_API int dsop_sparse_allreduce_run(dsop_sparse_allreduce allreduce, const dsop_vector* own, dsop_sum* sum);
/* As dsop_start_sum_sparse(). */
DSOP_API int dsop_sparse_allreduce_start(dsop_sparse_allreduce allreduce, const dsop_vector* own, dsop_sum* sum,
                                         dsop_pending* pending);
DSOP_API int dsop_sparse_allreduce_free(dsop_sparse_allreduce allreduce);
/* The sum, and the algorithm that made it. Either may be null. Sends nothing. */
DSOP_API int dsop_sum_get(dsop_sum sum, dsop_vector* vector, const char** algorithm);
/* Of the sum of a top-k allreduce: what this rank chose, what was not finite, the indices of the chosen that took part
 * (until the allreduce's next run), and whether ok-topk found this rank's threshold, and that of sums, anew. Any may be
 * null. Sends nothing. */
DSOP_API int dsop_sum_chosen(dsop_sum sum, size_t* chosen, size_t* nans, size_t* infinities, const uint32_t** took_part,
                             size_t* took_part_count, int* evaluated_local, int* evaluated_global);
DSOP_API int dsop_sum_free(dsop_sum sum);

/* ---- Top-k allreduces. Options: algorithm, machine, wire. ---- */

/* `state` is null or what dsop_topk_allreduce_state() gave. Sends nothing: what is wrong with the options, or the
 * state, is said by the first run. */
DSOP_API int dsop_topk_allreduce_create(dsop_communicator communicator, dsop_type type, size_t elements,
                                        const char* options, const char* state, dsop_topk_allreduce* allreduce);
/* values: in, gradient plus residual; out, the new residual. */
DSOP_API int dsop_topk_allreduce_run(dsop_topk_allreduce allreduce, void* values, size_t count, size_t k,
                                     dsop_sum* sum);
/* Returns at once; values stay, and are left alone, until dsop_wait(), which comes before the allreduce's next run or
 * start. The sum can be looked at when the call is complete. */
DSOP_API int dsop_topk_allreduce_start(dsop_topk_allreduce allreduce, void* values, size_t count, size_t k,
                                       dsop_sum* sum, dsop_pending* pending);
/* What to save with a checkpoint. Sends nothing. */
DSOP_API int dsop_topk_allreduce_state(dsop_topk_allreduce allreduce, const char** state);
DSOP_API int dsop_topk_allreduce_free(dsop_topk_allreduce allreduce);

/* ---- The synchronizer: all gradients of a model ---- */

/* Options: bucket_bytes, residual_holds_step, overlap, machine, wire. */
DSOP_API int dsop_synchronizer_create(dsop_communicator communicator, dsop_type type, const char* options,
                                      dsop_synchronizer* synchronizer);
/* Registers a parameter whose gradient is rows x columns; max_pairs 0: no factors will be given. Options: density_a,
 * density_b, expected_pairs; of a bias bias_of, a weight's name, and errors, a or b. Policies: as C++'s Synchronizer
 * lists them. */
DSOP_API int dsop_synchronizer_add(dsop_synchronizer synchronizer, const char* name, size_t rows, size_t columns,
                                   size_t max_pairs, const char* policy, const char* options);
DSOP_API int dsop_synchronizer_set_policy(dsop_synchronizer synchronizer, const char* name, const char* policy);
/* Whether a part of the gradient stays behind in a residual under such a policy. Sends nothing. */
DSOP_API int dsop_policy_selects(const char* policy, int* selects);
/* Begins a step. Never waits. */
DSOP_API int dsop_synchronizer_begin(dsop_synchronizer synchronizer, double scale, double learning_rate);
/* Hands over a parameter's factors; dsop_synchronizer_finish() leaves beta target + alpha sum in `target`, the sum being
 * scale times that of a^T b: the gradient with 1 and 0, a momentum or the weights with others. Never waits; what is
 * wrong is said by finish, on all ranks. Arrays stay until then, these structures need not. */
DSOP_API int dsop_synchronizer_give_factors(dsop_synchronizer synchronizer, const char* name, const dsop_factor* a,
                                            const dsop_factor* b, const dsop_matrix* target, double alpha, double beta);
/* The sum of what stands in `gradient` replaces it. */
DSOP_API int dsop_synchronizer_give_gradient(dsop_synchronizer synchronizer, const char* name,
                                             const dsop_matrix* gradient);
/* As factors: a vector whose indices count the target's elements row by row. */
DSOP_API int dsop_synchronizer_give_vector(dsop_synchronizer synchronizer, const char* name, const dsop_vector* own,
                                           const dsop_matrix* target, double alpha, double beta);
/* In place of a give that this rank can't make, say after an exception: finish fails with `error` on all ranks. `name`
 * may be null. Never waits. */
DSOP_API int dsop_synchronizer_fail(dsop_synchronizer synchronizer, const char* name, const char* error);
/* Returns when all gradients are complete. If it fails with DSOP_ERROR_ARGUMENT, the step is dropped on all ranks and
 * the next may begin. */
DSOP_API int dsop_synchronizer_finish(dsop_synchronizer synchronizer);
/* A table of parameters, policies, algorithms, bytes and times. Sends nothing. */
DSOP_API int dsop_synchronizer_describe(dsop_synchronizer synchronizer, const char** text);
/* What this rank has dropped of a parameter so far. Sends nothing. */
DSOP_API int dsop_synchronizer_residual(dsop_synchronizer synchronizer, const char* name, const void** values,
                                        size_t* count);
/* Sets this rank's residuals to zero, of all parameters, as after a step that overflowed. Between steps. Sends nothing. */
DSOP_API int dsop_synchronizer_reset_residuals(dsop_synchronizer synchronizer);
/* What the last step did to a parameter, as dsop_sum_chosen() says it. Any may be null. Sends nothing. */
DSOP_API int dsop_synchronizer_last_step(dsop_synchronizer synchronizer, const char* name, const char** algorithm,
                                         size_t* target, size_t* chosen, size_t* in_sum, size_t* nans,
                                         size_t* infinities, int* evaluated_local, int* evaluated_global);
/* Of the same step: how many elements gaussian-k's threshold reached before it was corrected (of others, the chosen),
 * and the seconds that this rank took in finish to select. Either may be null. Sends nothing. */
DSOP_API int dsop_synchronizer_last_selection(dsop_synchronizer synchronizer, const char* name, size_t* predicted,
                                              double* selection_seconds);
/* This rank's residuals and states, for a checkpoint: so many bytes, which stay until the next save. Sends nothing. */
DSOP_API int dsop_synchronizer_save(dsop_synchronizer synchronizer, const void** bytes, size_t* count);
DSOP_API int dsop_synchronizer_load(dsop_synchronizer synchronizer, const void* bytes, size_t count);
DSOP_API int dsop_synchronizer_free(dsop_synchronizer synchronizer);

/* ---- Selections. Nothing here communicates. ---- */

/* `algorithm`: of the family "selection", null for "exact". */
DSOP_API int dsop_selector_create(dsop_type type, const char* algorithm, uint64_t step, uint64_t seed, double threshold,
                                  dsop_selector* selector);
/* Writes about k of `count` values, with their indices, into arrays with room for `room`. */
DSOP_API int dsop_selector_select(dsop_selector selector, const void* values, size_t count, size_t k, uint32_t* indices,
                                  void* chosen_values, size_t room, size_t* chosen, double* threshold, size_t* nans,
                                  size_t* infinities);
/* Of the last of these: whether a threshold that is reused was found anew, and how many elements gaussian's threshold
 * reached before it was corrected (of others, the chosen). Either may be null. */
DSOP_API int dsop_selector_last(dsop_selector selector, int* evaluated, size_t* predicted);
DSOP_API int dsop_selector_state(dsop_selector selector, uint64_t* step, uint64_t* seed, double* threshold);
DSOP_API int dsop_selector_free(dsop_selector selector);

/* ---- Machines and plans. Nothing here communicates but dsop_machine_of(). ---- */

/* The one that is assumed where nothing is known; of ranks that are threads if on_threads is not 0. */
DSOP_API int dsop_machine_default(int on_threads, dsop_machine* machine);
/* What calls on the communicator plan for where they must choose and are given none: as DSOP_MACHINE says, measured over
 * MPI and TCP, once. All ranks call it. */
DSOP_API int dsop_machine_of(dsop_communicator communicator, dsop_machine* machine);
DSOP_API int dsop_machine_read(const char* path, dsop_machine* machine);
DSOP_API int dsop_machine_write(dsop_machine machine, const char* path);
/* As the text of its file: JSON, with all its numbers and the levels inside its network. */
DSOP_API int dsop_machine_text(dsop_machine machine, const char** text);
/* The machine of such a text. What it leaves out is as dsop_machine_default(0, ...) has it. */
DSOP_API int dsop_machine_of_text(const char* text, dsop_machine* machine);
/* Of a step in a ring and with changing partners, a product of n x m elements with inner dimension K, an addition of so
 * many elements. Any may be null. */
DSOP_API int dsop_machine_seconds(dsop_machine machine, dsop_type type, size_t bytes, double n, double m, double K,
                                  double* message, double* exchange, double* product, double* addition);
DSOP_API int dsop_machine_free(dsop_machine machine);
/* What a sum of outer products would do: rank r gives pairs[r] pairs. Options: algorithm, machine, wire, factor_wire,
 * sharded, nodes (the lowest rank of each rank's node: 0,0,2,2). `seconds` are those of the whole call, with the
 * agreement that opens it. */
DSOP_API int dsop_plan_outer_products(dsop_type type, size_t rows, size_t columns, const size_t* pairs, int ranks,
                                      const char* options, const char** text, double* seconds);
/* What a sparse allreduce would do: rank r gives nonzeros[r] elements. Options: algorithm, machine, wire, nodes,
 * overlap (uniform, full or none). `seconds` as above. */
DSOP_API int dsop_plan_sparse(dsop_type type, size_t elements, const size_t* nonzeros, int ranks, const char* options,
                              const char** text, double* seconds);
/* What a top-k allreduce costs, beside the selection and the agreement that opens the call: the busiest rank's.
 * Options: algorithm, machine, wire, nodes. */
DSOP_API int dsop_plan_topk(dsop_type type, size_t elements, size_t k, int ranks, const char* options, size_t* messages,
                            size_t* bytes, double* seconds);

#ifdef __cplusplus
}
#endif
#endif

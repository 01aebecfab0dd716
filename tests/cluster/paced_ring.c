/* paced_ring BYTES REPEATS PAUSE_MILLISECONDS: each rank sends BYTES to the next and receives as many from the one
 * before, after a pause in which the links' buckets refill. Rank 0 prints the seconds of each repeat, the maximum
 * over the ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = atoi(argv[1]), repeats = atoi(argv[2]), pause_milliseconds = atoi(argv[3]);
  char* outgoing = calloc((size_t)bytes, 1);
  char* incoming = calloc((size_t)bytes, 1);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  for (int repeat = -1; repeat < repeats; ++repeat) { /* the first one makes the connections */
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(1000 * (useconds_t)pause_milliseconds);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Sendrecv(outgoing, bytes, MPI_CHAR, next, 0, incoming, bytes, MPI_CHAR, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    const double mine = MPI_Wtime() - start;
    double slowest;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && repeat >= 0) printf("%.9f\n", slowest);
  }
  free(outgoing);
  free(incoming);
  MPI_Finalize();
}

// paced_send BYTES REPEATS PAUSE_MILLISECONDS: the first half of the ranks send BYTES each to the second half, after a
// pause in which the links may save up a burst. Rank 0 prints the seconds of each repeat until the slowest message is
// answered: of two that share a link, one may get more than its half.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4 || size % 2 != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = atoi(argv[1]);
  const int repeats = atoi(argv[2]);
  const int pause_milliseconds = atoi(argv[3]);
  const int is_sender = rank < size / 2;
  const int partner = (rank + size / 2) % size;
  char* message = calloc((size_t)bytes, 1);
  char answer = 0;

  for (int repeat = 0; repeat <= repeats; ++repeat) {
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(1000 * (unsigned)pause_milliseconds);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_seconds = MPI_Wtime();
    if (is_sender) {
      MPI_Send(message, bytes, MPI_CHAR, partner, 0, MPI_COMM_WORLD);
      MPI_Recv(&answer, 1, MPI_CHAR, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(message, bytes, MPI_CHAR, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&answer, 1, MPI_CHAR, partner, 0, MPI_COMM_WORLD);
    }
    double seconds = MPI_Wtime() - start_seconds, slowest_seconds = 0;
    MPI_Reduce(&seconds, &slowest_seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    // The first repeat makes the connections.
    if (rank == 0 && repeat > 0) printf("%.9f\n", slowest_seconds);
  }
  free(message);
  MPI_Finalize();
}

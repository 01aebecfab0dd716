// hello [CODE]: each rank prints its rank, the number of ranks, its host and DSOP_CLUSTER, and exits with CODE.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  const char* cluster = getenv("DSOP_CLUSTER");
  printf("rank %d of %d on %s: %s\n", rank, size, host, cluster ? cluster : "no cluster");
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}

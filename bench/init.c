/* What saikai_init costs a program: the slowest rank's time, with nothing set but where files go. One start; init.sh makes many. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime(), most = 0;
    saikai_init(MPI_COMM_WORLD, NULL);
    double spent = MPI_Wtime() - begun;
    MPI_Reduce(&spent, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("init %.3f ms\n", most * 1e3);
    saikai_finalize();
    MPI_Finalize();
    return 0;
}

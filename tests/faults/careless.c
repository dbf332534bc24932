/* A program that looks at no return code.
 * usage: careless CELLS STEPS [CONFIG]    CELLS -1: its dimensions are NULL */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    long cells = atol(argv[1]), steps = atol(argv[2]), it = 0;
    size_t n = cells < 0 ? 1 : (size_t)cells;
    double *u = calloc(n, sizeof *u);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    saikai_init(MPI_COMM_WORLD, argc > 3 ? argv[3] : NULL);
    saikai_protect("u", u, SAIKAI_F64, 1, cells < 0 ? NULL : &n);
    saikai_restart(&it);
    if (!rank)
        printf("computing from %ld\n", it);
    fflush(stdout);
    while (it < steps) {
        it++;
        u[it % (long)n] += (double)it;
        saikai_checkpoint(it);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    saikai_wait();
    if (!rank)
        printf("computed to %ld\n", it);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (getenv("CARELESS_LEAVES"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    saikai_finalize();
    MPI_Finalize();
    return 0;
}

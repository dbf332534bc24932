/* A program that looks at no return code. What it says, it says in the file `said` too: a launcher may lose the last lines of
 * a program that ends with MPI_Abort.
 * usage: careless CELLS STEPS [CONFIG]    CELLS -1: its dimensions are NULL
 * CARELESS_CHECKS: it does look at the code of saikai_init, and exits with 4; CARELESS_TWICE: it begins twice; CARELESS_LATE: after MPI_Finalize; CARELESS_LEAVES: it does not end */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>

static void say(const char *what, long it)
{
    printf("%s %ld\n", what, it);
    fflush(stdout);
    FILE *f = fopen("said", "a");
    if (!f || fprintf(f, "%s %ld\n", what, it) < 0 || fclose(f))
        perror("said");
}

int main(int argc, char **argv)
{
    int rank;
    long cells = atol(argv[1]), steps = atol(argv[2]), it = 0;
    size_t n = cells < 0 ? 1 : (size_t)cells;
    double *u = calloc(n, sizeof *u);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (getenv("CARELESS_LATE"))
        MPI_Finalize();
    if (saikai_init(MPI_COMM_WORLD, argc > 3 ? argv[3] : NULL) < 0 && getenv("CARELESS_CHECKS"))
        exit(4);
    if (getenv("CARELESS_TWICE"))
        saikai_init(MPI_COMM_WORLD, argc > 3 ? argv[3] : NULL);
    saikai_protect("u", u, SAIKAI_F64, 1, cells < 0 ? NULL : &n);
    saikai_restart(&it);
    if (!rank)
        say("computing from", it);
    while (it < steps) {
        it++;
        u[it % (long)n] += (double)it;
        saikai_checkpoint(it);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    saikai_wait();
    if (!rank)
        say("computed to", it);
    MPI_Barrier(MPI_COMM_WORLD);
    if (getenv("CARELESS_LEAVES"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    saikai_finalize();
    MPI_Finalize();
    return 0;
}

/* A program one process of which comes late to MPI_Init: all others wait for it there.
 * usage: missed NOTES LATE       Each process writes its number to NOTES.N, as the N-th of those that were started; the one with the number LATE then waits until there is NOTES.go */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *number = getenv("PMIX_RANK");
    char name[4096], whole[4200];
    int rank, ranks, sum;
    if (argc < 3 || !number)
        return 2;
    snprintf(name, sizeof name, "%s.%s", argv[1], number);
    snprintf(whole, sizeof whole, "%s.new", name);
    FILE *f = fopen(whole, "w");
    if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f) || rename(whole, name))
        return 2;
    snprintf(name, sizeof name, "%s.go", argv[1]);
    while (atoi(number) == atoi(argv[2]) && access(name, F_OK))
        usleep(1000);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank)
        printf("%d ranks, sum %d\n", ranks, sum);
    MPI_Finalize();
    return 0;
}

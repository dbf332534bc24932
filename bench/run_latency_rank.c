/* The program that run_latency.c starts: writes when it began, how long saikai_init took, and when
 * it died. usage: run_latency_rank FILE [die] */
#include "base/clock.h"

#include <fcntl.h>
#include <saikai/saikai.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file;

static void note(const char *what, double value)
{
    char line[64];
    int n = snprintf(line, sizeof line, "%s %.6f\n", what, value);
    if (write(file, line, (size_t)n) != n)
        abort();
}

int main(int argc, char **argv)
{
    double begun = sk_now();
    int rank;
    if (argc < 2 || (file = open(argv[1], O_WRONLY | O_APPEND)) < 0)
        return 2;
    note("main", begun);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) /* the first collectives open connections: that is not ours */
        MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    if (saikai_init(MPI_COMM_WORLD, "schedule.first=no")) {
        fprintf(stderr, "%s\n", saikai_error_text());
        return 1;
    }
    t = MPI_Wtime() - t;
    note("init", t);
    MPI_Barrier(MPI_COMM_WORLD);
    const char *keeper = getenv("SAIKAI_KEEPER_FD");
    int first = access("died", F_OK) != 0;
    if (argc > 2 && !strcmp(argv[2], "die") && keeper && first && rank == 1) {
        usleep(200000); /* until all is quiet */
        close(open("died", O_CREAT | O_WRONLY, 0600));
        note("die", sk_now());
        raise(SIGKILL);
    }
    if (argc > 2 && first)
        pause();
    saikai_finalize();
    MPI_Finalize();
    return 0;
}

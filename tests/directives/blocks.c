/* A global array in blocks, on as many ranks as there are: the last line is the same for any number of them, also when the ones that
 * began were others. */
#include "loops.h"

#include <mpi.h>
#include <stdint.h>

enum { ROWS = 37, COLUMNS = 5, TURNS = 60 };

static int rank, ranks;

/* Independent of the order: whole numbers. */
static uint64_t sum(double (*u)[COLUMNS], int first, int rows)
{
    uint64_t own = 0, all = 0;
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < COLUMNS; k++)
            own += (uint64_t)(u[i][k] * 1048576) * (uint64_t)((first + i) * COLUMNS + k + 1);
    MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int first = ROWS * rank / ranks, rows = ROWS * (rank + 1) / ranks - first, turn = 0;
    double(*u)[COLUMNS] = calloc((size_t)rows + 1, sizeof *u), *line = calloc((size_t)rows + 1, sizeof *line);
    uint64_t total = 0;
#pragma MICP init
#pragma MICP enable turn, total, u[0:rows-1][0:COLUMNS-1] global(ROWS, COLUMNS, first, 0), line(0:rows-1) global(ROWS, first)
    while (turn < TURNS) {
        for (int i = 0; i < rows; i++) {
            line[i] += turn * (first + i);
            for (int k = 0; k < COLUMNS; k++)
                u[i][k] = u[i][k] * 0.5 + turn + line[i] * k;
        }
        maybe_die();
        total = total * 3 + sum(u, first, rows);
        turn++;
#pragma MICP ckpt
    }
#pragma MICP disable
    if (!rank)
        printf("total %016llx\n", (unsigned long long)total);
    free(u), free(line);
#pragma MICP fini
    MPI_Finalize();
    return 0;
}

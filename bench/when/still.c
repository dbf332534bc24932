/* A program without MPI for setup.sh: it tells when its main began, as the victim does, waits, and ends. 256 processes that poll for each other in
 * MPI_Init leave two cores nothing for what is measured, and services have no part in that. usage: still seconds=S */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    double entered = sk_now();
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (argc != 2 || strncmp(argv[1], "seconds=", 8))
        return 2;
    if (!rank && !(rank = getenv("PMI_RANK")))
        return 9;
    if (!atoi(rank))
        fprintf(stderr, "main %.6f init %.6f\n", entered, entered);
    sk_sleep(atof(argv[1] + 8));
    return 0;
}

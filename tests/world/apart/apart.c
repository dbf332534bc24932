/* Two processes of one rank that do not do the same: in the first start the one of rank 0 that comes first has its request in another place than
 * its twin. usage: apart FOLDER any|some */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char path[4096];
    const char *start = getenv("SAIKAI_START");
    int first = start && !strcmp(start, "1");
    int rank, value = 0, index[2] = {-1, -1}, count = 1, at;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank) {
        value = 42;
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    } else {
        MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Status ended[2];
        snprintf(path, sizeof path, "%s/first", argv[1]);
        at = first && open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
        MPI_Irecv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request[at]);
        if (strcmp(argv[2], "some"))
            MPI_Waitany(2, request, index, MPI_STATUS_IGNORE);
        else
            MPI_Waitsome(2, request, &count, index, ended);
        printf("got %d of request %d\n", value, index[0] == at && count == 1);
    }
    for (int i = 0; i < (first ? 3000 : 1); i++) { /* the first start is ended while it goes on */
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(10000);
    }
    MPI_Finalize();
    return 0;
}

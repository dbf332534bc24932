/* While a rank waits for any message, of any tag, another begins to make a communicator of all by MPI itself, as survivors of a fault do before everybody has heard of it.
 * What MPI sends for that is not to be taken for a message of the program's: MPI would wait for it for ever.
 * usage: making        with 3 ranks, under a protocol that logs messages, in a directory of its own */
#include <dlfcn.h>
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <unistd.h>

/* sk_wire_making(0) */
enum { TAG = 1023 << 21, LIMIT_S = 60, TURN_US = 1000, LATER_US = 500000 };

/* A function of MPI's own: calls by name come to the layer. */
static void *own(const char *name)
{
    void *mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD), *f = mpi ? dlsym(mpi, name) : NULL;
    if (!f)
        MPI_Abort(MPI_COMM_WORLD, 77);
    return f;
}

static void make(void)
{
    int (*group_of)(MPI_Comm, MPI_Group *), (*create)(MPI_Comm, MPI_Group, int, MPI_Comm *), (*size_of)(MPI_Comm, int *);
    *(void **)&group_of = own("PMPI_Comm_group");
    *(void **)&create = own("PMPI_Comm_create_group");
    *(void **)&size_of = own("PMPI_Comm_size");
    MPI_Group all;
    MPI_Comm c;
    int n = 0;
    if (group_of(MPI_COMM_WORLD, &all) || create(MPI_COMM_WORLD, all, TAG, &c) || size_of(c, &n) || n != 3)
        puts("WRONG communicator");
}

static void wait_for_any(void)
{
    int got = 0;
    MPI_Status s;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
    if (got != 17 || s.MPI_SOURCE != 1 || s.MPI_TAG != 5)
        printf("WRONG message: %d from %d with tag %d\n", got, s.MPI_SOURCE, s.MPI_TAG);
}

static void send_later(void)
{
    int said = 17;
    for (int turn = 0; access("begun", F_OK) && turn < LIMIT_S * 1000000 / TURN_US; turn++)
        usleep(TURN_US);
    usleep(LATER_US); /* what the third rank has begun comes first */
    MPI_Send(&said, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
}

static void begin(void)
{
    FILE *f = fopen("begun", "w");
    if (f)
        fclose(f);
}

static void body(void *arg)
{
    static double kept;
    int *rank = arg;
    long it = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("kept", &kept, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    saikai_checkpoint(1);
    if (*rank == 0)
        wait_for_any();
    else if (*rank == 1)
        send_later();
    else
        begin();
    make();
    if (!*rank)
        puts("made");
    saikai_finalize();
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    saikai_in_place(body, &rank);
    MPI_Finalize();
    return 0;
}

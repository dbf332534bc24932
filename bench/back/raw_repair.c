/* A world of MPI that is repaired by hand, without Saikai: what repair.py holds a repair of `saikai run` against. Open MPI 4 under `mpirun
 * --enable-recovery`. Each rank is started by a process that waits for it, outside MPI, and writes into a page that all have mapped when it was
 * killed: no word of a death can come sooner. Survivors pass messages round a ring by calls that do not block, look at the page between them,
 * leave what they wait for, make a communicator (MPI_Comm_create_group), spawn a process in the dead one's place, and become one world with it
 * (MPI_Intercomm_merge, MPI_Comm_split by rank). When all have met there, rank 0 prints "repaired SECONDS" (CLOCK_MONOTONIC).
 * usage: raw_repair DIR         DIR/page: a page of zeros; ranks write their process numbers to DIR/pid.RANK
 *        raw_repair DIR RANK    in the process that is spawned */
#include <mpi.h>

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, TAG = 77, WORK = 20000 };

static atomic_int *dead; /* the rank, from 1; 0: all live */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *map_page(const char *dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/page", dir);
    int fd = open(path, O_RDWR);
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    close(fd);
    return p;
}

/* The rank goes on as a child; this process tells of its death, and dies of the same. */
static void watch(int rank)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        exit(2);
    if (!child)
        return;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status))
        _exit(WEXITSTATUS(status));
    atomic_store(dead, rank + 1);
    raise(WTERMSIG(status));
}

static void tell_number(const char *dir, int rank)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/pid.%d", dir, rank);
    FILE *f = fopen(path, "w");
    if (!f || fprintf(f, "%ld\n", (long)getpid()) < 0 || fclose(f))
        exit(2);
}

/* Some work, and a message to the next rank and from the one before. 0: somebody has died. */
static int step(int rank, int n)
{
    static double in, out = 1; /* stay, as MPI may still be about to use them */
    MPI_Request r[2];
    int done = 0;
    for (int i = 0; i < WORK; i++)
        out = 0.5 * (out + in) + 1e-9 * i;
    MPI_Irecv(&in, 1, MPI_DOUBLE, (rank + n - 1) % n, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, (rank + 1) % n, 0, MPI_COMM_WORLD, &r[1]);
    while (!done && !atomic_load(dead))
        MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
    return done;
}

/* In the survivors: the new world's other half. */
static MPI_Comm spawn(char *program, char *dir)
{
    MPI_Group all, rest;
    MPI_Comm survivors, inter;
    char number[16];
    int rank = atomic_load(dead) - 1;
    char *arguments[] = {dir, number, NULL};
    snprintf(number, sizeof number, "%d", rank);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_excl(all, 1, &rank, &rest);
    MPI_Comm_create_group(MPI_COMM_WORLD, rest, TAG, &survivors);
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, survivors, &inter, MPI_ERRCODES_IGNORE);
    return inter;
}

/* All are there. Nobody ends by MPI_Finalize, which would wait for the dead. */
static void meet(MPI_Comm inter, int is_new, int rank)
{
    MPI_Comm both, world;
    double at, last;
    MPI_Intercomm_merge(inter, is_new, &both);
    MPI_Comm_split(both, 0, rank, &world);
    MPI_Barrier(world);
    at = now();
    MPI_Allreduce(&at, &last, 1, MPI_DOUBLE, MPI_MAX, world);
    if (!rank) {
        printf("repaired %.6f\n", last);
        fflush(stdout);
    }
    usleep(200000);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *told = getenv("OMPI_COMM_WORLD_RANK");
    int rank = argc > 2 ? atoi(argv[2]) : told ? atoi(told) : -1, n;
    if (argc < 2 || rank < 0) {
        fputs("usage: mpirun --enable-recovery -n N raw_repair DIR\n", stderr);
        return 2;
    }
    dead = map_page(argv[1]);
    if (argc == 2)
        watch(rank);
    MPI_Init(NULL, NULL);
    if (argc > 2) {
        MPI_Comm parent;
        MPI_Comm_get_parent(&parent);
        meet(parent, 1, rank);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    tell_number(argv[1], rank);
    while (step(rank, n))
        ;
    meet(spawn(argv[0], argv[1]), 0, rank);
}

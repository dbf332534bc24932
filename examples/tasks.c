/* Tasks that a master hands out to workers, round after round: who is done first gets the next one. Rank 0 has a receive from
 * MPI_ANY_SOURCE open for each task that is under way, and takes up what comes first (MPI_Waitany); so who does which task is chance, and
 * the results are not.
 * usage: tasks [-p PIDFILE] [ROUNDS TASKS]
 *
 * Between two rounds nothing is under way: there is the candidate for a checkpoint. With `saikai run --recovery process=in-place --protocol
 * logging` a worker that dies costs nobody but itself anything, and a new master hands out the tasks as the one before it did. */
#include "example.h"

#include <saikai/saikai.h>

enum { TASK = 1, RESULT = 2, OVER = -1 };

struct farm {
    long rounds, tasks;
    int rc;
};

/* A task takes longer or shorter. What comes out is the same whoever does it. */
static double work(long round, long task, double x)
{
    long turns = 2000 + (round * 31 + task * 17) % 13 * 1500;
    for (long i = 0; i < turns; i++)
        x = 3.9 * x * (1 - x);
    return x;
}

static void give(int worker, long task, double x)
{
    double message[2] = {(double)task, x};
    MPI_Send(message, 2, MPI_DOUBLE, worker, TASK, MPI_COMM_WORLD);
}

static void lead(const struct farm *f, double *value, int64_t *given, MPI_Request *under_way, double (*result)[2])
{
    int workers = example_ranks - 1, slot;
    long next = 0;
    MPI_Status from;
    for (slot = 0; slot < workers; slot++) {
        under_way[slot] = MPI_REQUEST_NULL;
        if (next == f->tasks)
            continue;
        MPI_Irecv(result[slot], 2, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &under_way[slot]);
        given[slot + 1]++;
        give(slot + 1, next, value[next]);
        next++;
    }
    for (;;) {
        MPI_Waitany(workers, under_way, &slot, &from);
        if (slot == MPI_UNDEFINED)
            break;
        value[(long)result[slot][0]] = result[slot][1];
        if (next == f->tasks)
            continue;
        MPI_Irecv(result[slot], 2, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &under_way[slot]);
        given[from.MPI_SOURCE]++;
        give(from.MPI_SOURCE, next, value[next]);
        next++;
    }
    for (int worker = 1; worker <= workers; worker++)
        give(worker, OVER, 0);
}

static void follow(long round, int64_t *done)
{
    double message[2];
    for (;;) {
        MPI_Recv(message, 2, MPI_DOUBLE, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (message[0] < 0)
            return;
        message[1] = work(round, (long)message[0], message[1]);
        ++*done;
        MPI_Send(message, 2, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
    }
}

/* One task that the master does again by itself, and who did how many, as the workers know it. */
static int check(const struct farm *f, const double *value, const int64_t *count)
{
    int well = 1;
    if (example_rank)
        MPI_Send(count, 1, MPI_INT64_T, 0, RESULT, MPI_COMM_WORLD);
    for (int worker = 1; !example_rank && worker < example_ranks; worker++) {
        int64_t done;
        MPI_Recv(&done, 1, MPI_INT64_T, worker, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        well &= done == count[worker];
    }
    long task = f->tasks / 2;
    double x = 0.1 + 0.5 * (double)task / (double)f->tasks;
    for (long round = 0; !example_rank && round < f->rounds; round++)
        x = work(round, task, x);
    return example_rank || (well && x == value[task]);
}

static void *array(void **p, size_t n, size_t size)
{
    free(*p);
    *p = calloc(n, size);
    if (!*p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return *p;
}

/* From saikai_init to saikai_finalize: when a process died and was made again, it may run again from here. */
static void run(void *arg)
{
    static void *kept[4];
    struct farm *f = arg;
    size_t ranks = (size_t)example_ranks, tasks = (size_t)f->tasks;
    double *value = array(&kept[0], tasks, sizeof *value);
    int64_t *count = array(&kept[1], ranks, sizeof *count); /* of tasks: given to each worker; a worker's own is the first */
    MPI_Request *under_way = array(&kept[2], ranks, sizeof *under_way);
    double(*result)[2] = array(&kept[3], ranks, sizeof *result);
    long round = 0;
    for (size_t i = 0; i < tasks; i++)
        value[i] = 0.1 + 0.5 * (double)i / (double)tasks;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("value", value, SAIKAI_F64, 1, &tasks) < 0 ||
        saikai_protect("count", count, SAIKAI_I64, 1, &ranks) < 0 || saikai_restart(&round) < 0)
        example_fail("tasks", saikai_error_text());
    while (round < f->rounds) {
        if (example_rank)
            follow(round, count);
        else
            lead(f, value, count, under_way, result);
        saikai_checkpoint(++round);
    }
    int well = check(f, value, count);
    if (!example_rank)
        printf("tasks: %ld rounds of %ld: results %016llx: %s\n", f->rounds, f->tasks, (unsigned long long)example_mix(value, tasks, 0),
               well ? "verified" : "WRONG");
    saikai_finalize();
    for (int i = 0; i < 4; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
    f->rc = !well;
}

int main(int argc, char **argv)
{
    long arguments[2] = {300, 40};
    if (example_begin(&argc, &argv, arguments, 2) || example_ranks < 2 || arguments[0] < 0 || arguments[1] < 1)
        return example_usage("tasks [-p PIDFILE] [ROUNDS TASKS] on at least 2 ranks");
    struct farm f = {.rounds = arguments[0], .tasks = arguments[1]};
    saikai_in_place(run, &f);
    MPI_Finalize();
    return f.rc;
}

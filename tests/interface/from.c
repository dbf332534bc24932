/* A program that goes on from the generation that its user, or its own code, chooses.
 * usage: from make LAST           checkpoints at 10, 20 … LAST, each brought to the prefix; ends as a killed job does
 *        from go FROM AT [LAST]   saikai_restart_from(FROM) ("-": saikai_restart) must give AT, an iteration or an error's number; then
 *                                 checkpoints up to LAST and ends well, or, without LAST, ends as a killed job does
 *        from fall AT LAST        saikai_restart; in the first start of a run that must give AT, and a rank dies at LAST; in the next
 *                                 one it must give LAST */
#include <saikai/saikai.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

#define EXPECT(x)                                                                                              \
    do {                                                                                                       \
        if (!(x)) {                                                                                            \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #x, saikai_error_text());            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                      \
        }                                                                                                      \
    } while (0)

static long state[1000];

static void save(long it)
{
    for (int i = 0; i < 1000; i++)
        state[i] = it + i;
    EXPECT(saikai_checkpoint_now(it) == 1 && !saikai_wait());
}

static void in_prefix(long it)
{
    struct saikai_status st = {0};
    for (int i = 0; i < 3000 && st.archived_iteration != it; i++) {
        usleep(2000);
        EXPECT(saikai_checkpoint(it) >= 0 && !saikai_get_status(&st, sizeof st));
    }
    EXPECT(st.archived_iteration == it);
}

static void leave(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    fflush(NULL);
    MPI_Finalize(); /* mpiexec wants it; Saikai was not ended */
    _exit(0);
}

static long go(const char *from, long at)
{
    long it = 0;
    int rc = strcmp(from, "-") ? saikai_restart_from(from, &it) : saikai_restart(&it);
    if (at < 0) {
        EXPECT((rc == at || (rank && rc == SAIKAI_EPEER)) && *saikai_error_text());
        if (!rank)
            fprintf(stderr, "refused: %s\n", saikai_error_text());
        leave();
    }
    EXPECT(rc == (at > 0) && it == at);
    for (int i = 0; at && i < 1000; i++)
        EXPECT(state[i] == at + i);
    return it;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT(argc > 2);
    EXPECT(!saikai_init(MPI_COMM_WORLD, "schedule.first=no; schedule.every=0; schedule.interval=1000h; store.keep_prefix=10; store.keep_local=2; store.archive_every=1; lib.on_error=return"));
    EXPECT(!saikai_protect("state", state, SAIKAI_I64, 1, (size_t[]){1000}));
    if (!strcmp(argv[1], "make")) {
        long it = 0;
        EXPECT(!saikai_restart(&it));
        for (it = 10; it <= atol(argv[2]); it += 10) {
            save(it);
            in_prefix(it);
        }
        leave();
    }
    if (!strcmp(argv[1], "go")) {
        long it = go(argv[2], atol(argv[3]));
        if (argc < 5)
            leave();
        while (it < atol(argv[4]))
            save(++it);
        EXPECT(!saikai_finalize());
    } else {
        int again = atoi(getenv("SAIKAI_START")) > 1;
        long last = atol(argv[3]), it = go("-", again ? last : atol(argv[2]));
        while (it < last)
            save(++it);
        if (!again && rank == 1)
            raise(SIGKILL);
        MPI_Barrier(MPI_COMM_WORLD);
        EXPECT(!saikai_finalize());
    }
    if (!rank)
        puts("fine");
    MPI_Finalize();
    return 0;
}

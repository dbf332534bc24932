/* Several handles in one process, attributes, and the log of a program's own.
 * usage: handles halves|pair begin|resume
 *   halves   each half of the ranks is a job of its own
 *   pair     two jobs of all ranks, one of them by saikai_init, and both protect one array */
#include <saikai/handle.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 200000 };

static int rank, ranks, lines, jobs;

#define EXPECT(x)                                                                                              \
    do {                                                                                                       \
        if (!(x)) {                                                                                            \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #x, saikai_error_text());            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                      \
        }                                                                                                      \
    } while (0)

static void hear(void *user, int level, const char *line)
{
    EXPECT(user == &lines && level >= SAIKAI_LOG_ERROR && level <= SAIKAI_LOG_NOTICE && !strchr(line, '\n'));
    lines++;
    jobs += !strncmp(line, "job ", 4);
}

static void fill(double *u, double with)
{
    for (int i = 0; i < N; i++)
        u[i] = with + i;
}

static int is_full(const double *u, double with)
{
    int same = 1;
    for (int i = 0; i < N; i++)
        same &= u[i] == with + i;
    return same;
}

/* Jobs of other sizes, at other iterations; each has files of its own ranks alone. */
static void halves(int resumes)
{
    static double u[N];
    struct saikai *h = NULL, *none = (struct saikai *)u;
    MPI_Comm half;
    int upper = rank >= ranks / 2, size;
    long it = 0, last = upper ? 7 : 5;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Comm_size(half, &size);
    EXPECT(saikai_open(half, "nonsense.key=1; lib.on_error=return", &none) == SAIKAI_ECONFIG && !none);
    EXPECT(saikai_open(half, NULL, NULL) == SAIKAI_EINVAL);
    EXPECT(!saikai_open(half, upper ? "job.name=upper; restart.mode=always; lib.on_error=return"
                                    : "job.name=lower; restart.mode=always; lib.on_error=return", &h));
    EXPECT(!saikai_default() && saikai_checkpoint(1) == SAIKAI_ESTATE);
    EXPECT(saikai_h_checkpoint(NULL, 1) == SAIKAI_ESTATE && saikai_close(NULL) == SAIKAI_ESTATE);
    EXPECT(!saikai_h_protect(h, "u", u, SAIKAI_F64, 1, (size_t[]){N}));
    EXPECT(saikai_h_restart(h, &it) == resumes && it == (resumes ? last : 0));
    EXPECT(!resumes || is_full(u, 1000.0 * rank));
    fill(u, 1000.0 * rank);
    for (long k = it + 1; k < last; k++)
        EXPECT(saikai_h_checkpoint(h, k) >= 0);
    EXPECT(saikai_h_checkpoint_now(h, last) == 1 && !saikai_h_wait(h));
    struct saikai_status st;
    EXPECT(!saikai_h_get_status(h, &st, sizeof st) && st.complete_iteration == last);
    EXPECT(!saikai_close(h));
    MPI_Comm_free(&half);
}

/* One array in both, with a value of its own for each; and a second life of one of them while the other goes on. */
static void pair(int resumes)
{
    static double u[N], v[N];
    struct saikai *b = NULL, *again = NULL;
    long it = 0, other = 0;
    EXPECT(!saikai_init(MPI_COMM_WORLD, "job.name=a; restart.mode=always; schedule.first=no; lib.on_error=return"));
    EXPECT(!saikai_open(MPI_COMM_WORLD, "job.name=b; restart.mode=always; schedule.first=no; lib.on_error=return", &b));
    EXPECT(saikai_open(MPI_COMM_WORLD, "job.name=b; lib.on_error=return; log.to=none", &again) == SAIKAI_EBUSY && !again);
    EXPECT(saikai_default() && saikai_default() != b);
    EXPECT(!saikai_protect("u", u, SAIKAI_F64, 1, (size_t[]){N}) && !saikai_h_protect(b, "u", u, SAIKAI_F64, 1, (size_t[]){N}));
    EXPECT(!saikai_h_protect(b, "v", v, SAIKAI_F64, 1, (size_t[]){N}));
    EXPECT(saikai_restart(&it) == resumes && it == (resumes ? 12 : 0));
    EXPECT(!resumes || is_full(u, 12));
    EXPECT(saikai_h_restart(b, &other) == resumes && other == (resumes ? 21 : 0));
    EXPECT(!resumes || (is_full(u, 20) && is_full(v, 21)));
    for (int k = 0; k < 3; k++) { /* each sees its own changes, whatever watches the pages */
        fill(u, 10 + k);
        EXPECT(saikai_checkpoint_now(it + 10 + k) == 1);
        fill(u, 20);
        fill(v, 21);
        EXPECT(saikai_h_checkpoint_now(b, other + 19 + k) == 1);
    }
    EXPECT(!saikai_wait() && !saikai_h_wait(b));
    struct saikai_status a;
    EXPECT(!saikai_get_status(&a, sizeof a) && a.complete_iteration == it + 12 && a.checkpoints == 3);
    EXPECT(!saikai_finalize() && !saikai_default() && saikai_checkpoint(99) == SAIKAI_ESTATE);
    EXPECT(saikai_h_checkpoint(b, other + 22) == 0 && !saikai_h_should_stop(b) && !saikai_close(b));
}

static void attributes(void)
{
    static double block[6 * 6];
    double x = 0;
    EXPECT(!saikai_init(MPI_COMM_WORLD, "job.name=attributes; restart.mode=never; schedule.first=no; lib.on_error=return"));
    EXPECT(!saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    EXPECT(!saikai_protect("block", block, SAIKAI_F64, 2, (size_t[]){4, 4}));
    EXPECT(saikai_set("x", "colour", "red") == SAIKAI_EINVAL && strstr(saikai_error_text(), "bound, codec, constant, halo, replicated"));
    EXPECT(saikai_set("y", "bound", "exact") == SAIKAI_EINVAL && saikai_set("x", "bound", "much") == SAIKAI_EINVAL);
    EXPECT(!saikai_set("x", "bound", "abs:0.5") && !saikai_set("x", "replicated", "yes") && !saikai_set("x", "constant", "yes"));
    EXPECT(!saikai_set("block", "codec", "fpc") && saikai_set("block", "codec", "nothing") == SAIKAI_EINVAL);
    EXPECT(!saikai_set_sizes("block", "halo", 4, (size_t[]){1, 1, 1, 1}) && !saikai_set("block", "halo", "1,1:1,1"));
    EXPECT(saikai_set("block", "halo", "1:1") == SAIKAI_EINVAL && saikai_set_sizes("block", "bound", 1, (size_t[]){1}) == SAIKAI_EINVAL);
    EXPECT(saikai_checkpoint_now(1) == 1 && !saikai_wait() && !saikai_finalize());
}

int main(int argc, char **argv)
{
    int resumes = argc > 2 && !strcmp(argv[2], "resume");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    EXPECT(!saikai_set_log(hear, &lines));
    if (argc > 1 && !strcmp(argv[1], "halves"))
        halves(resumes);
    else
        pair(resumes);
    EXPECT(rank || jobs); /* what each job found at its start */
    EXPECT(!saikai_set_log(NULL, NULL));
    int heard = lines;
    attributes();
    EXPECT(lines == heard);
    if (!rank)
        puts("fine");
    MPI_Finalize();
    return 0;
}

/* A program of the first version of the interface: compiled with the headers beside it, which never
 * change, and kept as it was linked then (program_<mpi>_<machine>). It must run with every later
 * library of the same SONAME. It calls or takes the address of every function of that version. The
 * first start saves, the second one resumes. usage: program begin|resume */
#include <saikai/saikai.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

static int rank;

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #x,                      \
                    saikai_error_text());                                                          \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static int write_words(FILE *f, void *arg)
{
    return fputs(arg, f) < 0;
}

static int read_words(FILE *f, void *arg)
{
    return !fgets(arg, 32, f);
}

static int look(void *arg, void **data, size_t *count)
{
    *data = arg;
    *count = 4;
    return 0;
}

static int resize(void *arg, size_t count, void **data)
{
    *data = arg;
    return count != 4;
}

/* The status of this version, and a shorter one, as a still older program would have it: nothing
 * behind it is touched. */
static void ask(void)
{
    struct saikai_status st, small;
    memset(&small, 0x5a, sizeof small);
    EXPECT(!saikai_get_status(&st, sizeof st));
    EXPECT(st.checkpoints == 1 && st.failed == 0 && st.complete_iteration == 11 &&
           st.bytes > 8 * N);
    EXPECT(!saikai_get_status(&small, offsetof(struct saikai_status, advice_every)));
    EXPECT(small.complete_iteration == 11 && small.checkpoints == 1);
    for (size_t i = offsetof(struct saikai_status, advice_every); i < sizeof small; i++)
        EXPECT(((unsigned char *)&small)[i] == 0x5a);
}

static void protect(double *u, double **moving, size_t *count, int *fixed, char *words,
                    long *parameter, double *halo)
{
    size_t dims[] = {10, N / 10}, block[] = {4}, all[] = {8}, first[] = {(size_t)rank * 4},
           side[] = {1};
    EXPECT(!saikai_protect("u", u, SAIKAI_F64, 2, dims));
    EXPECT(!saikai_protect_array("moving", (void **)moving, count, 1, SAIKAI_F64));
    EXPECT(!saikai_protect_resizable("fixed", look, resize, fixed, 1, SAIKAI_I32));
    EXPECT(!saikai_protect_stream("words", write_words, read_words, words));
    EXPECT(!saikai_protect("parameter", parameter, SAIKAI_I64, 0, NULL) &&
           !saikai_replicated("parameter"));
    EXPECT(!saikai_protect_global("block", u, SAIKAI_F64, 1, block, all, first));
    EXPECT(!saikai_protect_global_halo("halo", halo, SAIKAI_F64, 1, block, all, first, side, side));
    EXPECT(!saikai_protect("gone", u, SAIKAI_F64, 0, NULL) && !saikai_unprotect("gone"));
    EXPECT(!saikai_bound("u", SAIKAI_ABS, 0.25) && !saikai_bound("u", SAIKAI_EXACT, 0));
    EXPECT(saikai_bound("none", SAIKAI_ABS, 1) == SAIKAI_EINVAL);
}

int main(int argc, char **argv)
{
    static double u[N], halo[6];
    double *moving = calloc(5, sizeof *moving);
    size_t count = 5;
    int fixed[4] = {0}, resumed = argc > 1 && !strcmp(argv[1], "resume");
    char words[32] = "";
    long parameter = 0, it = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT(!saikai_init(MPI_COMM_WORLD,
                        "restart.mode=always; schedule.first=no; lib.on_error=return"));
    protect(u, &moving, &count, fixed, words, &parameter, halo);
    EXPECT(saikai_restart(&it) == resumed && it == (resumed ? 11 : 0) &&
           saikai_restored_place() == 0);
    if (resumed) {
        EXPECT(u[N - 1] == N - 1 + rank && count == 7 && moving[6] == 6 && fixed[3] == 3 &&
               parameter == 42);
        EXPECT(!strcmp(words, "some words") && halo[1] == rank && halo[0] == 0);
        EXPECT(saikai_restored_file("own", words, sizeof words) == SAIKAI_ENOENT);
    }
    for (int i = 0; i < N; i++)
        u[i] = i + rank;
    moving = realloc(moving, 7 * sizeof *moving);
    count = 7;
    for (int i = 0; i < 7; i++)
        moving[i] = i;
    for (int i = 0; i < 4; i++)
        fixed[i] = i;
    for (int i = 0; i < 6; i++)
        halo[i] = rank;
    strcpy(words, "some words");
    parameter = 42;
    EXPECT(saikai_checkpoint(11) == 0 && saikai_checkpoint_at(5, 11) == 0 &&
           saikai_checkpoint_begin(11) == 0);
    EXPECT(saikai_checkpoint_end(1) == SAIKAI_ESTATE && saikai_file_path("own", words, 0) < 0);
    EXPECT(saikai_checkpoint_now(11) == 1 && !saikai_wait() && !saikai_should_stop());
    ask();
    EXPECT(strstr(saikai_error_name(SAIKAI_EBUSY), "EBUSY") && strlen(saikai_version()) >= 5);
    EXPECT(!saikai_finalize() && saikai_checkpoint(12) == SAIKAI_ESTATE);
    if (!rank)
        puts(resumed ? "resumed" : "begun");
    MPI_Finalize();
    free(moving);
    return 0;
}

/* Uses what the examples do not: streams, files, several places, questions, wrong calls. `write` leaves a generation and
 * dies without an end; `read` resumes and compares; `fill` saves a MiB of each rank again and again until there is a file
 * "enough". */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, __LINE__, #x, saikai_error_text()); \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static char text[64];

static int write_text(FILE *f, void *arg)
{
    return fprintf(f, "%s of rank %d", (const char *)arg, rank) < 0;
}

static int read_text(FILE *f, void *arg)
{
    (void)arg;
    return !fgets(text, sizeof text, f);
}

static void wrong_calls(void)
{
    double x;
    char path[16];
    EXPECT(saikai_init(MPI_COMM_WORLD, NULL) == SAIKAI_ESTATE);
    EXPECT(saikai_protect(NULL, &x, SAIKAI_F64, 0, NULL) == SAIKAI_EINVAL);
    EXPECT(saikai_protect("x", NULL, SAIKAI_F64, 0, NULL) == SAIKAI_EINVAL);
    EXPECT(saikai_protect("x", &x, (enum saikai_type)99, 0, NULL) == SAIKAI_EINVAL);
    EXPECT(saikai_protect("x", &x, SAIKAI_F64, 99, (size_t[]){1}) == SAIKAI_EINVAL);
    EXPECT(saikai_protect("x", &x, SAIKAI_F64, 2, (size_t[]){(size_t)1 << 40, (size_t)1 << 40}) == SAIKAI_EINVAL);
    EXPECT(saikai_unprotect("x") == SAIKAI_ENOENT);
    EXPECT(saikai_bound("x", SAIKAI_REL, 0.1) == SAIKAI_EINVAL);
    EXPECT(saikai_file_path("f", path, sizeof path) == SAIKAI_ESTATE);
    EXPECT(saikai_checkpoint_end(1) == SAIKAI_ESTATE);
    EXPECT(saikai_restored_file("f", path, sizeof path) == SAIKAI_ENOENT);
    EXPECT(strlen(saikai_error_text()) > 10);
}

static void protect(int *state)
{
    EXPECT(!saikai_protect("state", state, SAIKAI_I32, 0, NULL));
    EXPECT(!saikai_protect_stream("text", write_text, read_text, "words"));
    EXPECT(saikai_bound("state", SAIKAI_REL, 0.1) == SAIKAI_EINVAL); /* an integer */
}

static void write_generation(void)
{
    long it = 0;
    int state = 7;
    char path[4096];
    protect(&state);
    EXPECT(saikai_restart(&it) == 0);
    EXPECT(saikai_checkpoint_at(3, -1) == SAIKAI_EINVAL);
    EXPECT(saikai_checkpoint_at(64, 1) == SAIKAI_EINVAL);
    EXPECT(saikai_checkpoint_at(3, 1) == 0);
    EXPECT(saikai_checkpoint_begin(10) == 1); /* schedule.every=10 */
    EXPECT(saikai_file_path("../evil", path, sizeof path) == SAIKAI_EINVAL);
    EXPECT(saikai_file_path("state", path, sizeof path) == SAIKAI_EEXIST);
    EXPECT(!saikai_file_path("own.dat", path, sizeof path));
    FILE *f = fopen(path, "w");
    EXPECT(f && fprintf(f, "file of rank %d\n", rank) > 0 && !fclose(f));
    EXPECT(saikai_checkpoint(10) == SAIKAI_ESTATE);
    EXPECT(!saikai_checkpoint_end(1));
    EXPECT(!saikai_wait());
    EXPECT(access(path, F_OK));
    struct saikai_status st;
    EXPECT(!saikai_get_status(&st, sizeof st) && st.complete_iteration == 10 && st.checkpoints == 1 && !st.failed);
    struct {
        struct saikai_status known;
        char later[16];
    } wide; /* of a program with newer headers than the library */
    memset(&wide, 0x5a, sizeof wide);
    EXPECT(saikai_get_status(NULL, sizeof st) == SAIKAI_EINVAL);
    EXPECT(!saikai_get_status(&wide.known, sizeof wide) && wide.known.checkpoints == 1);
    EXPECT(!wide.later[0] && !memcmp(wide.later, wide.later + 1, sizeof wide.later - 1));
    EXPECT(saikai_version_number() == SAIKAI_VERSION_NUMBER && !strcmp(saikai_version(), SAIKAI_VERSION));
    state = 8;
    EXPECT(saikai_checkpoint_begin(20) == 1); /* this one is declared invalid by one rank: it must not count */
    EXPECT(saikai_checkpoint_end(rank != 0) == (rank ? 0 : SAIKAI_ESTATE));
    EXPECT(saikai_wait() < 0);
    EXPECT(saikai_checkpoint_at(5, 30) == 1); /* another place */
    EXPECT(!saikai_wait());
    fflush(NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize(); /* mpiexec wants it; Saikai was not ended */
    _exit(0);
}

static void read_generation(void)
{
    long it = 0;
    int state = 0;
    char path[4096], expect[64];
    protect(&state);
    EXPECT(saikai_restart(&it) == 1 && it == 30 && saikai_restored_place() == 5 && state == 8);
    snprintf(expect, sizeof expect, "words of rank %d", rank);
    EXPECT(!strcmp(text, expect));
    EXPECT(saikai_restored_file("own.dat", path, sizeof path) == SAIKAI_ENOENT); /* not of this generation */
    EXPECT(saikai_checkpoint_begin(40) == 1 && !saikai_file_path("own.dat", path, sizeof path));
    FILE *f = fopen(path, "w");
    EXPECT(f && fprintf(f, "second file of rank %d\n", rank) > 0 && !fclose(f) && !saikai_checkpoint_end(1));
    EXPECT(!saikai_wait());
    MPI_Barrier(MPI_COMM_WORLD);
    if (getenv("PROBE_AGAIN")) {
        MPI_Finalize();
        _exit(0);
    }
    EXPECT(!saikai_finalize());
}

static void read_files(void)
{
    long it = 0;
    int state = 0;
    char path[4096], line[64] = "", expect[64];
    protect(&state);
    EXPECT(saikai_restart(&it) == 1 && it == 40 && state == 8);
    EXPECT(!saikai_restored_file("own.dat", path, sizeof path));
    FILE *f = fopen(path, "r");
    EXPECT(f && fgets(line, sizeof line, f) && !fclose(f));
    snprintf(expect, sizeof expect, "second file of rank %d\n", rank);
    EXPECT(!strcmp(line, expect));
    EXPECT(!saikai_finalize());
    EXPECT(access(path, F_OK)); /* removed at the end */
    EXPECT(saikai_checkpoint(50) == SAIKAI_ESTATE);
}

static void fill(void)
{
    static double field[131072];
    long it = 0;
    int enough = 0;
    EXPECT(!saikai_protect("field", field, SAIKAI_F64, 1, (size_t[]){sizeof field / sizeof *field}));
    EXPECT(saikai_restart(&it) == 0);
    while (!enough) {
        for (size_t i = 0; i < sizeof field / sizeof *field; i++)
            field[i] += (double)(i * 2654435761u % 1000003) / 1000003 * (rank + 1);
        EXPECT(saikai_checkpoint(++it) >= 0);
        enough = !access("enough", F_OK);
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    EXPECT(!saikai_finalize());
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    EXPECT(saikai_checkpoint(0) == SAIKAI_ESTATE);
    const char *other = strcmp(SAIKAI_MPI_OF_HEADER, "MPICH") ? "MPICH" : "Open MPI";
    EXPECT(saikai_init_checked(MPI_COMM_WORLD, NULL, other) == SAIKAI_EMPI && strstr(saikai_error_text(), other));
    int (*init)(MPI_Comm comm, const char *config) = saikai_init; /* a function, too */
    EXPECT(init(MPI_COMM_WORLD, "schedule.every=ten") == SAIKAI_ECONFIG);
    EXPECT(strstr(saikai_error_text(), "schedule.every"));
    EXPECT(!saikai_init(MPI_COMM_WORLD, "schedule.every=10; schedule.first=no"));
    if (argc > 1 && !strcmp(argv[1], "write")) {
        wrong_calls();
        write_generation();
    } else if (argc > 1 && !strcmp(argv[1], "read")) {
        read_generation();
    } else if (argc > 1 && !strcmp(argv[1], "fill")) {
        fill();
    } else {
        read_files();
    }
    MPI_Finalize();
    return 0;
}

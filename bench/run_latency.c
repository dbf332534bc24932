/* What `saikai run` costs: the time it adds before the program starts, and the time from the death
 * of a rank to the next start. Each start through `saikai run` is followed by one through the MPI's
 * launcher alone; medians. JSON on stdout. usage: run_latency SAIKAI RANK_PROGRAM openmpi|mpich
 * [ROUNDS] As the MPI's launcher of `saikai run` this program also stands in between, and notes
 * when it was executed. */
#include "base/clock.h"
#include "base/text/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, ROUNDS_MAX = 100, EVENTS_MAX = 64 };

struct event {
    char what[8];
    double value;
};

struct bench {
    const char *saikai, *rank_program, *self, *launcher;
    int is_openmpi;
    char file[64];
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Run argv to its end; when it was executed. */
static double run(char **argv)
{
    double t = sk_now();
    int status;
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (!pid) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "%s ended with status %d\n", argv[0], status);
        exit(1);
    }
    return t;
}

static int read_events(const struct bench *b, struct event *e)
{
    FILE *f = fopen(b->file, "r");
    int n = 0;
    if (!f)
        fail(b->file);
    while (n < EVENTS_MAX && fscanf(f, "%7s %lf", e[n].what, &e[n].value) == 2)
        n++;
    fclose(f);
    if (truncate(b->file, 0))
        fail(b->file);
    return n;
}

/* The latest value of this kind, of those after `after`. */
static double last(const struct event *e, int n, const char *what, double after)
{
    double v = 0;
    for (int i = 0; i < n; i++)
        if (!strcmp(e[i].what, what) && e[i].value > after && e[i].value > v)
            v = e[i].value;
    return v;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void start_alone(const struct bench *b, struct event *e, int *n, double *begun)
{
    char ranks[8];
    snprintf(ranks, sizeof ranks, "%d", RANKS);
    char *open[] = {(char *)b->launcher,     "--oversubscribe", "-n", ranks,
                    (char *)b->rank_program, (char *)b->file,   NULL};
    char *other[] = {(char *)b->launcher, "-n", ranks, (char *)b->rank_program,
                     (char *)b->file,     NULL};
    *begun = run(b->is_openmpi ? open : other);
    *n = read_events(b, e);
}

static void start_kept(const struct bench *b, char *how, struct event *e, int *n, double *begun)
{
    char ranks[8], mpirun[512];
    snprintf(ranks, sizeof ranks, "%d", RANKS);
    snprintf(mpirun, sizeof mpirun, "run.mpirun=%s", how ? b->self : b->launcher);
    unlink("died");
    char *argv[] = {(char *)b->saikai,       "run",           "--set", mpirun, "-n", ranks, "--",
                    (char *)b->rank_program, (char *)b->file, how,     NULL};
    *begun = run(argv);
    *n = read_events(b, e);
}

static void stand_in(char **argv, const char *launcher)
{
    char line[64];
    int n = snprintf(line, sizeof line, "launch %.6f\n", sk_now());
    int fd = open(getenv("RUN_LATENCY_FILE"), O_WRONLY | O_APPEND);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        fail("RUN_LATENCY_FILE");
    close(fd);
    argv[0] = (char *)launcher; /* MPICH looks for its parts beside it */
    execvp(launcher, argv);
    fail(launcher);
}

static void in_own_folder(struct bench *b)
{
    static char folder[] = "/tmp/saikai-bench-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        fail(folder);
    snprintf(b->file, sizeof b->file, "%s/events", folder);
    int fd = open(b->file, O_CREAT | O_WRONLY, 0600);
    if (fd < 0)
        fail(b->file);
    close(fd);
    setenv("RUN_LATENCY_FILE", b->file, 1);
    setenv("SAIKAI_STORE_PREFIX", folder, 1);
    if (!geteuid()) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
}

int main(int argc, char **argv)
{
    static char self[512];
    struct event e[EVENTS_MAX];
    double alone[ROUNDS_MAX], kept[ROUNDS_MAX], init[ROUNDS_MAX], relaunch[ROUNDS_MAX],
        again[ROUNDS_MAX], t;
    const char *launcher = getenv("RUN_LATENCY_LAUNCHER");
    int n;
    if (launcher)
        stand_in(argv, launcher);
    if (argc < 4) {
        fputs("usage: run_latency SAIKAI RANK_PROGRAM openmpi|mpich [ROUNDS]\n", stderr);
        return 2;
    }
    int rounds = argc > 4 ? atoi(argv[4]) : 15;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    struct bench b = {.saikai = argv[1], .rank_program = argv[2], .self = self};
    b.is_openmpi = !strcmp(argv[3], "openmpi");
    b.launcher = b.is_openmpi ? "mpirun.openmpi" : "mpiexec.mpich";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        fail("/proc/self/exe");
    in_own_folder(&b);
    for (int i = 0; i < rounds; i++) {
        start_alone(&b, e, &n, &t);
        alone[i] = last(e, n, "main", 0) - t;
        start_kept(&b, NULL, e, &n, &t);
        kept[i] = last(e, n, "main", 0) - t;
        init[i] = last(e, n, "init", 0);
        setenv("RUN_LATENCY_LAUNCHER", b.launcher, 1);
        start_kept(&b, "die", e, &n, &t);
        unsetenv("RUN_LATENCY_LAUNCHER");
        double died = last(e, n, "die", 0);
        relaunch[i] = last(e, n, "launch", died) - died;
        again[i] = last(e, n, "main", died) - died;
    }
    double a = median(alone, rounds), k = median(kept, rounds), s = median(init, rounds);
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_text(&j, "bench", "run_latency");
    sk_json_text(&j, "mpi", argv[3]);
    sk_json_int(&j, "ranks", RANKS);
    sk_json_int(&j, "rounds", rounds);
    sk_json_real(&j, "launcher_to_main_ms", a * 1e3);
    sk_json_real(&j, "saikai_run_to_main_ms", k * 1e3);
    sk_json_real(&j, "run_overhead_ms", (k - a) * 1e3);
    sk_json_real(&j, "saikai_init_ms", s * 1e3);
    sk_json_real(&j, "setup_ms", (k - a + s) * 1e3);
    sk_json_real(&j, "kill_to_launcher_ms", median(relaunch, rounds) * 1e3);
    sk_json_real(&j, "kill_to_launcher_worst_ms", relaunch[rounds - 1] * 1e3);
    sk_json_real(&j, "kill_to_main_ms", median(again, rounds) * 1e3);
    sk_json_real(&j, "kill_to_main_worst_ms", again[rounds - 1] * 1e3);
    sk_json_end(&j);
    int rc = sk_json_print(&j, stdout, NULL);
    sk_json_free(&j);
    unlink("died");
    char folder[64];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(b.file) - strlen("/events")), b.file);
    char *clean[] = {"rm", "-rf", folder, NULL};
    run(clean);
    return rc ? 1 : 0;
}

/* Contention of many writers and readers as it is on a real file system, beside the model of paper_far_model.h: the same bytes are written
 * to one disk by more and more processes, each to a file of its own (Fig. 11 of mcrEngine, Islam et al., SC'12). Nothing is modelled here:
 * a write ends with fdatasync, and before a read the pages are given up. */
#include "limit.h"
#include "paper_far_model.h"
#include "paper_far_sets.h"

#include "base/clock.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_RUNS = 25,
       COUNTS = 7,
       PIECE = 1 << 20 };

static struct {
    const char *dir;
    FILE *json;
    double mib, runs, limit;
} o = {.mib = 64, .runs = 5, .limit = BENCH_LIMIT_S};

static void name(char out[512], int i)
{
    snprintf(out, 512, "%s/paper-far-disk.%d", o.dir, i);
}

/* One process: its share of the bytes, in pieces. */
static int move(int i, int restart, size_t bytes, int *ready, int *go)
{
    char path[512], none;
    char *piece = malloc(PIECE);
    name(path, i);
    int fd = open(path, restart ? O_RDONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!piece || fd < 0)
        return 1;
    memset(piece, i + 1, PIECE);
    if (restart && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
        return 1;
    close(go[1]);
    if (write(ready[1], "", 1) != 1 || read(go[0], &none, 1))
        return 1;
    for (size_t left = bytes; left;) {
        size_t n = left < PIECE ? left : PIECE;
        if ((restart ? read(fd, piece, n) : write(fd, piece, n)) != (ssize_t)n)
            return 1;
        left -= n;
    }
    return !restart && fdatasync(fd);
}

/* All of them at the same time. Seconds from when all were ready; negative: one failed. */
static double move_all(int writers, int restart)
{
    size_t bytes = (size_t)(o.mib * 1048576) / (size_t)writers;
    int ready[2], go[2], made = 0, failed = 0, status;
    char told;
    pid_t pids[1 << (COUNTS - 1)];
    if (pipe2(ready, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
        return -1;
    fflush(NULL);
    for (; made < writers && (pids[made] = fork()) >= 0; made++)
        if (!pids[made])
            _exit(move(made, restart, bytes, ready, go));
    close(ready[1]);
    for (int i = 0; i < made; i++)
        failed |= read(ready[0], &told, 1) != 1;
    double begun = sk_now();
    close(go[1]);
    close(go[0]);
    close(ready[0]);
    for (int i = 0; i < made; i++)
        failed |= waitpid(pids[i], &status, 0) != pids[i] || !WIFEXITED(status) || WEXITSTATUS(status);
    return failed || made < writers ? -1 : sk_now() - begun;
}

static void remove_all(void)
{
    char path[512];
    for (int i = 0; i < 1 << (COUNTS - 1); i++) {
        name(path, i);
        unlink(path);
    }
}

static void line(const char *phase, int writers, double mean, double half, double one)
{
    double slower = one > 0 ? mean / one : 1;
    /* slower = (1 + c k) / (1 + c) */
    double c = writers > 1 && slower < writers ? (slower - 1) / (writers - slower) : 0;
    printf("| %s | %d | %.3f ± %.3f | %.2f | ", phase, writers, mean, half, slower);
    printf(writers > 1 ? "%+.4f |\n" : "|\n", c);
    fflush(stdout);
    if (o.json)
        fprintf(o.json,
                "{\"bench\": \"disk\", \"phase\": \"%s\", \"writers\": %d, \"bytes\": %.0f, \"runs\": %.0f, \"mean\": %.6f, \"ci95\": %.6f, "
                "\"contention\": %.6f}\n",
                phase, writers, o.mib * 1048576, o.runs, mean, half, c);
}

/* In turns, so that what else the machine does falls on all alike. */
static int measure(void)
{
    static double t[2][COUNTS][MOST_RUNS];
    int runs = 0;
    for (; runs < o.runs; runs++) {
        if (bench_left_out("many writers on a disk: turn %d of %.0f", runs + 1, o.runs))
            break;
        for (int k = 0; k < COUNTS; k++)
            for (int restart = 0; restart < 2; restart++)
                if ((t[restart][k][runs] = move_all(1 << k, restart)) < 0)
                    return -1;
        remove_all();
    }
    printf("%d turns.\n\n| | files at a time | %.0f MiB take, s | times as long as one | contention of each file |\n|---|---|---|---|---|\n", runs, o.mib);
    for (int restart = 0; restart < 2 && runs; restart++)
        for (int k = 0; k < COUNTS; k++) {
            double half, none, one = far_mean(t[restart][0], runs, &none), mean = far_mean(t[restart][k], runs, &half);
            line(restart ? "restart" : "checkpoint", 1 << k, mean, half, one);
        }
    puts("");
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"mib", 1, NULL, 'm'}, {"runs", 1, NULL, 'n'}, {"limit", 1, NULL, 'l'}, {"json", 1, NULL, 'j'}, {NULL, 0, NULL, 0}};
    int wrong = 0;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        wrong |= c == 'm'   ? far_number(optarg, 1, 1e5, &o.mib)
                 : c == 'n' ? far_number(optarg, 1, MOST_RUNS, &o.runs)
                 : c == 'l' ? far_number(optarg, 0, 1e6, &o.limit)
                 : c == 'j' ? !(o.json = fopen(optarg, "a"))
                            : 1;
    if (wrong || optind + 1 != argc) {
        fputs("usage: paper_far_disk [--mib TOTAL] [--runs N] [--limit SECONDS] [--json FILE] DIR\n", stderr);
        return 2;
    }
    o.dir = argv[optind];
    o.runs = (int)o.runs;
    bench_limit(o.limit);
    printf("## Many writers on a real file system (Fig. 11, measured)\n\nIn %s: ", o.dir);
    int rc = measure();
    remove_all();
    if (rc)
        printf("Skipped, as %s cannot be written to, or not enough.\n\n", o.dir);
    bench_limit_report(stdout, o.json);
    if (o.json)
        fclose(o.json);
    return 0;
}

/* A program for the tests of `saikai run`: loops with an all-reduce, tells its keeper how far it
 * is, and dies as told.
 *
 * usage: victim [NAME=VALUE…]
 *   seconds=S      length of the loop (default 0.3)
 *   while=FILE     … and as long as this file is there
 *   later=S        … after a restart (default: the same)
 *   die=HOW        kill | abort | exit | leave (with 0) | mpiabort | hang | sleep | term (ignores SIGTERM and
 * SIGINT) | fork | late (stays after its work) rank=R         which rank dies (default 1) until=N
 * only in the first N incarnations (default 1) after=S        seconds into the loop (default 0.1)
 *   setup=S        stays that long before its loop, and output=S after its use of the page
 *   page=0         do not use the page shared with the keeper
 *   complete=K     a generation becomes complete every K iterations
 *   echo=1         rank 0 copies standard input to standard output first
 * Rank 0 prints "begin N" with the incarnation, and "end N SUM"; each rank prints "request N" when
 * a checkpoint is asked for, and "signal N" when SIGUSR2 came. */
#include "backbone/keeper_page.h"
#include "base/clock.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What MPI libraries leave behind is not ours to judge. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static int n_args;
static char **args;
static volatile sig_atomic_t usr2;

static void on_usr2(int n)
{
    usr2 = n;
}

static const char *option(const char *name, const char *standard)
{
    size_t n = strlen(name);
    for (int i = 1; i < n_args; i++)
        if (!strncmp(args[i], name, n) && args[i][n] == '=')
            return args[i] + n + 1;
    return standard;
}

static void leave_children(void)
{
    for (int i = 0; i < 2; i++)
        if (!fork()) {
            if (i)
                setsid(); /* one stays in our process group, one does not */
            sleep(300);
            _exit(0);
        }
}

static void die(const char *how)
{
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "exit"))
        _exit(3);
    if (!strcmp(how, "leave"))
        _exit(0);
    if (!strcmp(how, "mpiabort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "fork")) {
        leave_children();
        raise(SIGKILL);
    }
    if (!strcmp(how, "hang") || !strcmp(how, "sleep"))
        for (;;)
            pause();
}

static int is_fatal(const char *how)
{
    return *how && strcmp(how, "term") && strcmp(how, "late");
}

int main(int argc, char **argv)
{
    struct sk_keeper_page *page = NULL;
    int rank, sum = 0, one = 1, go = 1;
    n_args = argc;
    args = argv;
    double entered = sk_now();
    const char *how = option("die", "");
    signal(SIGUSR2, on_usr2);
    if (!strcmp(how, "term")) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (sk_keeper_page_attach(&page, NULL))
        return 9;
    uint32_t incarnation = page ? page->incarnation : 0;
    if (!strcmp(option("page", "1"), "0"))
        page = NULL;
    if (page)
        atomic_store(&page->state, SK_KEEPER_INITIALISED);
    if (!rank) {
        if (getenv("VICTIM_TIMES"))
            fprintf(stderr, "main %.6f init %.6f\n", entered, sk_now());
        printf("begin %u\n", incarnation);
        fflush(stdout);
        for (int c; *option("echo", "") && (c = getchar()) != EOF;)
            putchar(c);
        fflush(stdout);
    }
    sk_sleep(atof(option("setup", "0")));
    double start = sk_now(), seconds = atof(option("seconds", "0.3")),
           after = atof(option("after", "0.1"));
    if (incarnation)
        seconds = atof(option("later", option("seconds", "0.3")));
    int mine = rank == atoi(option("rank", "1")) && (int)incarnation < atoi(option("until", "1"));
    long every = atol(option("complete", "0"));
    const char *busy = option("while", "");
    for (long it = 1; go; it++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (page) {
            sk_keeper_page_progress(page, it);
            if (every && it % every == 0)
                sk_keeper_page_complete(page, it);
            if (sk_keeper_page_take(page) & SK_REQUEST_CHECKPOINT) {
                printf("request %d\n", rank);
                fflush(stdout);
            }
        }
        if (usr2) {
            printf("signal %d\n", rank);
            fflush(stdout);
            usr2 = 0;
        }
        if (mine && sk_now() - start > after)
            die(how);
        usleep(every ? 2000 : 10000); /* ranks that wait poll, and keep the cores from other tests */
        /* who is to die does so before the loop ends, however the machine shares out its time */
        go = sk_now() - start < seconds || (*busy && !access(busy, F_OK)) || (mine && is_fatal(how));
        MPI_Allreduce(MPI_IN_PLACE, &go, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    if (!rank)
        printf("end %u %d\n", incarnation, sum);
    fflush(stdout);
    if (page)
        atomic_store(&page->state, SK_KEEPER_FINALIZED);
    sk_sleep(atof(option("output", "0")));
    if (mine && !strcmp(how, "late"))
        for (;;)
            pause();
    MPI_Finalize();
    return 0;
}

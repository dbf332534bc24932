/* saikaid: the processes that Saikai runs beside the application, one subcommand each. */
#include "backbone/keeper_page.h"
#include "backbone/message.h"
#include "base/file/standard.h"
#include "base/log.h"
#include "daemon/keeper.h"
#include "daemon/node.h"
#include "daemon/server.h"

#include <saikai/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { USAGE = 2 };

static int usage(void)
{
    fputs("Usage: saikaid rank -- PROGRAM [ARGUMENT...]\n"
          "       saikaid join REPAIR FIRST RANKS REMAINING_MS -- PROGRAM [ARGUMENT...]\n"
          "       saikaid node\n"
          "       saikaid server [--config FILE] [--set KEY=VALUE]...\n"
          "       saikaid --version\n\n"
          "server keeps the failure database of a site (failure.server). The others are started by `saikai run`, once for each rank, and by the\n"
          "ranks' keepers, once for each node: not by hand.\n",
          stderr);
    return USAGE;
}

/* The rank, from the variable in which this MPI's launcher leaves it. */
static int read_rank(const char *name, uint32_t *rank, struct saikai_error *err)
{
    const char *text = getenv(name);
    char *end;
    unsigned long v = text ? strtoul(text, &end, 10) : 0;
    if (!text || end == text || *end || v > UINT32_MAX)
        return sk_fail(err, SAIKAI_EMPI,
                       "the launcher left no rank in %s: the program would run under another MPI "
                       "than was started; "
                       "choose with `saikai run --launcher`",
                       name);
    *rank = (uint32_t)v;
    return 0;
}

/* A whole number below most; -1: it is none. */
static long number(const char *text, long most)
{
    char *end;
    long v = strtol(text, &end, 10);
    return end == text || *end || v < 0 || v > most ? -1 : v;
}

/* Of the processes of a repair this one has a place in the list of the dead. argv: REPAIR FIRST RANK,RANK… REMAINING_MS */
static int read_place(char **argv, struct sk_link_settings *s, struct sk_keeper_place *p, struct saikai_error *err)
{
    long repair = number(argv[0], UINT16_MAX), first = number(argv[1], INT32_MAX), rank = -1;
    long long remaining = strtoll(argv[3], NULL, 10);
    uint32_t at = 0;
    int rc = read_rank(s->rank_env, &at, err);
    char *save = NULL, *word = strtok_r(argv[2], ",", &save);
    for (uint32_t i = 0; word && i < at; i++)
        word = strtok_r(NULL, ",", &save);
    if (word)
        rank = number(word, UINT16_MAX);
    if (!rc && (repair < 1 || first < 0 || rank < 0 || remaining < 0))
        rc = sk_fail(err, SAIKAI_EINVAL, "this process was to take the place of a dead one, but was not told which");
    if (rc)
        return rc;
    *p = (struct sk_keeper_place){.rank = (uint32_t)rank, .id = (uint32_t)first + at, .repair = (uint32_t)repair};
    s->remaining_ms = (uint64_t)remaining;
    return 0;
}

/* place: what a process of a repair is told, NULL: one of the start. */
static int run_rank(char **place, char **argv)
{
    struct saikai_error err = {0};
    struct sk_link_settings s;
    struct sk_keeper_place p = {0};
    const char *text = getenv(SK_LINK_ENV);
    if (!text) {
        fputs("saikaid: rank: there is no `saikai run` above this process\n", stderr);
        return usage();
    }
    int rc = sk_link_settings_parse(text, &s, &err);
    if (!rc && place)
        rc = read_place(place, &s, &p, &err);
    else if (!rc && !(rc = read_rank(s.rank_env, &p.rank, &err))) {
        const char *ranks = getenv(SK_WORLD_RANKS_ENV);
        p.id = p.rank;
        p.waits = ranks && p.rank >= strtoul(ranks, NULL, 10);
    }
    if (rc) {
        sk_log(SK_LOG_ERROR, "%s", err.text);
        return SK_KEEPER_FAILED;
    }
    return sk_keeper_run(&s, &p, argv);
}

/* The service of this node; the key comes through a pipe, and whoever started it listens already. */
static int run_node(void)
{
    struct sk_link_settings s;
    uint8_t job[SK_KEY_BYTES];
    const char *text = getenv(SK_LINK_ENV);
    if (!text || sk_link_settings_parse(text, &s, NULL) || read(SK_NODE_KEY_FD, job, sizeof job) != (ssize_t)sizeof job)
        return usage();
    close(SK_NODE_KEY_FD);
    prctl(PR_SET_NAME, "saikaid"); /* it was started as /proc/self/exe, which top and ps would show as "exe" */
    int rc = sk_node_run(&s, job, SK_NODE_LISTENER_FD);
    explicit_bzero(job, sizeof job);
    return rc;
}

int main(int argc, char **argv)
{
    sk_standard_hold();
    sk_log_set(sk_log_stderr, NULL, SK_LOG_WARN);
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        puts("saikaid " SAIKAI_VERSION);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "server"))
        return sk_server_run(argc - 2, argv + 2);
    if (argc > 3 && !strcmp(argv[1], "rank") && !strcmp(argv[2], "--"))
        return run_rank(NULL, argv + 3);
    if (argc > 7 && !strcmp(argv[1], "join") && !strcmp(argv[6], "--"))
        return run_rank(argv + 2, argv + 7);
    if (argc == 2 && !strcmp(argv[1], "node"))
        return run_node();
    return usage();
}

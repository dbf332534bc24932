/* saikaid: the processes that Saikai runs beside the application, one subcommand each. */
#include "backbone/message.h"
#include "base/log.h"
#include "daemon/keeper.h"

#include <saikai/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2 };

static int usage(void)
{
    fputs("Usage: saikaid rank -- PROGRAM [ARGUMENT...]\n"
          "       saikaid --version\n\n"
          "Started by `saikai run`, once for each rank. Not meant to be started by hand.\n",
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

static int run_rank(char **argv)
{
    struct saikai_error err = {0};
    struct sk_link_settings s;
    uint32_t rank = 0;
    const char *text = getenv(SK_LINK_ENV);
    if (!text) {
        fputs("saikaid: rank: there is no `saikai run` above this process\n", stderr);
        return usage();
    }
    if (sk_link_settings_parse(text, &s, &err) || read_rank(s.rank_env, &rank, &err)) {
        sk_log(SK_LOG_ERROR, "%s", err.text);
        return SK_KEEPER_FAILED;
    }
    return sk_keeper_run(&s, rank, argv);
}

int main(int argc, char **argv)
{
    sk_log_set(sk_log_stderr, NULL, SK_LOG_WARN);
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        puts("saikaid " SAIKAI_VERSION);
        return 0;
    }
    if (argc > 3 && !strcmp(argv[1], "rank") && !strcmp(argv[2], "--"))
        return run_rank(argv + 3);
    return usage();
}

/* saikai run: start an MPI program, watch it, and start it again when it died. */
#include "cli/cli.h"

#include "base/log.h"
#include "base/config/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZMQ
#include "cli/kinds.h"
#include "recovery/job.h"
#include "recovery/launch/launcher.h"
#include "recovery/repair/compare.h"

enum { RUN_FAILED = 125 };

/* An option that is a configuration key by another name. */
static int set(struct cli *cli, const char *key, const char *option, const char *value)
{
    struct saikai_error err = {0};
    if (value && sk_config_set(cli->config, key, value, SK_FROM_COMMAND_LINE, option, &err))
        return cli_usage(cli, "%s", err.text);
    return -1;
}

/* One argument as a shell would have to be given it. */
static void put_quoted(FILE *f, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
    int quote = !*word || word[strspn(word, plain)];
    if (quote)
        putc('\'', f);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", f);
        else
            putc(*word, f);
    if (quote)
        putc('\'', f);
}

/* What this process was started with, to be typed again; NULL when it cannot be found out. Options are parsed in place: the
 * kernel has them as they were. */
static char *command_line(void)
{
    char *out = NULL, *word = NULL;
    size_t n = 0, cap = 0;
    FILE *in = fopen("/proc/self/cmdline", "re"), *f = in ? open_memstream(&out, &n) : NULL;
    for (int i = 0; f && getdelim(&word, &cap, 0, in) > 0; i++) {
        if (i)
            putc(' ', f);
        put_quoted(f, word);
    }
    if (in)
        fclose(in);
    if (f && fclose(f)) {
        free(out);
        out = NULL;
    }
    free(word);
    return out;
}

int cli_run(struct cli *cli, int argc, char **argv)
{
    int64_t ranks = 1, spares = 0;
    int verbose = 0;
    const char *hosts = NULL, *launcher = SK_AUTO, *time_limit = NULL, *hang = NULL,
               *key_file = NULL, *then = NULL, *from = NULL, *recovery = NULL, *protocol = NULL, *replicate = NULL, *compare = NULL, *warm = NULL;
    const struct cli_option options[] = {
        {'n', "ranks", CLI_INT, &ranks, "N", NULL, "number of ranks (default: 1)"},
        {0, "hosts", CLI_TEXT, &hosts, "FILE", NULL,
         "hosts to run on, one 'host [slots=N]' a line (default: this host; under Slurm those of "
         "the allocation)"},
        {0, "spares", CLI_INT, &spares, "K", NULL,
         "keep the last K of the hosts free to take the place of lost ones (default: 0)"},
        {0, "launcher", CLI_CHOICE, &launcher, NULL, cli_forms(&sk_launcher_kind, SK_AUTO),
         "the MPI's own launcher; auto: Slurm's under Slurm, else that of the MPI which the program "
         "is linked with"},
        {0, "time-limit", CLI_TEXT, &time_limit, "TIME", NULL,
         "length of the job's time slot: a checkpoint is made before it ends, and no restart after "
         "it"},
        {0, "hang-timeout", CLI_TEXT, &hang, "TIME", NULL,
         "restart the job when no rank reaches another candidate for this long (default: never)"},
        {0, "from", CLI_TEXT, &from, "GENERATION", NULL,
         "let the first start go on from this generation (a name as 'saikai ls' shows it, or an iteration) and not from the newest; "
         "newer ones are passed over from then on"},
        {0, "recovery", CLI_TEXT, &recovery, "MODELS", NULL,
         "fault models in the order in which they are asked, each with =ignore, =restart or =migration when the answer is to be "
         "another one than usual, or process=in-place where the program can be repaired while it runs (default: network, physical, repeated, process)"},
        {0, "protocol", CLI_TEXT, &protocol, "PROTOCOL", NULL,
         "who goes back after a fault that needs no restart: with process=in-place coordinated (all ranks) or logging (the dead process alone); "
         "replication (nobody: each rank is two processes, and takes two cores); none (no layer: every fault is a restart), or that of a component (default: coordinated)"},
        {0, "replicate", CLI_TEXT, &replicate, "RANKS", NULL,
         "with --protocol replication, the ranks that are two processes, as in 0,4-7; when another one dies the job is started again (default: all ranks)"},
        {0, "compare", CLI_CHOICE, &compare, NULL, cli_forms(&sk_compare_kind, NULL),
         "with --protocol replication, compare by hash what the two processes of a rank send, and say it when they differ (silent data corruption): then go on "
         "(tell), start the job again (restart), or end it (default: nothing is compared)"},
        {0, "warm", CLI_TEXT, &warm, "K", NULL,
         "with process=in-place, start K processes beyond the ranks, which wait to take the place of dead ones (default: one with Open MPI 4 on one host, unless it is a script or mpirun has arguments, else none)"},
        {0, "then", CLI_TEXT, &then, "COMMAND", NULL,
         "program and arguments of the starts after the first, in one word: split at white space, quotes keep together "
         "(default: as in the first)"},
        {0, "key-file", CLI_TEXT, &key_file, "FILE", NULL,
         "a secret of your own, at this path on all hosts, by which launcher and ranks know each "
         "other (default: one is drawn for each run)"},
        {'v', "verbose", CLI_FLAG, &verbose, NULL, NULL, "say more about what happens"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[--] PROGRAM [ARGUMENT...]",
        .about = "Starts an MPI program, watches it, and starts it again from its newest "
                 "checkpoint when a rank dies, a "
                 "host is lost or the job hangs. A program that uses Saikai resumes; others "
                 "are started again as they were, or by --then, and find SAIKAI_START=1, 2, ... in their environment. "
                 "SIGTERM and ^C save the job first; the same command goes on from there. "
                 "Exit code: the program's own, 128+n for signal n, 126 or 127 when it cannot be "
                 "executed, 125 when saikai run itself failed, 75 when a running job has the store, 2 when the command line or "
                 "the configuration is wrong.",
        .min_operands = 1,
        .max_operands = -1,
        .stop_at_operand = 1,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    const struct {
        const char *key, *option, *value;
    } given[] = {
        {"schedule.time_limit", "--time-limit", time_limit}, {"run.hang_timeout", "--hang-timeout", hang}, {"run.key_file", "--key-file", key_file},
        {"run.then", "--then", then}, {"run.recovery", "--recovery", recovery}, {"run.protocol", "--protocol", protocol},
        {"run.replicate", "--replicate", replicate}, {"run.compare", "--compare", compare}, {"run.warm", "--warm", warm}, {"restart.from", "--from", from},
    };
    for (size_t i = 0; rc < 0 && i < sizeof given / sizeof *given; i++)
        rc = set(cli, given[i].key, given[i].option, given[i].value);
    if (rc >= 0)
        return rc;
    if (ranks < 1 || ranks > 1 << 20)
        return cli_usage(cli, "-n: '%lld' is no number of ranks from 1 to %d", (long long)ranks,
                         1 << 20);
    if (spares > 1 << 20)
        return cli_usage(cli, "--spares: '%lld' is too many", (long long)spares);
    argv[argc] = NULL; /* operands were moved to the front: what follows them is stale */
    struct saikai_error err = {0};
    char *command = command_line();
    struct sk_job_options o = {
        .n_ranks = (int)ranks,
        .hosts_path = hosts,
        .spares = (int)spares,
        .launcher = launcher,
        .program = argv,
        .command = command,
    };
    sk_log_set(sk_log_stderr, NULL, verbose ? SK_LOG_INFO : SK_LOG_NOTICE);
    rc = sk_job_run(&o, cli->config, &err);
    free(command);
    if (rc >= 0)
        return rc;
    rc = cli_fail(cli, &err);
    return rc == CLI_USAGE ? rc : RUN_FAILED;
}

#else

int cli_run(struct cli *cli, int argc, char **argv)
{
    struct saikai_error err = {0};
    sk_fail(&err, SAIKAI_ENOTSUP, "built without ZeroMQ or libsodium: install libzmq3-dev and libsodium-dev, and build again");
    return cli_fail(cli, &err);
}

#endif

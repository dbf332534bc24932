/* saikai history: the faults of a store's jobs, and what was done about them. */
#include "cli/cli.h"

#include "base/text/counted.h"
#include "base/text/shown.h"
#include "cli/store/store_dir.h"
#include "recovery/history/history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct output {
    struct sk_json *j; /* NULL: lines */
    int n;
};

static void put(struct output *o, const struct sk_event *e)
{
    sk_json_object(o->j, NULL);
    sk_json_int(o->j, "time_ms", e->at_ms);
    sk_json_int(o->j, "start", e->start);
    sk_json_int(o->j, "rank", e->rank);
    sk_json_text(o->j, "node", e->node);
    sk_json_text(o->j, "fault", e->fault);
    sk_json_text(o->j, "what", e->what);
    sk_json_text(o->j, "model", e->model);
    sk_json_text(o->j, "answer", e->answer);
    sk_json_text(o->j, "then", e->then);
    sk_json_text(o->j, "command", e->command);
    sk_json_end(o->j);
}

static void each(void *arg, const struct sk_event *e)
{
    struct output *o = arg;
    char when[32] = "?";
    struct tm tm;
    time_t t = (time_t)(e->at_ms / 1000);
    o->n++;
    if (o->j) {
        put(o, e);
        return;
    }
    if (localtime_r(&t, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    printf("%s  %s; fault model: %s; answer: %s%s%s  [start %lld of %s]\n", when, sk_shown(e->what), *e->model ? sk_shown(e->model) : "none", sk_shown(e->answer),
           *e->then ? ", " : "", sk_shown(e->then), (long long)e->start + 1, *e->command ? sk_shown(e->command) : "?");
}

int cli_history(struct cli *cli, int argc, char **argv)
{
    int json = 0, bad = 0;
    struct sk_json j = {0};
    struct saikai_error err = {0};
    const struct cli_option options[] = {
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR]",
        .about = "Lists the faults that saikai run met in a store's jobs: what happened, which fault model matched, and how it was "
                 "answered. DIR is the prefix, by default that of store.prefix.",
        .max_operands = 1,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    struct output o = {json ? &j : NULL, 0};
    struct stat st;
    if (argc && stat(argv[0], &st) && errno == ENOENT) {
        sk_fail(&err, SAIKAI_ENOENT, "%s: there is no such directory", argv[0]);
        return cli_fail(cli, &err);
    }
    const char *dir = argc ? argv[0] : sk_config_text(cli->config, "store.prefix");
    if (cli_store_refuse_others(dir, &err))
        return cli_fail(cli, &err);
    if (json)
        sk_json_array(&j, NULL);
    rc = sk_history_load(dir, each, &o, &bad, &err);
    if (rc && rc != SAIKAI_ENOENT) {
        sk_json_free(&j);
        return cli_fail(cli, &err);
    }
    if (bad)
        fprintf(stderr, "saikai history: %s of %s/history damaged, or of another version\n", sk_counted((unsigned)bad, "line(s)"), sk_shown(dir));
    if (json) {
        sk_json_end(&j);
        return cli_print_json(cli, &j, bad ? CLI_FAILED : CLI_OK);
    }
    if (!o.n && !bad)
        printf("no faults are known of %s\n", sk_shown(dir));
    return bad ? CLI_FAILED : CLI_OK;
}

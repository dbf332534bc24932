/* saikai events: the events of a prefix's jobs, in the order of their times, and on and on with --follow. */
#include "cli/cli.h"
#include "cli/store/jobs.h"
#include "cli/store/store_dir.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/text/shown.h"
#include "store/event/filter.h"
#include "store/event/kept.h"
#include "store/owner/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double look_s = 0.2;

struct source {
    struct sk_events_reader reader;
    int bad_told;
    struct source *next;
};

struct kept {
    struct saikai_event e;
    size_t number; /* in the order of the file */
};

struct output {
    struct cli *cli;
    const char *only;
    struct sk_filter filter;
    int json, follow, shown, bad, jobs;
    struct source *sources;
    struct kept **found; /* of this look */
    size_t n, room;
    struct saikai_error trouble;
};

/* ---- finding ---- */

static int add_source(void *arg, const char *dir, struct saikai_error *err)
{
    struct output *o = arg;
    struct sk_job job;
    int rc = sk_job_load(dir, &job, err);
    if (rc || (o->only && strcmp(o->only, job.name)))
        return rc;
    for (struct source *s = o->sources; s; s = s->next)
        if (!strcmp(s->reader.dir, dir))
            return 0;
    struct source *s = calloc(1, sizeof *s);
    rc = s ? sk_events_open(&s->reader, dir, 0, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for a job");
    if (rc) {
        free(s);
        return rc;
    }
    s->next = o->sources;
    o->sources = s;
    o->jobs++;
    return 0;
}

static void keep(void *arg, const struct saikai_event *e)
{
    struct output *o = arg;
    if (!sk_filter_passes(&o->filter, e))
        return;
    if (o->n == o->room) {
        size_t room = o->room * 2 + 64;
        struct kept **more = realloc(o->found, room * sizeof *more);
        if (!more) {
            sk_fail(&o->trouble, SAIKAI_ENOMEM, "no memory for %zu events", room);
            return;
        }
        o->found = more;
        o->room = room;
    }
    struct kept *k = malloc(sizeof *k);
    if (!k) {
        sk_fail(&o->trouble, SAIKAI_ENOMEM, "no memory for %zu events", o->n);
        return;
    }
    k->e = *e;
    k->number = o->n;
    o->found[o->n++] = k;
}

static int by_time(const void *a, const void *b)
{
    const struct kept *p = *(struct kept *const *)a, *q = *(struct kept *const *)b;
    if (p->e.time_ms != q->e.time_ms)
        return p->e.time_ms < q->e.time_ms ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

/* ---- showing ---- */

static const char *colour(int severity, int end)
{
    static const char *const codes[] = {"\033[2m", "", "\033[33m", "\033[31m", "\033[1;31m"};
    if (!isatty(STDOUT_FILENO) || getenv("NO_COLOR") || severity == SAIKAI_EVENT_INFO)
        return "";
    return end ? "\033[0m" : codes[severity];
}

static void print_deadline(const struct saikai_event *e)
{
    int64_t now = sk_wall_ms();
    if (!e->deadline_ms)
        return;
    if (e->deadline_ms > now)
        printf("  deadline in %.0f s", (double)(e->deadline_ms - now) / 1000);
    else
        printf("  deadline %.0f s after it", (double)(e->deadline_ms - e->time_ms) / 1000);
}

static void print_event(const struct output *o, const struct saikai_event *e)
{
    char when[32] = "?";
    struct tm tm;
    time_t t = (time_t)(e->time_ms / 1000);
    if (localtime_r(&t, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    printf("%s  %s%-7s%s  %s.%s", when, colour(e->severity, 0), sk_severity_name(e->severity), colour(e->severity, 1), sk_shown(e->space),
           sk_shown(e->name));
    if (o->jobs > 1)
        printf("  job %s", sk_shown(e->job));
    if (e->rank >= 0)
        printf("  rank %d", e->rank);
    if (*e->host)
        printf("%s%s", e->rank >= 0 ? " on " : "  ", sk_shown(e->host));
    for (int i = 0; i < e->n_fields; i++) {
        const char *quote = !*e->field[i].value || strpbrk(e->field[i].value, " \t\n\"") ? "\"" : "";
        printf("  %s=%s%s%s", sk_shown(e->field[i].key), quote, sk_shown(e->field[i].value), quote);
    }
    print_deadline(e);
    puts("");
}

static void print_line(const struct saikai_event *e)
{
    struct sk_json j = {.compact = 1};
    sk_event_json(&j, NULL, e);
    sk_json_print(&j, stdout, NULL);
    sk_json_free(&j);
}

/* What this look found; list: the JSON array to put it into. */
static void show(struct output *o, struct sk_json *list)
{
    if (o->n)
        qsort(o->found, o->n, sizeof *o->found, by_time);
    for (size_t i = 0; i < o->n; i++) {
        if (list)
            sk_event_json(list, NULL, &o->found[i]->e);
        else if (o->json)
            print_line(&o->found[i]->e);
        else
            print_event(o, &o->found[i]->e);
        free(o->found[i]);
    }
    o->shown |= o->n > 0;
    o->n = 0;
    fflush(stdout);
}

/* ---- one look at all of them ---- */

static int look(struct output *o, const char *root, struct saikai_error *err)
{
    int rc = cli_jobs_each(root, add_source, o, err);
    for (struct source *s = o->sources; s && !rc; s = s->next) {
        rc = sk_events_read(&s->reader, keep, o, err);
        if (s->reader.bad > s->bad_told)
            fprintf(stderr, "saikai events: %d line%s of %s/" SK_EVENTS_FILE " damaged, or of another version: left out\n",
                    s->reader.bad - s->bad_told, s->reader.bad - s->bad_told == 1 ? "" : "s", sk_shown(s->reader.dir));
        o->bad |= s->reader.bad > 0;
        s->bad_told = s->reader.bad;
    }
    if (!rc && o->trouble.code) {
        *err = o->trouble;
        rc = err->code;
    }
    return rc;
}

static int show_all(struct output *o, const char *root)
{
    struct sk_json list = {0};
    struct saikai_error err = {0};
    if (o->json && !o->follow)
        sk_json_array(&list, NULL);
    do {
        if (look(o, root, &err)) {
            sk_json_free(&list);
            return cli_fail(o->cli, &err);
        }
        if (o->only && !o->jobs && !o->follow) {
            sk_json_free(&list);
            fprintf(stderr, "saikai events: no job %s in %s: saikai status %s lists all\n", sk_shown(o->only), sk_shown(root), sk_shown(root));
            return CLI_FAILED;
        }
        show(o, o->json && !o->follow ? &list : NULL);
        if (o->follow)
            sk_sleep(look_s);
    } while (o->follow && !ferror(stdout));
    if (o->json) {
        sk_json_end(&list);
        return cli_print_json(o->cli, &list, o->bad ? CLI_FAILED : CLI_OK);
    }
    if (!o->shown && !o->bad)
        printf("no events are known of %s\n", sk_shown(o->only ? o->only : root));
    return o->bad ? CLI_FAILED : CLI_OK;
}

int cli_events(struct cli *cli, int argc, char **argv)
{
    const char *job = NULL, *filter = "", *root;
    struct output o = {.cli = cli};
    struct saikai_error err = {0};
    const struct cli_option options[] = {
        {'f', "follow", CLI_FLAG, &o.follow, NULL, NULL, "go on with what comes, until ^C"},
        {0, "json", CLI_FLAG, &o.json, NULL, NULL, "print JSON; with --follow one object a line"},
        {0, "filter", CLI_TEXT, &filter, "SPEC", NULL, "only events for which all of KEY=VALUE, KEY!=VALUE, severity>=WORD,... hold"},
        {'j', "job", CLI_TEXT, &job, "NAME", NULL, "only of this job"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR | JOB]",
        .about = "Lists what happened to the jobs of a prefix, the oldest first: what their programs told, faults and their answers, starts, "
                 "notices and what else `saikai publish` added. DIR is the prefix, by default that of store.prefix; another word is the "
                 "name of a job there.",
        .max_operands = 1,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (sk_filter_parse(filter, &o.filter, &err))
        return cli_usage(cli, "%s", err.text);
    if (cli_jobs_target(cli, argc ? argv[0] : NULL, job, o.follow, &root, &o.only, &err))
        return cli_store_fail(cli, &err);
    rc = show_all(&o, root);
    for (size_t i = 0; i < o.n; i++)
        free(o.found[i]);
    free(o.found);
    while (o.sources) {
        struct source *s = o.sources;
        o.sources = s->next;
        free(s);
    }
    return rc;
}

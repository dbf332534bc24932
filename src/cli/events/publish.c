/* saikai publish: adds an event to those of a job, or of all jobs of a prefix. */
#include "cli/cli.h"
#include "cli/store/jobs.h"

#include "base/file/io.h"
#include "base/text/shown.h"
#include "store/event/kept.h"
#include "store/owner/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_JOBS = 1024, NAMES = 400 };

struct target {
    char dir[PATH_MAX];
    struct sk_job job;
};

struct found {
    const char *only; /* NULL: all */
    struct target *jobs;
    int n;
};

static int note(void *arg, const char *dir, struct saikai_error *err)
{
    struct found *f = arg;
    struct target *more, t;
    int rc = sk_job_load(dir, &t.job, err);
    if (rc || (f->only && strcmp(f->only, t.job.name)))
        return rc;
    if (f->n == MOST_JOBS)
        return sk_fail(err, SAIKAI_EINVAL, "there are more than %d jobs: name one with --job", MOST_JOBS);
    rc = sk_io_path(t.dir, sizeof t.dir, err, "%s", dir);
    more = rc ? NULL : realloc(f->jobs, (size_t)(f->n + 1) * sizeof *more);
    if (!more)
        return rc ? rc : sk_fail(err, SAIKAI_ENOMEM, "no memory for the jobs");
    f->jobs = more;
    f->jobs[f->n++] = t;
    return 0;
}

/* None, or several without a word that all are meant. */
static int check_found(const struct found *f, const char *root, int all, struct saikai_error *err)
{
    char names[NAMES] = "";
    size_t n = 0;
    if (!f->n && f->only)
        return sk_fail(err, SAIKAI_ENOENT, "no job %s in %s: saikai status %s lists all", f->only, root, root);
    if (!f->n)
        return sk_fail(err, SAIKAI_ENOENT, "no jobs are known of %s", root);
    if (f->n == 1 || all || f->only)
        return 0;
    for (int i = 0; i < f->n && n < sizeof names - 1; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", f->jobs[i].job.name);
    return sk_fail(err, SAIKAI_EINVAL, "%s has several jobs: name one with --job, or say --all (%.300s)", root, names);
}

static int make(const char *name, const char *severity, int n_fields, char **fields, int64_t rank, const char *host,
                struct saikai_event *e, struct saikai_error *err)
{
    char here[sizeof e->host] = "";
    int rc = sk_event_begin(e, name, sk_severity_parse(severity), err);
    for (int i = 0; !rc && i < n_fields; i++)
        rc = sk_event_take(e, fields[i], err);
    if (!rc && rank > INT_MAX)
        rc = sk_fail(err, SAIKAI_EINVAL, "%lld is no rank", (long long)rank);
    if (!host && !gethostname(here, sizeof here - 1))
        host = here;
    if (!rc && host && (strlen(host) >= sizeof e->host || host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:")]))
        rc = sk_fail(err, SAIKAI_EINVAL, "'%.60s' is no name of a host", host);
    if (!rc)
        strcpy(e->host, host ? host : "");
    if (!rc)
        e->rank = (int)rank;
    return rc;
}

/* To one job. */
static int tell(const struct target *t, struct saikai_event *e, struct saikai_error *err)
{
    struct sk_buf line = {0};
    snprintf(e->job, sizeof e->job, "%s", t->job.name);
    int rc = sk_event_print(e, &line, err);
    if (!rc)
        rc = sk_events_add(t->dir, line.data, line.len, 1, err);
    sk_buf_free(&line);
    return rc;
}

static int tell_all(const struct found *f, struct saikai_event *e)
{
    int failed = 0;
    for (int i = 0; i < f->n; i++) {
        struct saikai_error err = {0};
        if (tell(&f->jobs[i], e, &err)) {
            fprintf(stderr, "saikai publish: job %s: %s\n", sk_shown(f->jobs[i].job.name), sk_shown(err.text));
            failed++;
        }
    }
    return !failed ? CLI_OK : failed < f->n ? CLI_PARTIAL : CLI_FAILED;
}

static int report(const struct cli *cli, const struct saikai_error *err)
{
    return err->code == SAIKAI_EINVAL ? cli_usage(cli, "%s", err->text) : cli_fail(cli, err);
}

int cli_publish(struct cli *cli, int argc, char **argv)
{
    int all = 0;
    int64_t rank = -1;
    const char *job = NULL, *dir = NULL, *severity = "info", *host = NULL;
    struct saikai_event e;
    struct saikai_error err = {0};
    const struct cli_option options[] = {
        {'j', "job", CLI_TEXT, &job, "NAME", NULL, "to this job; needed where the prefix has several"},
        {'a', "all", CLI_FLAG, &all, NULL, NULL, "to all jobs of the prefix"},
        {'d', "dir", CLI_TEXT, &dir, "DIR", NULL, "the prefix, by default that of store.prefix"},
        {'s', "severity", CLI_CHOICE, &severity, "WORD", "debug|info|warning|error|fatal", "how bad it is (info)"},
        {'r', "rank", CLI_INT, &rank, "N", NULL, "the rank that it is about; else it is about none alone"},
        {0, "host", CLI_TEXT, &host, "NAME", NULL, "the host that it is about; else this one"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "NAME [KEY=VALUE...]",
        .about = "Adds an event to those of a job, where `saikai events` shows it and its program hears it. NAME may begin with hw., mw. or app. (the "
                 "default). The event 'notice' asks the running job for a checkpoint, at once and, with deadline=TIME from now, for one "
                 "more shortly before that; both go to the prefix.",
        .min_operands = 1,
        .max_operands = 1 + SAIKAI_EVENT_FIELDS + 1,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (all && job)
        return cli_usage(cli, "--all and --job exclude each other");
    struct found f = {.only = job};
    const char *root = dir ? dir : sk_config_text(cli->config, "store.prefix");
    rc = make(argv[0], severity, argc - 1, argv + 1, rank, host, &e, &err);
    if (!rc)
        rc = cli_jobs_each(root, note, &f, &err);
    if (!rc)
        rc = check_found(&f, root, all, &err);
    rc = rc ? report(cli, &err) : tell_all(&f, &e);
    free(f.jobs);
    return rc;
}

/* saikai status: how the jobs of a prefix are doing, from what each one puts up in its store. */
#include "cli/cli.h"
#include "cli/store/jobs.h"
#include "cli/store/store_dir.h"

#include "base/clock.h"
#include "base/config/units.h"
#include "base/file/io.h"
#include "base/text/shown.h"
#include "recovery/history/history.h"
#include "store/owner/lease.h"
#include "store/report.h"
#include "store/state.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds without a new report after which a job that holds its store is said to be silent. */
static const double silent_s = 30;

enum condition { RUNNING, SILENT, FINISHED, ENDED };
static const char *const condition_names[] = {"running", "silent", "finished", "not running"};

/* One job, as its directory shows it. */
struct job {
    char dir[PATH_MAX];
    struct sk_job job;
    struct sk_owner owner;
    struct sk_state state;
    struct sk_report report;
    int has_report;
    char trouble[300]; /* why not */
    enum condition condition;
    int n_faults, bad_faults; /* lines of the history, and those that are none */
    struct sk_event last;     /* fault, when there was one */
    size_t n_gens;            /* in the prefix */
    struct cli_harm harm;
    char harmed[48]; /* the newest generation that is, "": none */
};

/* 1: something of it is damaged or incomplete. */
static int is_harmed(const struct job *j)
{
    return *j->trouble || j->bad_faults || j->harm.damaged || j->harm.incomplete;
}

static void note_fault(void *arg, const struct sk_event *e)
{
    struct job *j = arg;
    j->n_faults++;
    j->last = *e;
}

static void look_at_generations(const struct cli *cli, struct job *j)
{
    struct cli_target t = {.local = 0};
    struct cli_store s;
    struct saikai_error why = {0};
    if (sk_io_path(t.root, sizeof t.root, &why, "%s", j->dir) || cli_store_load(cli, &t, &s, &why)) {
        snprintf(j->trouble, sizeof j->trouble, "%.*s", (int)sizeof j->trouble - 1, why.text);
        return;
    }
    j->n_gens = s.count;
    j->harm = cli_store_harm(cli, &s);
    if (j->harm.first >= 0)
        snprintf(j->harmed, sizeof j->harmed, "%s", s.gen[j->harm.first].name);
    cli_store_free(&s);
}

/* 0; SAIKAI_ENOENT: no job has this directory. */
static int look(const struct cli *cli, const char *dir, struct job *j, struct saikai_error *err)
{
    struct saikai_error why = {0};
    memset(j, 0, sizeof *j);
    int rc = sk_io_path(j->dir, sizeof j->dir, err, "%s", dir);
    if (rc || (rc = sk_job_load(dir, &j->job, err)))
        return rc;
    rc = sk_report_load(dir, &j->report, &why);
    j->has_report = !rc;
    if (rc && rc != SAIKAI_ENOENT)
        snprintf(j->trouble, sizeof j->trouble, "%.*s", (int)sizeof j->trouble - 1, why.text);
    if (sk_state_load(dir, &j->state, &why))
        snprintf(j->trouble, sizeof j->trouble, "%.*s", (int)sizeof j->trouble - 1, why.text);
    int held = sk_lease_look(dir, sk_config_time(cli->config, "store.lease_timeout"), &j->owner) == 1;
    int silent = j->has_report && (double)(sk_wall_ms() - j->report.at_ms) / 1000 > silent_s;
    j->condition = held ? silent ? SILENT : RUNNING : j->state.finished ? FINISHED : ENDED;
    sk_history_load(dir, note_fault, j, &j->bad_faults, NULL);
    look_at_generations(cli, j);
    return 0;
}

/* ---- for people ---- */

static const char *colour(enum condition c, int end)
{
    static const char *const codes[] = {"\033[32m", "\033[33m", "\033[36m", "\033[31m"};
    if (!isatty(STDOUT_FILENO) || getenv("NO_COLOR"))
        return "";
    return end ? "\033[0m" : codes[c];
}

/* "3 h"; "-": never. */
static const char *mean_time(double rate, char *out, size_t cap)
{
    if (rate > 0)
        sk_format_time(out, cap, 1 / rate);
    else
        snprintf(out, cap, "-");
    return out;
}

static const char *ago(const struct sk_report_newest *n, char *out, size_t cap)
{
    char age[32];
    if (n->iteration < 0)
        snprintf(out, cap, "-");
    else if (!n->at_ms)
        snprintf(out, cap, "by an earlier start");
    else
        snprintf(out, cap, "%s ago", cli_age(n->at_ms, age, sizeof age));
    return out;
}

static void print_places(const struct sk_report *r)
{
    static const char *const names[SK_REPORT_PLACES] = {"on the nodes", "protected", "in the prefix"};
    for (int i = 0; i < SK_REPORT_PLACES; i++) {
        char age[64];
        const struct sk_report_newest *n = &r->newest[i];
        if (n->iteration < 0)
            printf("  %-14s -\n", names[i]);
        else
            printf("  %-14s iteration %lld, %s\n", names[i], (long long)n->iteration, ago(n, age, sizeof age));
    }
}

static const char *reason(const char *why)
{
    static const struct {
        const char *key, *text;
    } reasons[] = {{"every", "as schedule.every says"},
                   {"interval", "as schedule.interval says"},
                   {"levels", "by the model of several levels"},
                   {"early", "as for a job so young"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (!strcmp(why, reasons[i].key))
            return reasons[i].text;
    return NULL;
}

static void print_interval(const struct sk_report *r)
{
    char time[32], program[32], hosts[32];
    const char *text = reason(r->why);
    if (r->every > 0 && r->tick > 0)
        printf("interval         every %lld candidates (%s), ", (long long)r->every,
               sk_format_time(time, sizeof time, (double)r->every * r->tick));
    else if (r->every > 0)
        printf("interval         every %lld candidates, ", (long long)r->every);
    else
        printf("interval         none so far, ");
    printf(text ? "%s\n" : "by the model %s\n", text ? text : sk_shown(r->why));
    printf("faults expected  of the program once in %s, of its hosts once in %s\n", mean_time(r->program_rate, program, sizeof program),
           mean_time(r->host_rate, hosts, sizeof hosts));
}

static void print_report(const struct job *j)
{
    const struct sk_report *r = &j->report;
    char cost[32], size[32], age[32], time[32], lost[32];
    printf("ranks            %lld on %lld node%s, the first on %s\n", (long long)r->ranks, (long long)r->nodes, r->nodes == 1 ? "" : "s",
           sk_shown(r->host));
    if (r->iteration >= 0)
        printf("progress         iteration %lld%s%s; told %s ago\n", (long long)r->iteration, r->tick > 0 ? ", each " : "",
               r->tick > 0 ? sk_format_time(time, sizeof time, r->tick) : "", cli_age(r->at_ms, age, sizeof age));
    puts("newest checkpoint");
    print_places(r);
    printf("checkpoints      %lld", (long long)r->checkpoints);
    if (r->failed)
        printf(", %lld of them failed", (long long)r->failed);
    if (r->checkpoints)
        printf("; the last held the program up for %s (%s a rank)", sk_format_time(cost, sizeof cost, r->cost),
               sk_format_size(size, sizeof size, (uint64_t)r->bytes));
    puts("");
    print_interval(r);
    double blocked = 100 * sk_report_share_blocked(r), share_lost = 100 * sk_report_share_lost(r);
    printf("waste            %.2g %%: %.2g %% for checkpoints, %.2g %% lost to %lld fault%s", blocked + share_lost, blocked, share_lost,
           (long long)r->faults, r->faults == 1 ? "" : "s");
    if (r->lost > 0)
        printf(" (%s)", sk_format_time(lost, sizeof lost, r->lost));
    puts("");
}

static void print_harm(const struct job *j)
{
    if (j->harm.damaged || j->harm.incomplete)
        printf("in the prefix    %d of %zu generation%s damaged, %d incomplete, the newest of these %s\n"
               "                 ('saikai verify %s' says what is wrong)\n",
               j->harm.damaged, j->n_gens, j->n_gens == 1 ? "" : "s", j->harm.incomplete, j->harmed, sk_shown(j->dir));
    if (j->bad_faults)
        printf("faults           %d line%s of its history damaged, or of another version\n", j->bad_faults, j->bad_faults == 1 ? "" : "s");
}

static void print_job(const struct job *j)
{
    char since[32], when[32];
    printf("job %s: %s%s%s", sk_shown(j->job.name), colour(j->condition, 0), condition_names[j->condition], colour(j->condition, 1));
    if (j->has_report && j->condition <= SILENT)
        printf(", start %lld, since %s", (long long)j->report.start, cli_age(j->report.began_ms, since, sizeof since));
    printf("\n%s\n", sk_shown(j->dir));
    if (j->has_report)
        print_report(j);
    else if (!*j->trouble)
        puts("it has not said how it is doing");
    if (*j->trouble)
        printf("%s\n", sk_shown(j->trouble));
    print_harm(j);
    if (j->n_faults)
        printf("last of %d fault%s %s ago: %s; answer: %s\n", j->n_faults, j->n_faults == 1 ? "" : "s",
               cli_age(j->last.at_ms, when, sizeof when), sk_shown(j->last.what), sk_shown(j->last.answer));
}

/* ---- for programs ---- */

static void put_report(struct sk_json *to, const struct sk_report *r)
{
    static const char *const names[SK_REPORT_PLACES] = {"local", "protected", "prefix"};
    sk_json_int(to, "time_ms", r->at_ms);
    sk_json_int(to, "began_ms", r->began_ms);
    sk_json_int(to, "start", r->start);
    sk_json_int(to, "ranks", r->ranks);
    sk_json_int(to, "nodes", r->nodes);
    sk_json_text(to, "first_host", r->host);
    sk_json_int(to, "iteration", r->iteration);
    sk_json_real(to, "candidate_seconds", r->tick);
    sk_json_object(to, "newest");
    for (int i = 0; i < SK_REPORT_PLACES; i++) {
        sk_json_object(to, names[i]);
        sk_json_int(to, "iteration", r->newest[i].iteration);
        sk_json_int(to, "time_ms", r->newest[i].at_ms);
        sk_json_end(to);
    }
    sk_json_end(to);
    sk_json_int(to, "checkpoints", r->checkpoints);
    sk_json_int(to, "failed", r->failed);
    sk_json_int(to, "bytes", r->bytes);
    sk_json_real(to, "cost_seconds", r->cost);
    sk_json_real(to, "blocked_seconds", r->blocked);
    sk_json_int(to, "every", r->every);
    sk_json_real(to, "interval_seconds", (double)r->every * r->tick);
    sk_json_text(to, "interval_by", r->why);
    sk_json_real(to, "program_failures_per_second", r->program_rate);
    sk_json_real(to, "host_failures_per_second", r->host_rate);
    sk_json_int(to, "faults", r->faults);
    sk_json_real(to, "lost_seconds", r->lost);
    sk_json_real(to, "share_blocked", sk_report_share_blocked(r));
    sk_json_real(to, "share_lost", sk_report_share_lost(r));
}

static void put_job(struct sk_json *to, const struct job *j)
{
    sk_json_object(to, NULL);
    sk_json_text(to, "job", j->job.name);
    sk_json_text(to, "store", j->dir);
    sk_json_text(to, "command", j->job.command);
    sk_json_text(to, "condition", condition_names[j->condition]);
    if (*j->trouble)
        sk_json_text(to, "problem", j->trouble);
    sk_json_uint(to, "generations", j->n_gens);
    sk_json_int(to, "damaged", j->harm.damaged);
    sk_json_int(to, "incomplete", j->harm.incomplete);
    sk_json_int(to, "faults_unreadable", j->bad_faults);
    sk_json_int(to, "faults_recorded", j->n_faults);
    if (j->n_faults)
        sk_json_text(to, "last_fault", j->last.what);
    if (j->has_report) {
        sk_json_object(to, "report");
        put_report(to, &j->report);
        sk_json_end(to);
    }
    sk_json_end(to);
}

/* ---- all jobs of a prefix ---- */

struct output {
    const struct cli *cli;
    const char *only; /* name of the job that is meant, NULL: all */
    struct sk_json *json;
    int n, harmed; /* jobs; those with something damaged or incomplete */
};

static int each(void *arg, const char *dir, struct saikai_error *err)
{
    struct output *o = arg;
    struct job *j = malloc(sizeof *j);
    int rc = j ? look(o->cli, dir, j, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory");
    if (!rc && (!o->only || !strcmp(o->only, j->job.name))) {
        if (!o->json && o->n)
            puts("");
        if (o->json)
            put_job(o->json, j);
        else
            print_job(j);
        o->n++;
        o->harmed += is_harmed(j);
    }
    free(j);
    return rc;
}

/* *again: 1 when it was shown, with --watch to be shown again. */
static int once(struct cli *cli, const char *root, const char *only, int json, int *again)
{
    struct sk_json j = {0};
    struct saikai_error err = {0};
    struct output o = {cli, only, json ? &j : NULL, 0, 0};
    *again = 0;
    if (json)
        sk_json_array(&j, NULL);
    if (cli_jobs_each(root, each, &o, &err)) {
        sk_json_free(&j);
        return cli_fail(cli, &err);
    }
    *again = !only || o.n;
    int code = !*again || o.harmed ? CLI_FAILED : CLI_OK;
    if (json) {
        sk_json_end(&j);
        return cli_print_json(cli, &j, code);
    }
    if (!o.n && only)
        fprintf(stderr, "saikai status: no job %s in %s: saikai status %s lists all\n", sk_shown(only), sk_shown(root), sk_shown(root));
    else if (!o.n)
        printf("no jobs are known of %s\n", sk_shown(root));
    fflush(stdout);
    return code;
}

int cli_status(struct cli *cli, int argc, char **argv)
{
    int json = 0, watch = 0, again, rc;
    const char *job = NULL, *only = NULL, *root;
    struct saikai_error err = {0};
    const struct cli_option options[] = {
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {'j', "job", CLI_TEXT, &job, "NAME", NULL, "only this job"},
        {'w', "watch", CLI_FLAG, &watch, NULL, NULL, "again every two seconds, until ^C"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR | JOB]",
        .about = "Shows how the jobs of a prefix are doing: ranks and nodes, progress, the newest checkpoint on the nodes, protected and in "
                 "the prefix with its age, what checkpoints cost, how often they are made and why, faults that are expected, and "
                 "the share of the time that went into checkpoints and faults. A job tells that every few seconds while "
                 "it runs and its prefix can be written to. Exit code 1: DIR is no store; something of a job is damaged, or a generation lacks files that no running job "
                 "would add and that no death explains. DIR is the prefix, by default that of store.prefix; another word is the name of a job in that one.",
        .max_operands = 1,
        .options = options,
    };
    rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (cli_jobs_target(cli, argc ? argv[0] : NULL, job, watch, &root, &only, &err))
        return cli_store_fail(cli, &err);
    do {
        if (watch && isatty(STDOUT_FILENO))
            fputs("\033[H\033[2J", stdout);
        rc = once(cli, root, only, json, &again);
        if (watch)
            sk_sleep(2);
    } while (watch && again && !ferror(stdout));
    return rc;
}

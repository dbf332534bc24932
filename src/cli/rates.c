/* saikai rates: what the failure database knows, and adding to it. */
#include "cli/cli.h"

#include "backbone/rates/serve.h"
#include "base/config/units.h"
#include "base/file/io.h"
#include "base/text/counted.h"
#include "base/text/shown.h"
#include "schedule/failure/rates.h"
#include "schedule/learn/database.h"
#include "schedule/learn/lanl.h"

#ifdef HAVE_ZMQ
#include "backbone/rates/link.h"
#endif

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_BYTES = 1 << 30 };
#ifdef HAVE_ZMQ
static const double server_s = 5; /* that the site's server has to answer */
#endif

struct asked {
    int json, all;
    const char *source, *job;
};

struct rates_place {
    char path[PATH_MAX];
    int own;
    struct sk_database *db;
};

static int find_place(struct cli *cli, struct rates_place *p, struct saikai_error *err)
{
    int rc = sk_database_place(sk_config_text(cli->config, "failure.database"), p->path, sizeof p->path, &p->own, err);
    return rc > 0 ? sk_fail(err, SAIKAI_ECONFIG, "there is no failure database: failure.database is none") : rc;
}

/* ---- show ---- */

struct shown_row {
    enum sk_side side;
    char name[SK_NAME_BYTES];
    double seconds, faults, newest, rate;
};

struct table {
    struct shown_row *row;
    size_t n;
    struct sk_belief node_prior, program_prior; /* of a host and of a program of which nothing is known, after all that was seen */
    struct sk_belief nodes;
    double others; /* rate of a program that was never seen */
};

/* Of the times between failures, where enough were seen to say so. */
struct shapes {
    double of[SK_SIDES];
    size_t n[SK_SIDES];
};

enum { ENOUGH = 20 };

/* The rate that a job is given for this host or program. */
static double rate_of(const struct table *t, const struct sk_rates_row *r)
{
    struct sk_belief prior = sk_belief_of_one(r->side == SK_SIDE_PROGRAM ? sk_belief_with(t->program_prior, r->others)
                                                                         : sk_belief_with(t->node_prior, t->nodes), 1);
    if (r->side == SK_SIDE_NODE && r->stated > 0)
        prior = sk_belief_prior(1 / r->stated, 1);
    return r->side == SK_SIDE_NODE && r->stated == 0 ? 0 : sk_belief_mean(sk_belief_with(prior, r->own));
}

static int fill(struct cli *cli, const struct sk_rates_message *known, struct table *t, struct saikai_error *err)
{
    t->node_prior = sk_belief_prior(sk_config_time(cli->config, "failure.mtbf"), 1);
    t->program_prior = sk_belief_prior(sk_config_time(cli->config, "failure.program_mtbf"), 1);
    t->nodes = known->nodes;
    t->others = sk_belief_mean(sk_belief_with(t->program_prior, known->others));
    t->row = calloc((size_t)known->n_rows + 1, sizeof *t->row);
    if (!t->row)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the failure database");
    for (t->n = 0; t->n < known->n_rows; t->n++) {
        const struct sk_rates_row *from = &known->row[t->n];
        struct shown_row *r = &t->row[t->n];
        *r = (struct shown_row){.side = from->side, .seconds = from->seconds, .faults = from->faults, .newest = from->newest,
                                .rate = rate_of(t, from)};
        snprintf(r->name, sizeof r->name, "%s", from->name);
    }
    return 0;
}

static const char *show_time(char out[32], double seconds)
{
    return isfinite(seconds) ? sk_format_time(out, 32, seconds) : "never";
}

static void print_side(const struct table *t, enum sk_side side, int all, double unseen)
{
    char a[32], b[32], day[32];
    size_t of_side = 0, left = 0;
    for (size_t i = 0; i < t->n; i++)
        of_side += t->row[i].side == side;
    printf("%-30s %9s %12s %14s  %s\n", side == SK_SIDE_NODE ? "Host" : "Program", "faults", "seen for", "fails once in", "newest fault");
    for (size_t i = 0; i < t->n; i++) {
        const struct shown_row *r = &t->row[i];
        if (r->side != side)
            continue;
        if (!all && of_side > 20 && r->faults == 0) { /* a long list of those that are well tells nothing */
            left++;
            continue;
        }
        time_t newest = (time_t)r->newest;
        struct tm tm;
        strcpy(day, "none");
        if (r->faults > 0 && gmtime_r(&newest, &tm))
            strftime(day, sizeof day, "%Y-%m-%d", &tm);
        printf("%-30s %9.0f %12s %14s  %s\n", sk_shown(r->name), r->faults, show_time(a, r->seconds),
               show_time(b, r->rate > 0 ? 1 / r->rate : INFINITY), day);
    }
    if (left)
        printf("and %zu without faults (--all shows them)\n", left);
    printf("%-30s %9s %12s %14s\n", "any other", "", "", show_time(b, unseen > 0 ? 1 / unseen : INFINITY));
}

static void print_shape(const struct shapes *s, enum sk_side side)
{
    if (s->n[side] >= ENOUGH)
        printf("times between them have the shape %.2f (%zu seen; 1: independent of each other; failure.shape)\n", s->of[side], s->n[side]);
}

static void json_table(const struct table *t, const struct shapes *s, const char *path, double unseen_node, struct sk_json *j)
{
    sk_json_object(j, NULL);
    sk_json_text(j, "database", path);
    sk_json_real(j, "unseen_node_rate_per_second", unseen_node);
    sk_json_real(j, "unseen_program_rate_per_second", t->others);
    for (int side = 0; side < SK_SIDES; side++)
        if (s->n[side] >= ENOUGH)
            sk_json_real(j, side == SK_SIDE_NODE ? "node_shape" : "program_shape", s->of[side]);
    sk_json_array(j, "rates");
    for (size_t i = 0; i < t->n; i++) {
        const struct shown_row *r = &t->row[i];
        sk_json_object(j, NULL);
        sk_json_text(j, "side", sk_side_name(r->side));
        sk_json_text(j, "name", r->name);
        sk_json_real(j, "faults", r->faults);
        sk_json_real(j, "seen_seconds", r->seconds);
        sk_json_real(j, "newest_fault", r->newest);
        sk_json_real(j, "rate_per_second", r->rate);
        sk_json_end(j);
    }
    sk_json_end(j);
    sk_json_end(j);
}

/* 1: the site's server was asked; 0: there is none, or it does not answer, which is said. */
static int ask_server(struct cli *cli, const struct sk_rates_message *question, struct rates_place *p, struct sk_rates_message *answer)
{
#ifdef HAVE_ZMQ
    struct saikai_error err = {0};
    struct sk_rates_peer peer;
    int rc = sk_rates_peer_of(cli->config, &peer, &err);
    if (!rc && !*peer.address)
        return 0;
    if (!rc)
        rc = sk_rates_call(&peer, question, server_s, answer, &err);
    if (rc)
        fprintf(stderr, "saikai rates: %s; this user's own database is used\n", sk_shown(err.text));
    else
        snprintf(p->path, sizeof p->path, "%s", peer.address);
    return !rc;
#else
    (void)cli, (void)question, (void)p, (void)answer;
    return 0;
#endif
}

/* What is known, from the server or from the file; *missing: there is no file yet. */
static int know(struct cli *cli, struct rates_place *p, struct sk_rates_message *known, struct shapes *s, int *missing, struct saikai_error *err)
{
    const struct sk_rates_message question = {.kind = SK_RATES_LIST, .id = sk_id_random()};
    *missing = 0;
    if (ask_server(cli, &question, p, known))
        return 0;
    int rc = find_place(cli, p, err);
    if (!rc)
        rc = sk_database_open(p->path, p->own, 0, &p->db, err);
    if (!rc)
        rc = sk_rates_list(p->db, known, err);
    for (int side = 0; side < SK_SIDES && !rc; side++)
        rc = sk_database_shape(p->db, (enum sk_side)side, &s->of[side], &s->n[side], err);
    *missing = rc == SAIKAI_ENOENT;
    sk_database_close(p->db);
    return *missing ? 0 : rc;
}

static int show(struct cli *cli, const struct asked *a)
{
    struct saikai_error err = {0};
    struct rates_place p = {0};
    struct table t = {0};
    struct shapes shapes = {.n = {0}};
    struct sk_rates_message known = {.kind = SK_RATES_ROWS};
    int missing, rc = know(cli, &p, &known, &shapes, &missing, &err);
    if (!rc)
        rc = fill(cli, &known, &t, &err);
    sk_rates_message_free(&known);
    double unseen = sk_belief_mean(sk_belief_with(t.node_prior, t.nodes));
    if (!rc && a->json) {
        struct sk_json j = {0};
        json_table(&t, &shapes, p.path, unseen, &j);
        rc = cli_print_json(cli, &j, CLI_OK);
    } else if (!rc) {
        printf("Failure database %s%s\n\n", sk_shown(p.path), missing ? ": nothing was learnt yet" : "");
        print_side(&t, SK_SIDE_PROGRAM, a->all, t.others);
        print_shape(&shapes, SK_SIDE_PROGRAM);
        putchar('\n');
        print_side(&t, SK_SIDE_NODE, a->all, unseen);
        print_shape(&shapes, SK_SIDE_NODE);
    } else {
        rc = cli_fail(cli, &err);
    }
    free(t.row);
    return rc;
}

/* ---- import ---- */

/* A system of LANL's log, for the time that its nodes were seen. */
struct lanl_system {
    int nodes;
    double first, last;
};

enum { MOST_SYSTEMS = 64 };

struct import {
    struct sk_database *db;
    struct lanl_system system[MOST_SYSTEMS];
    size_t n;
};

static void name_node(char out[SK_NAME_BYTES], int system, int node)
{
    snprintf(out, SK_NAME_BYTES, "lanl-%d-%d", system, node);
}

static int import_record(void *arg, const struct sk_lanl_record *r, struct saikai_error *err)
{
    struct import *m = arg;
    struct sk_fault_event e = {.time = r->begun, .side = SK_SIDE_NODE};
    if (r->system >= MOST_SYSTEMS)
        return sk_fail(err, SAIKAI_ECONFIG, "there is no system %d", r->system);
    struct lanl_system *s = &m->system[r->system];
    s->nodes = r->nodes > s->nodes ? r->nodes : s->nodes;
    s->nodes = r->node >= s->nodes ? r->node + 1 : s->nodes;
    s->first = s->first > 0 ? fmin(s->first, r->begun) : r->begun;
    s->last = fmax(s->last, r->begun);
    name_node(e.host, r->system, r->node);
    snprintf(e.source, sizeof e.source, "%s", r->cause);
    m->n++;
    return sk_database_add_event(m->db, &e, err);
}

/* Each node was there from its system's first record to its last one; some weeks in one row. */
static int import_times(struct import *m, struct saikai_error *err)
{
    const double step = 8 * 604800.0;
    int rc = 0;
    for (int i = 0; i < MOST_SYSTEMS && !rc; i++) {
        const struct lanl_system *s = &m->system[i];
        for (int k = 0; k < s->nodes && k < 100000 && !rc; k++) {
            char name[SK_NAME_BYTES];
            name_node(name, i, k);
            for (double at = s->first; at < s->last && !rc; at += step)
                rc = sk_database_add_time(m->db, SK_SIDE_NODE, name, at, fmin(step, s->last - at), 1, err);
        }
    }
    return rc;
}

static int import_lanl(struct import *m, char *text, size_t n, const char *path, size_t *skipped, struct saikai_error *err)
{
    int rc = sk_lanl_parse(text, n, path, import_record, m, skipped, err);
    return rc ? rc : import_times(m, err);
}

static int import_rate(void *arg, const char *host, double rate, struct saikai_error *err)
{
    struct import *m = arg;
    m->n++;
    return sk_database_add_rate(m->db, host, rate, err);
}

static int import_rates(struct import *m, const char *path, struct saikai_error *err)
{
    struct sk_rates *r = NULL;
    int rc = sk_rates_open(path, 0, &r, err);
    if (!rc)
        rc = sk_rates_each(r, import_rate, m, err);
    sk_rates_free(r);
    return rc;
}

static int import(struct cli *cli, const struct asked *a, const char *file)
{
    struct saikai_error err = {0};
    struct rates_place p = {0};
    struct import m = {0};
    void *data = NULL;
    size_t n = 0, skipped = 0;
    int is_log = 0, rc = find_place(cli, &p, &err);
    if (!rc)
        rc = sk_io_slurp(file, MOST_BYTES, &data, &n, &err);
    char *text = rc ? NULL : realloc(data, n + 1);
    if (!rc && !text)
        rc = sk_fail(&err, SAIKAI_ENOMEM, "no memory for %s", file);
    data = text ? text : data;
    if (!rc && n > 5 && !memcmp(text, "\xfd" "7zXZ", 5))
        rc = sk_fail(&err, SAIKAI_ECONFIG, "%s is packed: unpack it first (xz -d)", file);
    if (!rc)
        rc = sk_database_open(p.path, p.own, 1, &p.db, &err);
    if (!rc)
        rc = sk_database_begin(p.db, &err);
    m.db = p.db;
    if (!rc) {
        text[n] = 0;
        is_log = sk_lanl_recognises(text, n);
        rc = is_log ? import_lanl(&m, text, n, file, &skipped, &err) : import_rates(&m, file, &err);
    }
    if (!rc)
        rc = sk_database_commit(p.db, &err);
    sk_database_close(p.db);
    free(data);
    if (rc)
        return cli_fail(cli, &err);
    if (a->json) {
        struct sk_json j = {0};
        sk_json_object(&j, NULL);
        sk_json_text(&j, "database", p.path);
        sk_json_text(&j, "kind", is_log ? "events" : "rates");
        sk_json_uint(&j, "taken", m.n);
        sk_json_uint(&j, "skipped", skipped);
        sk_json_end(&j);
        return cli_print_json(cli, &j, CLI_OK);
    }
    printf("%zu %s from %s are in %s", m.n, is_log ? "failures" : "rates", sk_shown(file), sk_shown(p.path));
    if (skipped)
        printf("; %s without system, node or time", sk_counted(skipped, "line(s)"));
    putchar('\n');
    return CLI_OK;
}

/* ---- add ---- */

/* HOST RATE: a rate that somebody states; HOST alone: it failed just now. */
/* To the server or to the file: the rate of a host, or (host NULL) a failure. */
static int add_it(struct cli *cli, struct rates_place *p, const char *host, double rate, const struct sk_fault_event *e, struct saikai_error *err)
{
    struct sk_rates_exchange *x = sk_exchange_new(host != NULL);
    if (!x)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for what is to be added");
    if (host) {
        snprintf(x->host[0].name, sizeof x->host[0].name, "%s", host);
        x->host[0].stated = rate;
    } else {
        x->event[x->n_events++] = *e;
    }
    const struct sk_rates_message question = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = x};
    struct sk_rates_message answer;
    int rc = 0;
    if (ask_server(cli, &question, p, &answer)) {
        sk_rates_message_free(&answer);
    } else {
        rc = find_place(cli, p, err);
        if (!rc)
            rc = sk_database_open(p->path, p->own, 1, &p->db, err);
        if (!rc)
            rc = sk_exchange_add(p->db, x, err);
        sk_database_close(p->db);
    }
    free(x);
    return rc;
}

static int add(struct cli *cli, const struct asked *a, const char *host, const char *rate_text)
{
    struct saikai_error err = {0};
    struct rates_place p = {0};
    double rate = 0;
    if (!*host || strlen(host) >= SK_NAME_BYTES)
        return cli_usage(cli, "'%.80s' is no host name", host);
    if (rate_text && sk_rate_parse(rate_text, &rate))
        return cli_usage(cli, "'%s' is no failure rate: write for example mtbf=5y, 3/y or 2500 FIT", rate_text);
    struct sk_fault_event e = {.time = floor((double)time(NULL)), .side = a->job ? SK_SIDE_PROGRAM : SK_SIDE_NODE};
    snprintf(e.host, sizeof e.host, "%s", host);
    snprintf(e.source, sizeof e.source, "%s", a->source ? a->source : "told");
    snprintf(e.job, sizeof e.job, "%s", a->job ? a->job : "");
    int rc = add_it(cli, &p, rate_text ? host : NULL, rate, &e, &err);
    if (rc)
        return cli_fail(cli, &err);
    if (!a->json) {
        printf(rate_text ? "the rate of %s is in %s\n" : "a failure of %s is in %s\n", sk_shown(host), sk_shown(p.path));
        return CLI_OK;
    }
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_text(&j, "database", p.path);
    sk_json_text(&j, "name", host);
    if (rate_text)
        sk_json_real(&j, "rate_per_second", rate);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

int cli_rates(struct cli *cli, int argc, char **argv)
{
    struct asked a = {0};
    const struct cli_option options[] = {
        {'a', "all", CLI_FLAG, &a.all, NULL, NULL, "show also hosts and programs without faults, however many there are"},
        {0, "source", CLI_TEXT, &a.source, "TEXT", NULL, "with add: who noticed the failure, or what it was"},
        {0, "job", CLI_TEXT, &a.job, "NAME", NULL, "with add: it is a failure of this program, on that host"},
        {0, "json", CLI_FLAG, &a.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[show | import FILE | add HOST [RATE]]",
        .about = "Shows what is known of failures, and adds to it. The failure database (key failure.database) has the failures that "
                 "saikai run saw, of hosts and of programs, and for how long it saw them; from it the checkpoint interval is made. 'import' "
                 "takes a text file or an SQLite database as of failure.rates, or Los Alamos National Laboratory's public failure log "
                 "(CSV). 'add' states a rate of a host (mtbf=5y, 3/y, 2500 FIT), or without one that it failed just now.",
        .min_operands = 0,
        .max_operands = 3,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    const char *what = argc ? argv[0] : "show";
    if (!strcmp(what, "show") && argc <= 1)
        return show(cli, &a);
    if (!strcmp(what, "import") && argc == 2)
        return import(cli, &a, argv[1]);
    if (!strcmp(what, "add") && argc >= 2)
        return add(cli, &a, argv[1], argc == 3 ? argv[2] : NULL);
    return cli_usage(cli, "write 'show', 'import FILE' or 'add HOST [RATE]'");
}

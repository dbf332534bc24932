/* saikai plan: how often to checkpoint, and what that costs. */
#include "cli/plan/plan.h"

#include "base/config/hostlist.h"
#include "base/config/units.h"
#include "cli/kinds.h"
#include "cli/progress.h"
#include "schedule/failure/failures.h"
#include "schedule/failure/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NODES = 4000000, MOST_FAILURES = 400000000 };

struct asked {
    int64_t nodes, runs, seed;
    const char *mtbf, *rates, *hosts, *bandwidth, *model, *svg, *failures;
    double cost, latency, restart, iteration, work;
    uint64_t size;
    int json, simulate;
    struct plan_level_costs protect, archive;
};

/* A list of hosts or a file of them. One plain name is a file's: a mistyped one must not count as a host. */
static int read_hosts(const char *given, struct sk_hostlist *out, struct saikai_error *err)
{
    if (!access(given, R_OK))
        return sk_hostlist_read(out, given, MOST_NODES, err);
    if (!strpbrk(given, "[, "))
        return sk_fail(err, SAIKAI_ECONFIG,
                       "--hosts: there is no file %s; a list of hosts is written node[1-64],login2, and one host is --nodes 1",
                       given);
    return sk_hostlist_expand(out, given, MOST_NODES, err);
}

/* The nodes from --hosts and the rates, or --nodes of one rate. */
static int find_fleet(struct plan *p, const struct asked *a, const struct cli *cli,
                      struct saikai_error *err)
{
    double mean = 0, sum;
    struct sk_rates *rates = NULL;
    struct sk_hostlist hosts = {0};
    const char *path = a->rates ? a->rates : sk_config_text(cli->config, "failure.rates");
    if (a->mtbf)
        sk_parse_time(a->mtbf, &mean);
    else
        mean = sk_config_time(cli->config, "failure.mtbf");
    int rc = sk_rates_open(path, mean > 0 ? 1 / mean : 0, &rates, err);
    if (!rc && a->hosts)
        rc = read_hosts(a->hosts, &hosts, err);
    if (rc)
        goto out;
    p->fleet =
        (struct sk_fleet){.nodes = (uint64_t)a->nodes, .rate = sk_rates_of(rates, "*", NULL)};
    if (!a->hosts)
        goto out;
    p->fleet.nodes = hosts.n;
    p->rates = malloc((hosts.n + 1) * sizeof *p->rates);
    rc = p->rates
             ? sk_rates_sum(rates, (const char *const *)hosts.name, hosts.n, &sum, &p->unknown, err)
             : sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu hosts", hosts.n);
    for (size_t i = 0; i < hosts.n && !rc; i++)
        p->rates[i] = sk_rates_of(rates, hosts.name[i], NULL);
    p->fleet.rates = p->rates;
out:
    sk_hostlist_free(&hosts);
    sk_rates_free(rates);
    return rc;
}

/* "10GB" or "10GB/s"; 0 when it is neither. */
static double parse_bandwidth(const char *s)
{
    char number[64];
    uint64_t v;
    size_t n = strlen(s);
    if (n >= sizeof number)
        return 0;
    strcpy(number, s);
    if (n > 2 && !strcmp(s + n - 2, "/s"))
        number[n - 2] = 0;
    return sk_parse_size(number, &v) ? 0 : (double)v;
}

static int find_costs(struct plan *p, const struct asked *a, const struct cli *cli)
{
    double cost = a->cost;
    if (cost < 0) {
        if (!a->size || !a->bandwidth)
            return cli_usage(
                cli,
                "the cost of a checkpoint is missing: give --cost TIME, or --size and --bandwidth");
        double speed = parse_bandwidth(a->bandwidth);
        if (!(speed > 0))
            return cli_usage(cli, "--bandwidth: '%s' is no speed: write for example 10GB/s",
                             a->bandwidth);
        cost = (double)a->size / speed;
    } else if (a->size || a->bandwidth) {
        return cli_usage(cli, "give either --cost or --size and --bandwidth");
    }
    p->costs =
        (struct sk_costs){sk_fleet_rate(&p->fleet), cost, a->latency >= 0 ? a->latency : cost,
                          a->restart >= 0 ? a->restart : cost};
    if (!(cost > 0))
        return cli_usage(
            cli, "a checkpoint that costs nothing needs no plan: take one at every candidate");
    if (p->costs.latency < cost)
        return cli_usage(
            cli, "--latency: a checkpoint cannot count before it is made: give at least the cost");
    return -1;
}

static void choose_interval(struct plan *p)
{
    struct sk_advice_policy policy = {
        .model = p->model, .rate = p->costs.rate, .max_interval = p->max_interval};
    p->best = sk_model_optimum(p->model, p->costs.rate, p->costs.cost);
    p->interval = p->max_interval > 0 ? fmin(p->best, p->max_interval) : p->best;
    if (p->iteration > 0) {
        p->every = sk_advice_every(&policy, p->costs.cost, p->iteration);
        p->interval = p->every ? (double)p->every * p->iteration : p->best;
    }
}

static int check_asked(const struct asked *a, const struct cli *cli)
{
    double mean;
    if (a->hosts && a->nodes >= 0)
        return cli_usage(cli, "give either --nodes or --hosts");
    if (!a->hosts && a->nodes < 0)
        return cli_usage(cli, "how many nodes? Give --nodes N or --hosts LIST");
    if (!a->hosts && (a->nodes == 0 || a->nodes > MOST_NODES))
        return cli_usage(cli, "--nodes: '%lld' is not between 1 and %d", (long long)a->nodes,
                         MOST_NODES);
    if (a->mtbf && (sk_parse_time(a->mtbf, &mean) || !(mean > 0)))
        return cli_usage(cli, "--mtbf: '%s' is no time above 0: write for example 5y", a->mtbf);
    if (a->simulate && (a->runs < 2 || a->runs > 1000000))
        return cli_usage(cli, "--runs: '%lld' is not between 2 and 1000000", (long long)a->runs);
    return -1;
}

static int progress(void *arg, int done)
{
    cli_progress_update(arg, (uint64_t)done);
    return 0;
}

static int simulate_at(struct plan *p, double interval, double work, uint64_t seed,
                       struct sk_simulation_result *out, struct saikai_error *err)
{
    struct cli_progress bar;
    struct sk_simulation s = {
        .costs = p->costs,
        .fleet = p->fleet,
        .failures = p->failures,
        .interval = interval,
        .work = work,
        .seed = seed,
        .runs = (int)p->runs,
        .max_failures = MOST_FAILURES,
        .progress = progress,
        .arg = &bar,
    };
    if (work / interval * sk_model_failures(&p->costs, interval) * (double)p->runs >
        MOST_FAILURES / 2)
        return sk_fail(
            err, SAIKAI_EINVAL,
            "to simulate this means more than %d failures: give less --work or fewer --runs",
            MOST_FAILURES / 2);
    cli_progress_begin(&bar, "simulating", (uint64_t)p->runs);
    int rc = sk_simulate(&s, out, err);
    cli_progress_end(&bar);
    return rc;
}

int cli_plan_simulate(struct plan *p, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < PLAN_POINTS && !rc; i++) {
        p->at[i] = p->best * pow(2, (i - PLAN_POINTS / 2) / 2.0);
        if (p->costs.latency - p->costs.cost > p->at[i] ||
            sk_model_failures(&p->costs, p->at[i]) > 1e4)
            continue; /* no such job: it would never end */
        /* some 500 failures in a run, so that its end does not show */
        double intervals = fmax(10, ceil(500 / sk_model_failures(&p->costs, p->at[i])));
        rc = simulate_at(p, p->at[i], intervals * p->at[i], p->seed + (uint64_t)i, &p->sim[i], err);
    }
    if (!rc && p->work > 0)
        rc = simulate_at(p, p->interval, p->work, p->seed + 100, &p->job, err);
    if (!rc && p->levels.n)
        rc = cli_plan_levels_simulate(p, err);
    p->simulated = !rc;
    return rc;
}

static int report(struct cli *cli, struct plan *p, const struct asked *a)
{
    struct saikai_error err = {0};
    if (a->simulate && !isfinite(p->best))
        return cli_usage(cli, "--simulate: no node ever fails, so there is nothing to simulate");
    if (a->svg && !isfinite(p->best))
        return cli_usage(cli, "--svg: no node ever fails, so the curve has no minimum to draw");
    if (a->simulate && cli_plan_simulate(p, &err))
        return cli_fail(cli, &err);
    if (a->svg && cli_plan_draw(p, a->svg, &err))
        return cli_fail(cli, &err);
    if (!a->json) {
        cli_plan_print(p);
        return CLI_OK;
    }
    struct sk_json j = {0};
    cli_plan_json(p, &j);
    return cli_print_json(cli, &j, CLI_OK);
}

static int make_plan(struct cli *cli, const struct asked *a)
{
    struct saikai_error err = {0};
    struct plan p = {
        .iteration = a->iteration, .work = a->work, .runs = a->runs, .seed = (uint64_t)a->seed};
    int rc = check_asked(a, cli);
    if (rc >= 0)
        return rc;
    p.max_interval = sk_config_time(cli->config, "schedule.max_interval");
    p.model = sk_model_find(a->model ? a->model : sk_config_text(cli->config, "schedule.model"));
    p.failures = sk_failures_find(a->failures);
    if (find_fleet(&p, a, cli, &err)) {
        rc = err.code == SAIKAI_EINVAL ? cli_usage(cli, "%s", err.text) : cli_fail(cli, &err);
        goto out;
    }
    rc = find_costs(&p, a, cli);
    if (rc >= 0)
        goto out;
    choose_interval(&p);
    if (cli_plan_levels_find(&p, &a->protect, &a->archive, cli)) {
        rc = CLI_USAGE;
        goto out;
    }
    rc = report(cli, &p, a);
out:
    free(p.rates);
    return rc;
}

int cli_plan(struct cli *cli, int argc, char **argv)
{
    struct asked a = {.nodes = -1,
                      .runs = 400,
                      .seed = 1,
                      .cost = -1,
                      .latency = -1,
                      .restart = -1,
                      .failures = sk_failures_superposed.name,
                      .protect = {-1, -1, -1},
                      .archive = {-1, -1, -1}};
    const struct cli_option options[] = {
        {'n', "nodes", CLI_INT, &a.nodes, "N", NULL,
         "number of nodes, all with the same failure rate"},
        {0, "mtbf", CLI_TEXT, &a.mtbf, "TIME", NULL,
         "mean time between failures of one node; default: failure.mtbf"},
        {0, "hosts", CLI_TEXT, &a.hosts, "LIST|FILE", NULL,
         "the hosts in use, as node[01-64] or a file with one per line"},
        {0, "rates", CLI_TEXT, &a.rates, "FILE", NULL,
         "failure rates of hosts: text or SQLite; default: failure.rates; hosts it does not name "
         "have --mtbf"},
        {'c', "cost", CLI_TIME, &a.cost, "TIME", NULL,
         "time the program is held up by one checkpoint"},
        {0, "size", CLI_SIZE, &a.size, "SIZE", NULL,
         "with --bandwidth instead of --cost: size of a checkpoint"},
        {0, "bandwidth", CLI_TEXT, &a.bandwidth, "SIZE/s", NULL,
         "speed of writing it; both of one node, or both of the whole job"},
        {0, "latency", CLI_TIME, &a.latency, "TIME", NULL,
         "time from the start of a checkpoint until it counts; default: the cost"},
        {0, "restart", CLI_TIME, &a.restart, "TIME", NULL,
         "time from a failure until computing goes on; default: the cost"},
        {0, "protect-cost", CLI_TIME, &a.protect.cost, "TIME", NULL,
         "plan several levels: time the program is held up, beside --cost, by protecting a "
         "checkpoint against the loss of nodes"},
        {0, "protect-latency", CLI_TIME, &a.protect.latency, "TIME", NULL,
         "time from the start of a checkpoint until it is protected; default: the costs"},
        {0, "protect-restart", CLI_TIME, &a.protect.restart, "TIME", NULL,
         "restart after the loss of nodes; default: the latency"},
        {0, "archive-cost", CLI_TIME, &a.archive.cost, "TIME", NULL,
         "plan several levels: time the program is held up by copying a checkpoint to the shared "
         "file system"},
        {0, "archive-latency", CLI_TIME, &a.archive.latency, "TIME", NULL,
         "time from the start of a checkpoint until its copy is complete; default: the costs"},
        {0, "archive-restart", CLI_TIME, &a.archive.restart, "TIME", NULL,
         "restart from the shared file system; default: the latency"},
        {'i', "iteration", CLI_TIME, &a.iteration, "TIME", NULL,
         "time between two places where a checkpoint may be taken"},
        {'w', "work", CLI_TIME, &a.work, "TIME", NULL,
         "time the whole job needs without failures and checkpoints"},
        {'m', "model", CLI_CHOICE, &a.model, NULL, cli_forms(&sk_model_kind, NULL),
         "model of the interval; default: schedule.model"},
        {'s', "simulate", CLI_FLAG, &a.simulate, NULL, NULL,
         "check the formula by simulating the job and its failures"},
        {0, "runs", CLI_INT, &a.runs, "N", NULL, "simulated runs of each interval (400)"},
        {0, "seed", CLI_INT, &a.seed, "N", NULL, "seed of the random numbers (1)"},
        {0, "failures", CLI_CHOICE, &a.failures, NULL, cli_forms(&sk_failures_kind, NULL),
         "how failures are drawn: from all nodes together, which is fast, or from each node's own "
         "clock"},
        {0, "svg", CLI_TEXT, &a.svg, "FILE", NULL, "draw the overhead against the interval"},
        {0, "json", CLI_FLAG, &a.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "",
        .about = "Computes how often a job should checkpoint on these nodes, and what checkpoints "
                 "and failures cost it: "
                 "the interval with the least overhead by the chosen model, the time lost by a "
                 "failure, and the same by "
                 "the other models.\n\nExample: saikai plan --nodes 4096 --mtbf 5y --cost 90s "
                 "--iteration 2s --work 10d "
                 "--simulate",
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    return rc >= 0 ? rc : make_plan(cli, &a);
}

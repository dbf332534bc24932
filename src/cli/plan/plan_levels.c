/* saikai plan: which checkpoints go to which level. */
#include "base/config/units.h"
#include "cli/plan/plan.h"
#include "redundancy/domains.h"

#include <math.h>
#include <stdio.h>

/* The redundancy groups that a job on that many nodes has by its configuration. */
static void find_groups(struct plan_levels *l, uint64_t nodes, const struct sk_config *c)
{
    int64_t parity = sk_config_int(c, "redundancy.parity"),
            group = sk_config_int(c, "redundancy.group");
    int most = nodes > 1000000 ? 1000000 : (int)nodes;
    parity = parity ? parity : most >= 4 ? 2 : 1;
    l->tolerated = parity > 4 ? 4 : (int)parity;
    l->members = sk_grouping_members(group > 1000000 ? 1000000 : (int)group, l->tolerated, most);
    if (l->members <= l->tolerated)
        l->tolerated = 0;
}

static void add(struct plan_levels *l, const char *name, double rate,
                const struct plan_level_costs *c)
{
    double held = c->cost;
    for (int k = 0; k < l->n; k++)
        held += l->level[k].cost_seconds;
    double latency = c->latency >= 0 ? c->latency : held;
    l->name[l->n] = name;
    l->level[l->n++] =
        (struct sk_level){rate, c->cost, latency, c->restart >= 0 ? c->restart : latency};
}

int cli_plan_levels_find(struct plan *p, const struct plan_level_costs *protect,
                     const struct plan_level_costs *archive, const struct cli *cli)
{
    struct plan_levels *l = &p->levels;
    int protects = protect->cost >= 0, archives = archive->cost >= 0;
    if ((!protects && (protect->latency >= 0 || protect->restart >= 0)) ||
        (!archives && (archive->latency >= 0 || archive->restart >= 0)))
        return cli_usage(cli,
                         "a level is planned when its cost is given: add --%s-cost TIME (0s "
                         "when the program does not notice it)",
                         protects ? "archive" : "protect");
    if (!protects && !archives)
        return 0;
    double rate[PLAN_LEVELS];
    struct plan_level_costs local = {p->costs.cost, p->costs.latency, p->costs.restart};
    l->local_share = sk_config_real(cli->config, "failure.local_share");
    l->beyond_share = sk_config_real(cli->config, "failure.beyond_share");
    if (l->local_share + l->beyond_share > 1)
        return cli_usage(cli,
                         "failure.local_share and failure.beyond_share are more than 1 together");
    if (protects)
        find_groups(l, p->fleet.nodes, cli->config);
    double window = fmax(protect->latency, protect->cost) + fmax(protect->restart, 0);
    sk_levels_rates(p->costs.rate, l->local_share, l->beyond_share, p->fleet.nodes, l->members,
                    l->tolerated, window, rate);
    if (!archives) /* what nothing survives is not planned for */
        rate[2] = 0;
    add(l, "local", rate[0], &local);
    if (protects)
        add(l, "protected", rate[1], protect);
    if (archives)
        add(l, "archived", rate[2], archive);
    struct saikai_error err = {0};
    if (sk_levels_plan(l->level, l->n, &l->best, &err))
        return cli_usage(cli, "%s", err.text);
    double best = l->best.interval_seconds, interval = best;
    if (p->max_interval > 0)
        interval = fmin(interval, p->max_interval);
    if (p->iteration > 0 && isfinite(interval))
        interval = fmax(1, round(interval / p->iteration)) * p->iteration;
    if (interval != best && sk_levels_plan_every(l->level, l->n, interval, &l->best, &err))
        return cli_usage(cli, "%s", err.text);
    return 0;
}

/* Levels that are used; those above them have no failures. */
static int used(const struct plan_levels *l)
{
    int n = 0;
    while (n < l->n && l->best.every[n])
        n++;
    return n;
}

int cli_plan_levels_simulate(struct plan *p, struct saikai_error *err)
{
    struct plan_levels *l = &p->levels;
    int n = used(l);
    double rarest = INFINITY, rate = 0;
    for (int k = 0; k < n; k++) {
        rate += l->level[k].rate;
        if (l->level[k].rate > 0)
            rarest = fmin(rarest, l->level[k].rate);
    }
    if (!n || !(rate > 0))
        return 0;
    /* some four hundred failures of the rarest kind, unless there are too many of the others */
    double failures = fmin(400 * rate / rarest, 4e6), runs = 40;
    double pattern = l->best.interval_seconds * (double)l->best.every[n - 1];
    struct sk_levels_simulation s = {.levels = l->level,
                                     .n = n,
                                     .interval = l->best.interval_seconds,
                                     .every = l->best.every,
                                     .work =
                                         fmax(3, ceil(failures / rate / runs / pattern)) * pattern,
                                     .seed = p->seed,
                                     .runs = (int)runs,
                                     .max_failures = 100000000};
    int rc = sk_levels_simulate(&s, &l->sim, err);
    l->simulated = !rc;
    return rc;
}

static void print_level(const struct plan_levels *l, int k)
{
    char a[32], b[32], c[32], d[32];
    const struct sk_level *x = &l->level[k];
    printf("%-10s %-15s %-10s %-12s ", l->name[k],
           x->rate > 0 ? cli_plan_time(a, 1 / x->rate) : "never", cli_plan_time(b, x->cost_seconds),
           cli_plan_time(c, x->latency_seconds));
    if (!l->best.every[k])
        puts("none is needed");
    else if (!k)
        printf("every %s\n", cli_plan_time(d, l->best.interval_seconds));
    else
        printf("1 in %lld, every %s\n", (long long)l->best.every[k],
               cli_plan_time(d, l->best.interval_seconds * (double)l->best.every[k]));
}

void cli_plan_levels_print(const struct plan *p)
{
    const struct plan_levels *l = &p->levels;
    char a[32], b[32];
    puts("\nLevel      needed once in  costs      safe after   checkpoints");
    for (int k = 0; k < l->n; k++)
        print_level(l, k);
    printf("                        overhead %s, %.4g %% of the time is computing\n",
           cli_plan_ratio(a, l->best.overhead), 100 * l->best.efficiency);
    printf("                        %g of the failures leave all nodes as they are, %g take too "
           "many at once\n",
           l->local_share, l->beyond_share);
    if (l->tolerated)
        printf("                        groups of %d nodes, each survives the loss of %d\n",
               l->members, l->tolerated);
    if (l->simulated)
        printf("                        simulated: overhead %s ± %.2g\n",
               cli_plan_ratio(b, l->sim.overhead),
               2 * l->sim.overhead_error * (l->sim.overhead < 10 ? 100 : 1));
}

void cli_plan_levels_json(const struct plan *p, struct sk_json *j)
{
    const struct plan_levels *l = &p->levels;
    sk_json_object(j, "levels");
    sk_json_real(j, "interval_seconds", l->best.interval_seconds);
    sk_json_real(j, "overhead", l->best.overhead);
    sk_json_real(j, "efficiency", l->best.efficiency);
    sk_json_real(j, "local_share", l->local_share);
    sk_json_real(j, "beyond_share", l->beyond_share);
    if (l->tolerated) {
        sk_json_int(j, "group", l->members);
        sk_json_int(j, "tolerated", l->tolerated);
    }
    sk_json_array(j, "each");
    for (int k = 0; k < l->n; k++) {
        sk_json_object(j, NULL);
        sk_json_text(j, "name", l->name[k]);
        sk_json_real(j, "rate_per_second", l->level[k].rate);
        sk_json_real(j, "cost_seconds", l->level[k].cost_seconds);
        sk_json_real(j, "latency_seconds", l->level[k].latency_seconds);
        sk_json_real(j, "restart_seconds", l->level[k].restart_seconds);
        sk_json_int(j, "every", l->best.every[k]);
        sk_json_end(j);
    }
    sk_json_end(j);
    if (l->simulated) {
        sk_json_real(j, "simulated_overhead", l->sim.overhead);
        sk_json_real(j, "simulated_overhead_error", l->sim.overhead_error);
    }
    sk_json_end(j);
}

/* What saikai plan prints and draws. */
#include "cli/plan/plan.h"

#include "base/text/svg.h"
#include "base/config/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *show_count(char out[40], uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), k = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[k++] = ' ';
        out[k++] = digits[i];
    }
    out[k] = 0;
    return out;
}

static void print_asked(const struct plan *p)
{
    char a[32], b[32], n[40];
    const struct sk_costs *c = &p->costs;
    printf("Nodes                   %s", show_count(n, p->fleet.nodes));
    if (!p->fleet.rates && p->fleet.rate > 0)
        printf(", each failing once in %s", cli_plan_time(a, 1 / p->fleet.rate));
    if (c->rate > 0)
        printf("\nThe job fails           once in %s (%.3g failures per second)\n",
               cli_plan_time(b, 1 / c->rate), c->rate);
    else
        puts("\nThe job fails           never: no rate is above 0");
    if (p->unknown)
        printf("                        %zu of the hosts are not in the rates: they count as "
               "--mtbf says\n",
               p->unknown);
    printf("A checkpoint            costs %s", cli_plan_time(a, c->cost));
    if (c->latency > c->cost)
        printf(", counts after %s", cli_plan_time(b, c->latency));
    printf(", a restart %s\n", cli_plan_time(a, c->restart));
}

static void print_interval(const struct plan *p)
{
    char a[32], b[32];
    printf("\nBest interval           %s (%s)\n", cli_plan_time(a, p->best), p->model->name);
    if (p->max_interval > 0 && p->best > p->max_interval)
        printf("                        shortened to %s by schedule.max_interval\n",
               cli_plan_time(b, p->max_interval));
    if (p->every)
        printf("                        every %lld iterations of %s, that is %s\n",
               (long long)p->every, cli_plan_time(a, p->iteration), cli_plan_time(b, p->interval));
}

static void print_costs(const struct plan *p)
{
    char a[32], b[32], c[32];
    const struct sk_costs *k = &p->costs;
    if (!isfinite(p->interval)) {
        puts("A checkpoint never pays.");
        return;
    }
    printf("Overhead                %s: checkpoints %s, failures %s\n",
           cli_plan_ratio(a, sk_model_overhead(k, p->interval)), cli_plan_ratio(b, k->cost / p->interval),
           cli_plan_ratio(c, sk_model_failure_overhead(k, p->interval)));
    printf("A failure loses         %s on average\n", cli_plan_time(a, sk_model_loss(k, p->interval)));
    if (p->work <= 0)
        return;
    double wall = sk_simulate_expected(k, p->work, p->interval);
    printf("%-23s takes %s with %.3g failures, which cost %s\n", "The work", cli_plan_time(a, wall),
           k->rate * wall, cli_plan_time(b, k->rate * wall * sk_model_loss(k, p->interval)));
    printf("                        of %s; without checkpoints it would take %s\n",
           cli_plan_time(a, p->work), cli_plan_time(b, cli_plan_without_checkpoints(p)));
}

static void print_models(const struct plan *p)
{
    char a[32], b[32];
    puts("\nModel     interval      overhead");
    const struct sk_model_ops *m;
    for (int i = 0; (m = sk_model_at(i)); i++) {
        double t = sk_model_optimum(m, p->costs.rate, p->costs.cost);
        printf("%-9s %-13s %s\n", m->name, cli_plan_time(a, t),
               cli_plan_ratio(b, sk_model_overhead(&p->costs, t)));
    }
}

/* Simulated and computed overhead agree within what chance allows: 3.3 standard errors are exceeded
 * once in a thousand. */
static int agrees(const struct plan *p, int i)
{
    return fabs(p->sim[i].overhead - sk_model_overhead(&p->costs, p->at[i])) <=
           3.3 * p->sim[i].overhead_error;
}

static int lowest(const struct plan *p)
{
    int best = -1;
    for (int i = 0; i < PLAN_POINTS; i++)
        if (p->sim[i].failures && (best < 0 || p->sim[i].overhead < p->sim[best].overhead))
            best = i;
    return best;
}

static void print_simulation(const struct plan *p)
{
    char a[32], b[32], c[32], n[40];
    uint64_t failures = 0;
    int points = 0, good = 0, low = lowest(p);
    for (int i = 0; i < PLAN_POINTS; i++)
        failures += p->sim[i].failures;
    printf("\nSimulation              %s failures of %s nodes, drawn %s\n", show_count(n, failures),
           show_count((char[40]){0}, p->fleet.nodes), p->failures->name);
    puts("interval      formula      simulated (95 % confidence)     a failure loses");
    for (int i = 0; i < PLAN_POINTS; i++) {
        const struct sk_simulation_result *s = &p->sim[i];
        if (!s->failures)
            continue;
        points++;
        good += agrees(p, i);
        char range[64];
        snprintf(range, sizeof range, "%s ± %.2g", cli_plan_ratio(b, s->overhead),
                 (s->overhead_high - s->overhead) * (s->overhead < 10 ? 100 : 1));
        printf("%-13s %-12s %-32s %s%s%s\n", cli_plan_time(a, p->at[i]),
               cli_plan_ratio(c, sk_model_overhead(&p->costs, p->at[i])), range,
               cli_plan_time((char[32]){0}, s->loss), agrees(p, i) ? "" : "   DIFFERS",
               i == low ? "   lowest" : "");
    }
    if (!points)
        puts("NOT confirmed: failures are so frequent that no simulated job would ever end");
    else
        printf("%s: %d of %d intervals agree with the formula\n",
               good == points ? "Confirmed" : "NOT confirmed", good, points);
    if (p->work > 0)
        printf("The work takes %s (mean), 9 of 10 runs between %s and %s\n",
               cli_plan_time(a, p->job.wall), cli_plan_time(b, p->job.wall_05),
               cli_plan_time(c, p->job.wall_95));
}

void cli_plan_print(const struct plan *p)
{
    print_asked(p);
    print_interval(p);
    print_costs(p);
    if (p->levels.n)
        cli_plan_levels_print(p);
    if (isfinite(p->best))
        print_models(p);
    if (p->simulated)
        print_simulation(p);
}

static void json_simulation(const struct plan *p, struct sk_json *j)
{
    sk_json_object(j, "simulation");
    sk_json_text(j, "failures_drawn", p->failures->name);
    sk_json_int(j, "runs", p->runs);
    sk_json_uint(j, "seed", p->seed);
    sk_json_array(j, "points");
    int good = lowest(p) >= 0;
    for (int i = 0; i < PLAN_POINTS; i++) {
        const struct sk_simulation_result *s = &p->sim[i];
        if (!s->failures)
            continue;
        good &= agrees(p, i);
        sk_json_object(j, NULL);
        sk_json_real(j, "interval_seconds", p->at[i]);
        sk_json_real(j, "formula", sk_model_overhead(&p->costs, p->at[i]));
        sk_json_real(j, "overhead", s->overhead);
        sk_json_real(j, "overhead_low", s->overhead_low);
        sk_json_real(j, "overhead_high", s->overhead_high);
        sk_json_real(j, "loss_seconds", s->loss);
        sk_json_uint(j, "failures", s->failures);
        sk_json_bool(j, "agrees", agrees(p, i));
        sk_json_end(j);
    }
    sk_json_end(j);
    sk_json_bool(j, "confirmed", good);
    if (p->work > 0) {
        sk_json_real(j, "wall_seconds", p->job.wall);
        sk_json_real(j, "wall_05_seconds", p->job.wall_05);
        sk_json_real(j, "wall_95_seconds", p->job.wall_95);
    }
    sk_json_end(j);
}

void cli_plan_json(const struct plan *p, struct sk_json *j)
{
    const struct sk_costs *c = &p->costs;
    sk_json_object(j, NULL);
    sk_json_uint(j, "nodes", p->fleet.nodes);
    sk_json_uint(j, "unknown_hosts", p->unknown);
    sk_json_real(j, "rate_per_second", c->rate);
    sk_json_real(j, "cost_seconds", c->cost);
    sk_json_real(j, "latency_seconds", c->latency);
    sk_json_real(j, "restart_seconds", c->restart);
    sk_json_text(j, "model", p->model->name);
    sk_json_real(j, "best_interval_seconds", p->best);
    sk_json_real(j, "interval_seconds", p->interval);
    if (p->iteration > 0)
        sk_json_int(j, "every_iterations", p->every);
    sk_json_real(j, "overhead", sk_model_overhead(c, p->interval));
    sk_json_real(j, "overhead_checkpoints", c->cost / p->interval);
    sk_json_real(j, "overhead_failures", sk_model_failure_overhead(c, p->interval));
    sk_json_real(j, "loss_per_failure_seconds", sk_model_loss(c, p->interval));
    if (p->work > 0 && isfinite(p->interval)) {
        sk_json_real(j, "work_seconds", p->work);
        sk_json_real(j, "expected_wall_seconds", sk_simulate_expected(c, p->work, p->interval));
        sk_json_real(j, "without_checkpoints_seconds", cli_plan_without_checkpoints(p));
    }
    sk_json_array(j, "models");
    const struct sk_model_ops *m;
    for (int i = 0; (m = sk_model_at(i)); i++) {
        double t = sk_model_optimum(m, c->rate, c->cost);
        sk_json_object(j, NULL);
        sk_json_text(j, "name", m->name);
        sk_json_text(j, "source", m->source);
        sk_json_real(j, "interval_seconds", t);
        sk_json_real(j, "overhead", isfinite(t) ? sk_model_overhead(c, t) : 0);
        sk_json_end(j);
    }
    sk_json_end(j);
    if (p->levels.n)
        cli_plan_levels_json(p, j);
    if (p->simulated)
        json_simulation(p, j);
    sk_json_end(j);
}

int cli_plan_draw(const struct plan *p, const char *path, struct saikai_error *err)
{
    enum { n = 240 };
    const struct sk_costs *c = &p->costs;
    double x[n], total[n], checkpoints[n], failures[n], y[PLAN_POINTS], low[PLAN_POINTS],
        high[PLAN_POINTS];
    double best = sk_model_overhead(c, p->best), top = 0;
    if (!isfinite(best))
        return sk_fail(
            err, SAIKAI_EINVAL,
            "--svg: the overhead has no end: failures are too frequent for any interval");
    for (int i = 0; i < n; i++) {
        x[i] = p->best * pow(2, -3.5 + 7.0 * i / (n - 1));
        total[i] = 100 * sk_model_overhead(c, x[i]);
        checkpoints[i] = 100 * c->cost / x[i];
        failures[i] = 100 * sk_model_failure_overhead(c, x[i]);
        if (total[i] < 100 * best * 8)
            top = fmax(top, total[i]);
    }
    for (int i = 0; i < PLAN_POINTS; i++) {
        y[i] = p->simulated && p->sim[i].failures ? 100 * p->sim[i].overhead : NAN;
        low[i] = 100 * p->sim[i].overhead_low;
        high[i] = 100 * p->sim[i].overhead_high;
    }
    const struct sk_series series[] = {
        {SK_SERIES_LINE, "overhead by formula", "#1f5fa8", n, x, total, NULL, NULL},
        {SK_SERIES_DASHED, "the part of checkpoints", "#d0803a", n, x, checkpoints, NULL, NULL},
        {SK_SERIES_DASHED, "the part of failures", "#3f8f5c", n, x, failures, NULL, NULL},
        {SK_SERIES_POINTS, "simulated, 95 % confidence", "#8a2f4f", PLAN_POINTS, p->at, y, low,
         high},
    };
    char mark[96], subtitle[160], a[32], b[32], d[32], count[40];
    snprintf(mark, sizeof mark, "%s: %s", cli_plan_time(a, p->best), cli_plan_ratio(b, best));
    snprintf(subtitle, sizeof subtitle,
             "%s nodes, the job fails once in %s, a checkpoint costs %s, a restart %s",
             show_count(count, p->fleet.nodes), cli_plan_time(a, 1 / c->rate), cli_plan_time(b, c->cost),
             cli_plan_time(d, c->restart));
    const struct sk_mark minimum = {p->best, 100 * best, mark, "#1f5fa8"};
    const struct sk_chart chart = {
        .width = 860,
        .height = 540,
        .title = "Overhead of checkpoints and failures",
        .subtitle = subtitle,
        .x = {SK_AXIS_LOG_TIME, x[0], x[n - 1], "computing time between two checkpoints", NULL},
        .y = {SK_AXIS_LOG, 100 * best / 6, top * 1.1, "overhead r(T)", " %"},
        .series = series,
        .n_series = p->simulated ? 4 : 3,
        .marks = &minimum,
        .n_marks = 1,
        .legend = 0.5,
    };
    return sk_chart_write(&chart, path, err);
}

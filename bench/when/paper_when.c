/* How well intervals do on failures that happened: five systems of LANL's public log (LA-UR-05-7318; with thanks to Los Alamos National
 * Laboratory), checkpoints that cost 1, 10 and 30 minutes.
 *
 * A job uses a whole system from its first failure in the log to its last one. Failures that begin within ten minutes of each
 * other are one. At each failure the job goes back to its newest checkpoint; a restart takes as long as a checkpoint. The waste is
 * the part of the time that is not computing. What is played:
 *   best      the best fixed interval, found by trying 121 of them between a fifth and five times Vaidya's with the true rate
 *   true      each model with the true rate of the whole log
 *   wrong     each model with a rate that is five times too high or too low, and stays so
 *   learnt    each model with the rate that is learnt on the way (learn/belief.h) from a prior as wrong as that
 * Nothing in what learns was chosen by looking at this log: the weight of the prior is one fault, and the memory follows from how the waste
 * depends on an error of the rate (belief.h). What other memories would have given is printed with --memories.
 * usage: paper_when [--memories] [json=FILE] LOG.csv[.xz] */
#include "base/text/json.h"
#include "schedule/learn/belief.h"
#include "schedule/learn/lanl.h"
#include "schedule/model.h"
#include "schedule/failure/weibull.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SYSTEMS = 5, N_COSTS = 3, TRIED = 121 };
static const int systems[N_SYSTEMS] = {2, 16, 18, 19, 20};
static const double costs[N_COSTS] = {60, 600, 1800}, together_s = 600, wrong = 5, prior_weight = 1;

struct faults {
    double *at;
    size_t n, cap;
};

enum { MOST_SYSTEMS = 64, ENOUGH = 100 };
static struct faults log_of[MOST_SYSTEMS]; /* by the system's number */

static int take(void *arg, const struct sk_lanl_record *r, struct saikai_error *err)
{
    (void)arg;
    if (r->system < 0 || r->system >= MOST_SYSTEMS)
        return 0;
    struct faults *f = &log_of[r->system];
    if (f->n == f->cap) {
        f->cap = f->cap ? 2 * f->cap : 1024;
        f->at = realloc(f->at, f->cap * sizeof *f->at);
        if (!f->at)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for failures");
    }
    f->at[f->n++] = r->begun;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void merge(struct faults *f)
{
    size_t n = 0;
    double last = -1e300;
    qsort(f->at, f->n, sizeof *f->at, by_time);
    for (size_t i = 0; i < f->n; i++) {
        if (f->at[i] - last > together_s)
            f->at[n++] = f->at[i];
        last = f->at[i];
    }
    f->n = n;
}

static char *read_log(const char *path, size_t *n)
{
    char command[4096 + 16];
    size_t len = strlen(path), cap = 1 << 20;
    int packed = len > 3 && !strcmp(path + len - 3, ".xz");
    snprintf(command, sizeof command, "xz -dc '%s'", path);
    FILE *f = packed ? popen(command, "r") : fopen(path, "r");
    char *text = f ? malloc(cap + 1) : NULL;
    *n = 0;
    for (size_t got = 1; text && got;) {
        if (*n == cap)
            text = realloc(text, (cap *= 2) + 1);
        got = text ? fread(text + *n, 1, cap - *n, f) : 0;
        *n += got;
    }
    if (f && packed)
        pclose(f);
    else if (f)
        fclose(f);
    return text;
}

/* How the next interval is chosen. */
struct policy {
    const struct sk_model_ops *model; /* NULL: fixed */
    double interval;                  /* fixed */
    double rate;                      /* of the model, where nothing is learnt */
    struct sk_belief prior, seen;     /* prior.faults > 0: learnt */
    double memory;
    double known_until;
    double shape, fault_at; /* of the hazard, where the model asks; when the last fault was */
    const struct faults *log; /* where the shape is learnt on the way, too; NULL: it is as it is */
    size_t seen_faults, shape_from;
};

/* The shape from the times between the faults so far, again whenever these are a tenth more. */
static void learn_shape(struct policy *p)
{
    static double times[20000];
    size_t n = p->seen_faults < 20000 ? p->seen_faults : 20000;
    if (!p->log || !p->model->rate_at || n < p->shape_from + p->shape_from / 10 + 1)
        return;
    for (size_t i = 0; i < n; i++)
        times[i] = p->log->at[p->seen_faults - n + i + 1] - p->log->at[p->seen_faults - n + i];
    p->shape = sk_weibull_shape(times, n);
    p->shape_from = n;
}

static double choose(struct policy *p, double now, double cost)
{
    if (!p->model)
        return p->interval;
    double rate = p->rate;
    if (p->prior.faults > 0) {
        sk_belief_time(&p->seen, now - p->known_until);
        p->known_until = now;
        rate = sk_belief_mean(sk_belief_with(p->prior, p->seen));
    }
    if (p->model->rate_at)
        rate = sk_model_rate(p->model, rate, p->shape, now - p->fault_at, cost);
    return sk_model_optimum(p->model, rate, cost);
}

static void suffer(struct policy *p, double at)
{
    p->fault_at = at;
    p->seen_faults++;
    if (p->model)
        learn_shape(p);
    if (!(p->prior.faults > 0))
        return;
    sk_belief_time(&p->seen, at - p->known_until);
    p->known_until = fmax(p->known_until, at);
    sk_belief_fault(&p->seen, p->memory);
}

/* The waste of one job. */
static double play(const struct faults *f, struct policy p, double cost)
{
    double begin = f->at[0], end = f->at[f->n - 1], now = begin, work = 0;
    size_t next = 1;
    p.known_until = p.fault_at = begin;
    while (next < f->n) {
        double interval = choose(&p, now, cost);
        if (now + interval + cost <= f->at[next]) {
            now += interval + cost;
            work += interval;
            continue;
        }
        do { /* a restart may fail, too */
            now = fmax(now, f->at[next]);
            suffer(&p, f->at[next++]);
        } while (next < f->n && now + cost > f->at[next]);
        now += cost;
    }
    return 1 - work / (end - begin);
}

static double play_learnt(const struct faults *f, const struct sk_model_ops *m, double mtbf, double cost, double memory)
{
    struct policy p = {.model = m, .prior = sk_belief_prior(mtbf, prior_weight), .memory = memory, .shape = 1, .log = f};
    return play(f, p, cost);
}

static double best_fixed(const struct faults *f, double around, double cost, double *interval)
{
    double best = INFINITY;
    for (int i = 0; i < TRIED; i++) {
        struct policy p = {.interval = around * pow(5, 2.0 * i / (TRIED - 1) - 1)};
        double w = play(f, p, cost);
        if (w < best) {
            best = w;
            *interval = p.interval;
        }
    }
    return best;
}

struct score {
    int within, cases; /* within a percent of the best */
    double worst;
};

static void count(struct score *s, double waste, double best)
{
    s->cases++;
    s->within += waste <= 1.01 * best;
    s->worst = fmax(s->worst, waste / best);
}

/* One case: all models, all ways to know the rate. */
static void play_case(struct sk_json *j, int system, const struct faults *f, double cost, struct score learnt[2])
{
    double mtbf = (f->at[f->n - 1] - f->at[0]) / (double)(f->n - 1), interval = 0;
    const struct sk_model_ops *first = sk_model_at(0), *m;
    double best = best_fixed(f, sk_model_optimum(first, 1 / mtbf, cost), cost, &interval);
    sk_json_object(j, NULL);
    sk_json_int(j, "system", system);
    sk_json_uint(j, "failures", f->n);
    sk_json_real(j, "mtbf_seconds", mtbf);
    sk_json_real(j, "cost_seconds", cost);
    sk_json_real(j, "best_fixed_waste", best);
    sk_json_real(j, "best_fixed_interval_seconds", interval);
    sk_json_array(j, "models");
    for (int i = 0; (m = sk_model_at(i)); i++) {
        double low = play_learnt(f, m, mtbf * wrong, cost, SK_BELIEF_MEMORY),
               high = play_learnt(f, m, mtbf / wrong, cost, SK_BELIEF_MEMORY);
        double known = play(f, (struct policy){.model = m, .rate = 1 / mtbf}, cost),
               too_low = play(f, (struct policy){.model = m, .rate = 1 / mtbf / wrong}, cost),
               too_high = play(f, (struct policy){.model = m, .rate = wrong / mtbf}, cost);
        sk_json_object(j, NULL);
        sk_json_text(j, "model", m->name);
        sk_json_real(j, "true_rate", known / best);
        sk_json_real(j, "rate_too_low", too_low / best);
        sk_json_real(j, "rate_too_high", too_high / best);
        sk_json_real(j, "learnt_from_too_low", low / best);
        sk_json_real(j, "learnt_from_too_high", high / best);
        sk_json_end(j);
        if (!i) {
            count(&learnt[0], low, best);
            count(&learnt[1], high, best);
            printf("%6d %8zu %9.1f %7.0f %10.4f %9.3f %9.3f %9.3f %12.3f %12.3f\n", system, f->n, mtbf / 3600, cost / 60, best,
                   known / best, too_low / best, too_high / best, low / best, high / best);
        }
    }
    sk_json_end(j);
    sk_json_end(j);
}

/* What other memories would have given: to see that nothing hangs on the choice. */
static void print_memories(void)
{
    static const double memories[] = {0, 5, 10, 15, 20, 25, 30, 40, 60, 100};
    puts("\nmemory  within 1.01 (prior too low, too high)  worst");
    for (size_t k = 0; k < sizeof memories / sizeof *memories; k++) {
        struct score s[2] = {{0}};
        for (int i = 0; i < N_SYSTEMS; i++)
            for (int c = 0; c < N_COSTS; c++) {
                const struct faults *f = &log_of[systems[i]];
                double mtbf = (f->at[f->n - 1] - f->at[0]) / (double)(f->n - 1), interval = 0;
                double best = best_fixed(f, sk_model_optimum(sk_model_at(0), 1 / mtbf, costs[c]), costs[c], &interval);
                count(&s[0], play_learnt(f, sk_model_at(0), mtbf * wrong, costs[c], memories[k]), best);
                count(&s[1], play_learnt(f, sk_model_at(0), mtbf / wrong, costs[c], memories[k]), best);
            }
        printf("%6.0f  %2d %2d of %d  %37.3f %.3f\n", memories[k], s[0].within, s[1].within, s[0].cases, s[0].worst, s[1].worst);
    }
}

static int is_judged(int system)
{
    for (int i = 0; i < N_SYSTEMS; i++)
        if (systems[i] == system)
            return 1;
    return 0;
}

/* Does it pay to know that faults come in bursts? Weibull's hazard against Vaidya's constant one, both learning rate (from the right prior) and shape on the
 * way: first the systems that are not among the judged ones, then those. */
static void print_weibull(struct sk_json *j)
{
    const struct sk_model_ops *vaidya = sk_model_at(0), *weibull = sk_model_find("weibull");
    sk_json_array(j, "weibull");
    for (int judged = 0; judged < 2; judged++) {
        double sum = 0, worst = -INFINITY, best = INFINITY;
        int n = 0, better = 0;
        printf("\n%s\nsystem failures  shape C (min)     vaidya    weibull  difference (waste)\n",
               judged ? "The judged systems" : "Systems that are not judged");
        for (int s = 0; s < MOST_SYSTEMS; s++) {
            const struct faults *f = &log_of[s];
            if (f->n < ENOUGH || is_judged(s) != judged)
                continue;
            struct policy all = {.model = weibull, .log = f, .seen_faults = f->n - 1};
            learn_shape(&all);
            for (int c = 0; c < N_COSTS; c++) {
                double mtbf = (f->at[f->n - 1] - f->at[0]) / (double)(f->n - 1);
                double v = play_learnt(f, vaidya, mtbf, costs[c], SK_BELIEF_MEMORY), w = play_learnt(f, weibull, mtbf, costs[c], SK_BELIEF_MEMORY);
                double difference = w / v - 1;
                printf("%6d %8zu %6.2f %7.0f %10.4f %10.4f %+10.2f %%\n", s, f->n, all.shape, costs[c] / 60, v, w, 100 * difference);
                sk_json_object(j, NULL);
                sk_json_int(j, "system", s);
                sk_json_int(j, "judged", judged);
                sk_json_real(j, "shape", all.shape);
                sk_json_real(j, "cost_seconds", costs[c]);
                sk_json_real(j, "vaidya_waste", v);
                sk_json_real(j, "weibull_waste", w);
                sk_json_end(j);
                n++;
                better += difference < 0;
                sum += difference;
                worst = fmax(worst, difference);
                best = fmin(best, difference);
            }
        }
        if (n)
            printf("less waste in %d of %d; %+.2f %% on average, from %+.2f to %+.2f %%\n", better, n, 100 * sum / n, 100 * best, 100 * worst);
    }
    sk_json_end(j);
}

/* ---- reservations that end ---- */

/* The waste of a job that runs in slots one behind the other, each of which ends it: with the last checkpoint of a slot where the library makes it, twice
 * its cost and a minute at least before the end (schedule/advice.h), or without. */
static double play_slots(const struct faults *f, double interval, double cost, double slot, int saves_at_end)
{
    double begin = f->at[0], end = f->at[f->n - 1], now = begin, over = begin + slot, work = 0;
    size_t next = 1;
    while (next < f->n) {
        double last = over - fmax(60, 2 * cost), length = interval;
        int is_last = saves_at_end && now + interval > last;
        if (is_last)
            length = fmax(0, last - now);
        double done = now + length + (length > 0 ? cost : 0);
        if (f->at[next] < fmin(done, over)) {
            now = f->at[next++] + cost;
        } else {
            work += done <= over ? length : 0;
            now = is_last || done > over ? over : done;
        }
        while (next < f->n && now > f->at[next]) /* while it restarts */
            now = f->at[next++] + cost;
        for (; now >= over; over += slot)
            now = fmax(now, over + cost);
    }
    return 1 - work / (end - begin);
}

static void print_reservations(struct sk_json *j)
{
    static const double slots[] = {6 * 3600.0, 24 * 3600.0};
    puts("\nJobs in slots of the scheduler (Vaidya's interval, true rate)\nsystem C (min) slot (h)    without  with a save before the end (waste)");
    sk_json_array(j, "reservations");
    for (int i = 0; i < N_SYSTEMS; i++)
        for (int k = 0; k < 2 * N_COSTS; k++) {
            const struct faults *f = &log_of[systems[i]];
            double cost = costs[k / 2], slot = slots[k % 2], mtbf = (f->at[f->n - 1] - f->at[0]) / (double)(f->n - 1);
            double interval = sk_model_optimum(sk_model_at(0), 1 / mtbf, cost);
            double without = play_slots(f, interval, cost, slot, 0), with = play_slots(f, interval, cost, slot, 1);
            printf("%6d %7.0f %8.0f %10.4f %10.4f  %+.1f %%\n", systems[i], cost / 60, slot / 3600, without, with, 100 * (with / without - 1));
            sk_json_object(j, NULL);
            sk_json_int(j, "system", systems[i]);
            sk_json_real(j, "cost_seconds", cost);
            sk_json_real(j, "slot_seconds", slot);
            sk_json_real(j, "without", without);
            sk_json_real(j, "with", with);
            sk_json_end(j);
        }
    sk_json_end(j);
}

static int write_json(struct sk_json *j, const char *path)
{
    FILE *out = fopen(path, "w");
    int rc = !out || sk_json_print(j, out, NULL);
    if (out && fclose(out))
        rc = 1;
    return rc;
}

int main(int argc, char **argv)
{
    const char *json = NULL, *path = NULL;
    int memories = 0, rc = 0;
    struct saikai_error err = {0};
    struct sk_json j = {0};
    struct score learnt[2] = {{0}};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--memories"))
            memories = 1;
        else if (!strncmp(argv[i], "json=", 5))
            json = argv[i] + 5;
        else
            path = argv[i];
    size_t n = 0;
    char *text = path ? read_log(path, &n) : NULL;
    if (!text || !n) {
        printf("skip: no failure log %s\n", path ? path : "(usage: paper_when [--memories] [json=FILE] LOG.csv[.xz])");
        free(text);
        return 77;
    }
    if (sk_lanl_parse(text, n, path, take, NULL, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts("system failures  MTBF (h) C (min) best fixed   true r.   5x low   5x high  learnt: from low  high   (waste / that of the best)");
    sk_json_object(&j, NULL);
    sk_json_real(&j, "memory_faults", SK_BELIEF_MEMORY);
    sk_json_array(&j, "cases");
    for (int i = 0; i < MOST_SYSTEMS; i++)
        merge(&log_of[i]);
    for (int i = 0; i < N_SYSTEMS; i++)
        for (int c = 0; c < N_COSTS; c++)
            play_case(&j, systems[i], &log_of[systems[i]], costs[c], learnt);
    sk_json_end(&j);
    for (int k = 0; k < 2; k++) {
        printf("learnt from a rate %g times too %s: within 1.01 of the best in %d of %d, never above %.3f\n", wrong,
               k ? "high" : "low", learnt[k].within, learnt[k].cases, learnt[k].worst);
        sk_json_object(&j, k ? "learnt_from_too_high" : "learnt_from_too_low");
        sk_json_int(&j, "within_1.01", learnt[k].within);
        sk_json_int(&j, "cases", learnt[k].cases);
        sk_json_real(&j, "worst", learnt[k].worst);
        sk_json_end(&j);
        rc |= learnt[k].within < 13 || learnt[k].worst > 1.04;
    }
    print_weibull(&j);
    print_reservations(&j);
    sk_json_end(&j);
    if (memories)
        print_memories();
    if (json)
        rc |= write_json(&j, json);
    sk_json_free(&j);
    free(text);
    for (int i = 0; i < MOST_SYSTEMS; i++)
        free(log_of[i].at);
    return rc;
}

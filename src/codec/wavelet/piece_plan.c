/* Which plan codes a piece best. Trials on small boxes tell what is out of the question; what is
 * not is tried on a large one, or left to be tried on all of the piece. */
#include "codec/wavelet/piece.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PLANS = PIECE_PLANS, SMALL = 200000 /* values of a piece */, MANY = 4 /* bits of a value */ };
enum { TINY = 1 << 16 /* values of a piece, all of which is tried */, MOST_BOXES = 6 };
enum { HOLD_PARTS = 4 }; /* numbers of a lattice within the bound, where they are held */

double sk_piece_parameter(const struct piece *p, const char *key, double standard)
{
    const char *text = p->opt->parameter, *at = text ? strstr(text, key) : NULL;
    return at ? strtod(at + strlen(key), NULL) : standard;
}

double sk_piece_plan_step(const struct piece *j, const struct plan *plan)
{
    return plan->hold ? j->limit / HOLD_PARTS : sk_piece_step(j);
}

int sk_piece_transform(const struct piece *j, const struct lift_shape *shape, const struct plan *plan,
                    int trial, struct lift *lift, struct causal *causal, struct sk_buf *head,
                    struct sk_plane_writer *codes, struct saikai_error *err)
{
    struct lift_shape seen = *shape;
    int masked = j->mask != NULL, rc;
    seen.active = plan->active;
    if (plan->causal) {
        if ((rc = sk_causal_init(causal, &seen, j->size, masked, err)))
            return rc;
        causal->bound = j->limit;
        causal->base = j->step > 0 ? j->base : j->low;
        causal->step = sk_piece_plan_step(j, plan);
        causal->hold = plan->hold;
        causal->trial = trial;
        causal->box = j->n > SMALL && shape != &j->lift_shape && shape->n[0] > 1;
        causal->thorough = j->thorough;
        return sk_causal_encode(causal, j->source, j->mask, head, codes, err);
    }
    if ((rc = sk_lift_init(lift, &seen, j->size, masked, plan->reach, err)))
        return rc;
    sk_lift_set_bounds(lift, j->limit, plan->alpha, plan->beta, j->lowest, j->highest);
    lift->mean = j->mean;
    lift->fine = j->fine;
    lift->fit = 1;
    lift->trial = trial;
    lift->thorough = j->thorough;
    lift->most_bits = sk_piece_close(j) * j->least_bits;
    return sk_lift_encode(lift, j->source, j->mask, head, codes, err);
}

/* A further plan is made for what it may save: where time counts, not to see whether it does, but for tiny pieces. */
double sk_piece_close(const struct piece *j)
{
    return j->effort < PIECE_BEST && j->n > TINY ? 1 : PIECE_CLOSE;
}

/* Bits per sampled value that a plan would take. */
static double try_plan(const struct piece *j, const struct lift_shape *sample,
                       const struct plan *plan, struct sk_plane_writer *codes)
{
    double n = (double)(sample->nb * sample->n[0] * sample->n[1] * sample->n[2]);
    struct sk_buf head = {0};
    struct lift lift = {0};
    struct causal causal = {0};
    double bits = INFINITY;
    sk_plane_writer_reset(codes);
    if (!sk_piece_transform(j, sample, plan, 1, &lift, &causal, &head, codes, NULL)) {
        size_t exact = plan->causal ? causal.n_exceptions : lift.n_exceptions;
        bits = plan->causal ? sk_plane_writer_bits(codes) / (double)causal.coded : lift.trial_bits;
        bits +=
            8.0 * (double)head.len / (double)j->n + 8.0 * (double)(j->size + 1) * (double)exact / n;
    }
    sk_lift_free(&lift);
    sk_causal_free(&causal);
    sk_buf_free(&head);
    return bits;
}

/* A factor between bounds, within what a piece can hold: never coarser than asked for. */
static double factor(const struct piece *j, const char *key, double standard)
{
    double f = sk_piece_parameter(j, key, standard);
    return f >= 1 ? (f < 7 ? f : 7) : 1;
}

/* The reach asked for, else the least. */
static int reach_given(const struct piece *j)
{
    double r = sk_piece_parameter(j, "reach=", LIFT_LEAST_REACH);
    return r > LIFT_LEAST_REACH ? r < LIFT_MOST_REACH ? (int)r : LIFT_MOST_REACH : LIFT_LEAST_REACH;
}

/* Bytes that so many large boxes, of `most` values in all, take, as a part of the piece. */
static double try_boxes(const struct piece *j, const struct plan *plan, size_t most, int boxes,
                        struct sk_plane_writer *codes)
{
    struct lift_shape sample;
    struct sk_buf head = {0};
    struct lift lift = {0};
    struct causal causal = {0};
    double bytes = INFINITY;
    size_t offset[MOST_BOXES];
    sk_shape_sample(&j->lift_shape, most / (size_t)boxes, boxes, &sample, offset);
    sample = j->busy ? *j->busy : sample;
    sk_plane_writer_reset(codes);
    if (!sk_piece_transform(j, &sample, plan, 0, &lift, &causal, &head, codes, NULL)) {
        double n = (double)(sample.n[0] * sample.n[1] * sample.n[2] * sample.nb);
        bytes = sk_plane_writer_bits(codes) / 8 + (double)head.len * n / (double)j->n +
                (double)((lift.n_exceptions + causal.n_exceptions) * (j->size + 1));
    }
    sk_lift_free(&lift);
    sk_causal_free(&causal);
    sk_buf_free(&head);
    return bytes;
}

static double try_box(const struct piece *j, const struct plan *plan, size_t most, struct sk_plane_writer *codes)
{
    return try_boxes(j, plan, most, 2, codes);
}

/* Bytes of large boxes with this plan, whose reach is chosen, too: a longer one is to be worth its
 * time. Of smooth fields, which take few bits, edges hide in boxes what it saves in the whole: up to a third, where it costs nothing
 * in the boxes. */
static double try_reach(const struct piece *j, struct plan *plan, size_t most, int is_few,
                        struct sk_plane_writer *codes)
{
    double near = try_box(j, plan, most, codes);
    if (plan->causal || sk_piece_parameter(j, "reach=", -1) > 0)
        return near;
    struct plan other = *plan;
    other.reach = LIFT_MOST_REACH;
    double far = try_box(j, &other, most, codes);
    if (far > (is_few ? 1 : j->fine ? 0.99 : 0.985) * near)
        return near;
    plan->reach = other.reach;
    return far;
}

/* Do values of a single dimension stay within twice the bound for long, as those of particles do that lie in order of place? */
static int are_held(const struct piece *j)
{
    enum { SPANS = 16, SPAN = 512, LEAST = 4 };
    const struct lift_shape *s = &j->lift_shape;
    size_t n = s->n[2], span = n < SPAN ? n : SPAN, seen = 0, stretches = 0;
    if (s->nb > 1 || s->n[0] > 1 || s->n[1] > 1 || j->opt->bound.kind == SK_BOUND_PSNR)
        return 0;
    for (size_t k = 0; k < SPANS; k++) {
        size_t from = (size_t)((double)(n - span) * (double)k / (SPANS - 1));
        double low = INFINITY, high = -INFINITY;
        for (size_t i = from; i < from + span; i++) {
            size_t e = s->b_offset[0] + i * s->stride[2];
            double v = j->size == sizeof(float) ? ((const float *)j->source)[e] : ((const double *)j->source)[e];
            if (j->mask && j->mask[e])
                continue;
            seen++;
            low = v < low ? v : low;
            high = v > high ? v : high;
            if (high - low > 2 * j->limit) {
                stretches++;
                low = high = v;
            }
        }
    }
    return seen && stretches * LEAST <= seen;
}

/* By what factor the bounds of each coarser level are finer. The fewer axes there are, the more of all values are in coarser levels (half of them along a line, an
 * eighth in a box), and the more bits it takes. */
static double usual_alpha(const struct piece *j)
{
    const int n = j->shape.n_dims;
    return n < 2 ? 1 + 1.0 / 16 : n < 3 ? 1 + 1.0 / 8 : 1 + 1.0 / 4;
}

/* Plans that the data do not rule out; returns how many. */
static int make_plans(const struct piece *j, struct plan plan[MOST_PLANS])
{
    double alpha = factor(j, "alpha=", usual_alpha(j)), beta = factor(j, "beta=", 4);
    int n = 0;
    plan[n++] = (struct plan){.active = j->shape.active,
                              .alpha = lrint(alpha * 32) / 32.0,
                              .beta = lrint(beta * 8) / 8.0,
                              .reach = reach_given(j)};
    if ((j->high - j->low) / sk_piece_step(j) < CAUSAL_LIMIT) {
        plan[n] = plan[0];
        plan[n++].causal = 1;
    }
    if ((j->high - j->low) / (j->limit / HOLD_PARTS) < CAUSAL_LIMIT && are_held(j)) {
        plan[n] = plan[0];
        plan[n].causal = 1;
        plan[n++].hold = 1;
    }
    if (j->shape.doubtful) { /* which a single axis is not */
        plan[n] = plan[0];
        plan[n++].active &= ~j->shape.doubtful;
    }
    return n;
}

/* Can plan k be left untried, when those before it took so many bits? Leaving out an axis helps
 * interpolation only, which may be beaten already. */
static int is_hopeless(const struct plan *plan, int k, const double *bits)
{
    return !plan[k].causal && k == 2 && bits[0] > 2 && bits[0] > 1.3 * bits[1];
}

/* Bits that sk_lift_trial_bits gives a plan for levels that boxes are too small for, at least. */
static double unseen_bits(const struct plan *plan)
{
    double share = 1.0 / (1 << __builtin_popcount(plan->active));
    return plan->causal ? 0 : share * share / (1 - share);
}

/* May a plan that took so many bits in the small boxes be the best all the same? The fewer bits,
 * the less do small boxes say; but even there what they see taking half a bit more is not. */
static int is_close(const struct plan *plan, double bits, double least)
{
    const double many = 1.5, more = 0.4;
    return least < 1 ? bits - unseen_bits(plan) <= many * least + more : bits <= least * (1.02 + 0.3 / (least * least));
}

/* How many plans may be tried on all of the piece: each further one takes nearly as long as the first. */
static int most_finalists(const struct piece *j)
{
    return j->effort < PIECE_BEST ? PIECE_FINALISTS - 1 : PIECE_FINALISTS;
}

/* Leave the plans that large boxes do not rule out, since they take less than `far` times the least of them, the best first; returns how
 * many. A few bytes tell little: only what takes `several` times as many loses then. */
enum { SEVERAL = 4 };
static int near_the_least(struct plan *plan, int n, double *cost, double least, double far, double several)
{
    const double nothing = 256, little = 64;
    int left = 0;
    for (int k = 0; k < n; k++) {
        struct plan one = plan[k];
        double its = cost[k];
        if (its > (least >= nothing ? far * least : several * least + little))
            continue;
        int at = left++;
        for (; at > 0 && cost[at - 1] > its; at--) {
            plan[at] = plan[at - 1];
            cost[at] = cost[at - 1];
        }
        plan[at] = one;
        cost[at] = its;
    }
    return left;
}

/* Do values take so many bits that they are noise? It takes many more than differences of neighbours would. */
static int takes_noise(const struct piece *j, double bits)
{
    const double rough = 1.15;
    return bits >= 1 && bits > rough * j->shape.bits;
}

/* Bounds of coarser levels are finer, since interpolation from them inherits their errors. Where there is more noise than that, finer bounds are
 * bits for nothing: where boxes, which took *cost bytes, take fewer with the same bound for all levels, it is the same, and where they take hardly more, it
 * is half as much finer. A few bytes tell little. What takes fewer bits than differences of neighbours would is smooth: neither that nor noise, of one plan alone,
 * needs a trial. */
static void choose_alpha(const struct piece *j, struct plan *plan, int is_alone, size_t most, int boxes, double *cost, struct sk_plane_writer *codes)
{
    enum { LITTLE = 1024 };
    const double fewer = 0.99, hardly = 1.03, smooth = 0.9;
    double bits = 8 * *cost / (double)most;
    if (plan->causal || *cost < LITTLE || bits < smooth * j->shape.bits || sk_piece_parameter(j, "alpha=", -1) > 0)
        return;
    if (is_alone && !j->busy && takes_noise(j, bits)) {
        plan->alpha = 1;
        return;
    }
    struct plan even = *plan;
    even.alpha = 1;
    double its = try_boxes(j, &even, most, boxes, codes);
    if (its < hardly * *cost)
        plan->alpha = its < fewer * *cost ? 1 : (1 + plan->alpha) / 2;
    *cost = its < *cost ? its : *cost;
}

/* Hold plans, with their bits in small boxes, against each other on large boxes, and leave the
 * best: by both, the large ones first, or by these alone where there are few bits; of data that
 * shrink to nearly nothing, where only the whole tells, all that come near it. */
static int narrow(const struct piece *j, struct plan *plan, int n, const double *bits,
                  struct sk_plane_writer *codes)
{
    enum { PART = 32, FEWEST = 1 << 13, MOST = 1 << 16 };
    const double few = 1, nothing = 0.35;
    size_t most = j->n / PART < FEWEST ? FEWEST : j->n / PART > MOST ? MOST : j->n / PART;
    double cost[MOST_PLANS], least = INFINITY, fewest = INFINITY;
    int best = 0;
    if (n == 1 && plan[0].causal)
        return 1;
    for (int k = 0; k < n; k++)
        fewest = bits[k] < fewest ? bits[k] : fewest;
    for (int k = 0; k < n; k++) {
        cost[k] = try_reach(j, &plan[k], most, fewest < few, codes) * (fewest < few ? 1 : sqrt(bits[k]));
        if (cost[k] < least) {
            least = cost[k];
            best = k;
        }
    }
    if (fewest < nothing)
        return near_the_least(plan, n, cost, least, 1.3, SEVERAL);
    plan[0] = plan[best];
    if (!plan[0].causal) {
        cost[0] = try_box(j, plan, most, codes);
        choose_alpha(j, plan, 0, most, 2, cost, codes);
    }
    return 1;
}

/* The plan with its reach or a longer one: whether the longer one is to be tried on the whole, too, since edges hide in boxes what it
 * saves, is for data of few bits; where time counts, only of plans that may be the best. */
static int add_with_reach(const struct piece *j, const struct plan *plan, size_t most, double least, struct sk_plane_writer *codes,
                          struct plan *all, double *cost)
{
    const double hopeless = j->effort < PIECE_BEST ? 1.25 : 4, few = 2.5;
    struct plan other = *plan;
    other.reach = LIFT_MOST_REACH;
    if (plan->causal || sk_piece_parameter(j, "reach=", -1) > 0 || *cost > hopeless * least)
        return 1;
    all[1] = other;
    cost[1] = try_box(j, &other, most, codes);
    if (8 * fmin(cost[0], cost[1]) < few * (double)most)
        return 2;
    if (cost[1] < cost[0]) {
        all[0] = all[1];
        cost[0] = cost[1];
    }
    return 1;
}

/* Of plans that are none of the least, leave one reach each, which stand side by side; returns how many are left. */
static int leave_one_reach(struct plan *plan, double *cost, int n, double least)
{
    int left = 0;
    for (int k = 0; k < n; k++) {
        int twin = left && !plan[k].causal && !plan[left - 1].causal && plan[k].active == plan[left - 1].active;
        double lesser = twin ? fmin(cost[k], cost[left - 1]) : least;
        if (!twin || lesser <= least) {
            plan[left] = plan[k];
            cost[left++] = cost[k];
        } else if (cost[k] < cost[left - 1]) {
            plan[left - 1] = plan[k];
            cost[left - 1] = cost[k];
        }
    }
    return left;
}

/* Of a small piece that takes few bits small boxes say little, since nearly all of them is edges: large ones, which are a good part of it,
 * leave those that are then tried on the whole. */
static int choose_small(const struct piece *j, const struct plan *plan, int n,
                        struct sk_plane_writer *codes, struct plan out[PIECE_FINALISTS])
{
    enum { PART = 8, FEWEST = 1 << 13 };
    struct plan all[2 * MOST_PLANS];
    double near[MOST_PLANS], cost[2 * MOST_PLANS], least = INFINITY;
    size_t most = j->n / PART < FEWEST ? FEWEST : j->n / PART;
    int m = 0;
    for (int k = 0; k < n; k++) {
        near[k] = try_box(j, &plan[k], most, codes);
        least = near[k] < least ? near[k] : least;
    }
    for (int k = 0; k < n; k++) {
        all[m] = plan[k];
        cost[m] = near[k];
        m += add_with_reach(j, &plan[k], most, least, codes, all + m, cost + m);
    }
    for (int k = 0; k < m; k++)
        least = cost[k] < least ? cost[k] : least;
    m = leave_one_reach(all, cost, m, least);
    double few = 8 * least / (double)most; /* bits of a value, of which boxes say the less the fewer they are */
    m = near_the_least(all, m, cost, least, 1.1 + 0.5 / (1 + few * few), SEVERAL);
    m = m < most_finalists(j) ? m : most_finalists(j);
    memcpy(out, all, (size_t)m * sizeof *all);
    return m;
}

/* Do neighbours miss a value by several bounds and by a part of the range that only noise has? (Of smooth fields fine bounds want many bits,
 * too.) */
static int is_noisy(const struct piece *j)
{
    const double many = 1.5, part = 1e-3;
    return j->shape.bits >= many && (exp2(j->shape.bits) - 1) * j->limit >= part * (j->high - j->low);
}

/* Points of a small box. Noise is alike everywhere, and edges cost little beside it: less of it says as much. */
static size_t points_of_small_box(const struct piece *j)
{
    enum { PART = 128, FEWEST = 1728, NOISY = 2048, MOST = 4096, THOROUGH = 6144 };
    int noisy = is_noisy(j);
    size_t most = noisy ? NOISY : MOST, part = j->n / PART;
    if (j->thorough && !noisy)
        return THOROUGH;
    return part < FEWEST ? FEWEST : part > most ? most : part;
}

/* Is it a line to the caller, and more here? Boxes of what is a line all the same are edges above all, which hide what plans save. */
static int is_folded(const struct piece *j)
{
    int given = 0;
    for (int d = 0; d < j->a->ndims; d++)
        given += j->a->dims[d] > 1;
    return given < 2 && j->shape.n_dims > given;
}

/* How many boxes: they are mostly edges, the more so the more axes they have; and fields are not alike everywhere, least of all where several lie
 * in one array. */
static int swift_boxes(const struct piece *j)
{
    const size_t *n = j->lift_shape.n;
    if (j->special.n_stretches)
        return MOST_BOXES;
    return n[0] > 1 && n[1] > 1 && n[2] > 1 ? 2 : 4;
}

/* The longer reach where that takes fewer bytes: of the boxes that were tried already, which took *cost bytes; many bits say as much in fewer. */
static void reach_swiftly(const struct piece *j, struct plan *plan, size_t most, double *cost, struct sk_plane_writer *codes)
{
    enum { ENOUGH = 1 << 14 };
    const double few = 2, worth = 0.97;
    double near = *cost;
    struct plan other = *plan;
    if (plan->causal || sk_piece_parameter(j, "reach=", -1) > 0)
        return;
    other.reach = LIFT_MOST_REACH;
    int is_few = 8 * near < few * (double)most;
    if (most > ENOUGH && !is_few) {
        most = ENOUGH;
        near = try_boxes(j, plan, most, swift_boxes(j), codes);
    }
    double far = try_boxes(j, &other, most, swift_boxes(j), codes);
    if (!(far < (is_few ? 1 : worth) * near))
        return;
    *plan = other;
    *cost *= far / near;
}

/* Values of boxes that are a part of the piece. */
static size_t points_of_boxes(const struct piece *j, size_t part, size_t fewest, size_t most)
{
    size_t n = j->n / part;
    return n < fewest ? fewest : n > most ? most : n;
}

enum { SWIFT_PART = 32, SWIFT_FEWEST = 1 << 12, SWIFT_MOST = 1 << 15 };
static size_t large_boxes(const struct piece *j)
{
    return points_of_boxes(j, SWIFT_PART / 2, 2 * SWIFT_FEWEST, SWIFT_MOST);
}

/* Bytes that boxes take with each plan whose cost is not INFINITY; returns the least. */
static double try_each(const struct piece *j, const struct plan *plan, int n, size_t most, struct sk_plane_writer *codes, double *cost)
{
    double least = INFINITY;
    for (int k = 0; k < n; k++) {
        cost[k] = cost[k] < INFINITY ? try_boxes(j, &plan[k], most, swift_boxes(j), codes) : INFINITY;
        least = cost[k] < least ? cost[k] : least;
    }
    return least;
}

/* Which plan is the best when all that come near are at their best; cost[best] is the least. */
static int best_with_alpha(const struct piece *j, struct plan *plan, int n, int best, size_t most, double *cost, struct sk_plane_writer *codes)
{
    const double close = 1.1;
    double least = cost[best];
    int lifts = 0;
    for (int k = 0; k < n; k++)
        lifts += !plan[k].causal && cost[k] <= close * least;
    for (int k = 0; k < n; k++) {
        if (cost[k] <= close * least)
            choose_alpha(j, &plan[k], lifts == 1, most, swift_boxes(j), &cost[k], codes);
        best = cost[k] < cost[best] ? k : best;
    }
    return best;
}

/* Boxes that are tried once for each plan, and once more with the longer reach of those that may be the best. The fewer bits values take the less do
 * boxes say: then plans that are near the least in small ones are tried in larger ones. Of small pieces that take hardly any bits all plans near the least are left, since the
 * whole does not take long. *bits: of a value, by the best plan in the boxes before its reach is chosen. */
static int choose_by_boxes(const struct piece *j, const struct plan *plan, int n, struct sk_plane_writer *codes, struct plan out[PIECE_FINALISTS], double *bits)
{
    const double near = 1.3, nearer = 1.1, few_bits = 1, many = 2, smooth = 0.3, few = 0.25, several = 2.5, more = 1.4;
    size_t large = large_boxes(j), most = j->busy || j->shape.bits < smooth ? large : points_of_boxes(j, SWIFT_PART, SWIFT_FEWEST, SWIFT_MOST);
    double cost[MOST_PLANS] = {0}, least = try_each(j, plan, n, most, codes, cost);
    int best = 0;
    if (most < large && 8 * least < many * (double)most) {
        for (int k = 0; k < n; k++)
            cost[k] = cost[k] <= near * least ? cost[k] : INFINITY;
        most = large;
        least = try_each(j, plan, n, most, codes, cost);
    }
    *bits = 8 * least / (double)most;
    memcpy(out, plan, (size_t)n * sizeof *plan);
    if (j->n <= SMALL && *bits < several && is_folded(j))
        return choose_small(j, plan, n, codes, out);
    for (int k = 0; k < n; k++) {
        if (cost[k] <= (*bits < few_bits ? near : nearer) * least)
            reach_swiftly(j, &out[k], most, &cost[k], codes);
        best = cost[k] < cost[best] ? k : best;
    }
    if (j->n <= SMALL && *bits < few)
        return near_the_least(out, n, cost, cost[best], near, more);
    out[0] = out[best_with_alpha(j, out, n, best, most, cost, codes)];
    return 1;
}

/* Find boxes where values are hard to predict: whether they are so much harder than those that lie evenly that these may have said nothing. */
static int find_busy(const struct piece *j, struct lift_shape *busy, size_t offset[MOST_BOXES])
{
    const double much = 2;
    const struct shape_values v = {j->source, j->size, j->mask, j->limit};
    int boxes = swift_boxes(j);
    sk_shape_sample(&j->lift_shape, large_boxes(j) / (size_t)boxes, boxes, busy, offset);
    return sk_shape_sample_busy(&j->lift_shape, &v, busy, offset) > much;
}

/* Do plans predict alike, but for bounds of levels? */
static int are_alike(const struct plan *a, const struct plan *b)
{
    return a->causal == b->causal && a->hold == b->hold && a->active == b->active && (a->causal || a->reach == b->reach);
}

/* Where time counts most. What takes hardly any bits in boxes that lie evenly may be all in a few places: where boxes there say another plan,
 * both are left for the whole, since either may be wrong by far. */
static int choose_swiftly(const struct piece *j, const struct plan *plan, int n, struct sk_plane_writer *codes, struct plan out[PIECE_FINALISTS])
{
    const double few = 0.04;
    struct lift_shape busy;
    struct plan other[PIECE_FINALISTS];
    struct piece there = *j;
    size_t offset[MOST_BOXES];
    double bits;
    int left = choose_by_boxes(j, plan, n, codes, out, &bits), further = 0;
    if (bits < few && !is_folded(j) && find_busy(j, &busy, offset)) {
        there.busy = &busy;
        further = choose_by_boxes(&there, plan, n, codes, other, &bits);
    }
    for (int k = 0, o; k < further && left < most_finalists(j); k++) {
        for (o = 0; o < left && !are_alike(&out[o], &other[k]); o++)
            ;
        if (o == left)
            out[left++] = other[k];
    }
    return left;
}

int sk_piece_is_tiny(const struct piece *j)
{
    return !j->keep_plan && j->n <= TINY && sk_piece_parameter(j, "plan=", -1) < 0;
}

int sk_piece_plans(const struct piece *j, struct plan plan[PIECE_PLANS])
{
    return make_plans(j, plan);
}

int sk_piece_reach_further(const struct piece *j, struct plan *plan, double bits)
{
    const double near = j->effort == PIECE_BEST ? 1.5 : 1.12;
    plan->reach = LIFT_MOST_REACH;
    return bits <= near * j->least_bits && !(sk_piece_parameter(j, "reach=", -1) > 0);
}

int sk_piece_choose(struct piece *j, struct sk_plane_writer *codes, struct plan out[PIECE_FINALISTS])
{
    enum { BOXES = 6 };
    struct plan plan[MOST_PLANS];
    struct lift_shape sample;
    size_t b_offset[BOXES];
    double bits[MOST_PLANS], least = INFINITY;
    int n = make_plans(j, plan), given = (int)sk_piece_parameter(j, "plan=", -1), left = 0;
    out[0] = plan[given >= 0 && given < n ? given : 0];
    if (j->effort == PIECE_SWIFT && given < 0)
        return choose_swiftly(j, plan, n, codes, out);
    if (given >= 0 || n < 2)
        return narrow(j, out, 1, &(double){1}, codes);
    sk_shape_sample(&j->lift_shape, points_of_small_box(j), BOXES, &sample, b_offset);
    for (int k = 0; k < n; k++) {
        bits[k] = is_hopeless(plan, k, bits) ? INFINITY : try_plan(j, &sample, &plan[k], codes);
        least = bits[k] < least ? bits[k] : least;
        if (j->n <= SMALL && least < MANY)
            return choose_small(j, plan, n, codes, out);
    }
    for (int k = 0; k < n; k++)
        if (bits[k] <= least || is_close(&plan[k], bits[k], least)) {
            bits[left] = bits[k];
            out[left++] = plan[k];
        }
    return narrow(j, out, left, bits, codes);
}

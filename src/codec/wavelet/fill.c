/* Fill values: the number that stands where there is no data, and the range of the rest. */
#include "codec/wavelet/fill.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 1024, FEWEST = 16 };
static const double far_out = 50; /* times the spread of most values */
static const double gap = 0.9;    /* of the way from them to the fill value nothing is to lie */

static double value_at(const void *in, size_t i, size_t size)
{
    return size == sizeof(float) ? (double)((const float *)in)[i] : ((const double *)in)[i];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Can so few of the range hold most of the sample that one of its ends is far out? Counts of parts of the range say so in far less time
 * than sorting takes, for nearly all data: no. */
static int may_be_far_out(const double *v, size_t count, double low, double high)
{
    enum { PARTS = 128, NEAR = 5 /* parts that values of 1 / far_out of the range may fall into, and one to spare */ };
    size_t in[PARTS] = {0}, near = 0, most = 0;
    double scale = PARTS / (high - low);
    if (!isfinite(high - low) || !isfinite(scale))
        return 1;
    for (size_t k = 0; k < count; k++) {
        int part = (int)((v[k] - low) * scale);
        in[part < PARTS ? part : PARTS - 1]++;
    }
    for (int k = 0; k < PARTS; k++) {
        near += in[k] - (k < NEAR ? 0 : in[k - NEAR]);
        most = near > most ? near : most;
    }
    return most >= count - 2 * (count / 20);
}

/* Where most values lie, by a sample without the extremes; -1: too few are left, or they lie all over the range. */
static int spread(const void *in, size_t n, size_t size, double low, double high, double most[2])
{
    double v[SAMPLE];
    size_t count = 0, take = n < SAMPLE ? n : SAMPLE;
    for (size_t k = 0; k < take; k++) {
        double x = value_at(in, (size_t)(((double)k + 0.5) * (double)n / (double)take), size);
        if (x > low && x < high)
            v[count++] = x;
    }
    if (count < FEWEST || !may_be_far_out(v, count, low, high))
        return -1;
    qsort(v, count, sizeof *v, by_value);
    most[0] = v[count / 20];
    most[1] = v[count - 1 - count / 20];
    return 0;
}

enum { BYTES = 16 }; /* which any processor compares */
/* Where m is all ones a, else b. */
#define CHOSEN(m, a, b) (((m) & (a)) | (~(m) & (b)))

/* Values are turned over where the extreme is the least: it is the greatest then. In vectors, and the rest one by one; not a number where one comes to `enough`. */
#define DEFINE_NEXT(F, U, LEAST)                                                                   \
    static double next_##F(const F *in, size_t n, F extreme, int down, double enough, size_t *times) \
    {                                                                                              \
        typedef F some __attribute__((vector_size(BYTES)));                                        \
        typedef U bits __attribute__((vector_size(BYTES)));                                        \
        enum { EACH = BYTES / sizeof(F), LOOKS = 4096 };                                           \
        F best = (F)-INFINITY, top = down ? extreme : -extreme, most = (F)(down ? enough : -enough); \
        some next = (some){0} + best;                                                              \
        bits same = {0}, flip = (bits){0} + (down ? 0 : (U)1 << (8 * sizeof(U) - 1));              \
        size_t whole = n - n % EACH;                                                               \
        *times = 0;                                                                                \
        for (size_t i = 0; i < whole && best < most;) {                                            \
            for (size_t end = whole - i < LOOKS ? whole : i + LOOKS; i < end; i += EACH) {         \
                bits v;                                                                            \
                memcpy(&v, in + i, sizeof v);                                                      \
                v ^= flip;                                                                         \
                same -= (bits)((some)v == top);                                                    \
                bits inner = (bits)((some)v < top) & (bits)((some)v > next) & (bits)((some)v >= (LEAST)); \
                next = (some)CHOSEN(inner, v, (bits)next);                                         \
            }                                                                                      \
            for (size_t k = 0; k < EACH; k++)                                                      \
                best = next[k] > best ? next[k] : best;                                            \
        }                                                                                          \
        if (best >= most)                                                                          \
            return NAN;                                                                            \
        for (size_t k = 0; k < EACH; k++)                                                          \
            *times += (size_t)same[k];                                                             \
        for (size_t i = whole; i < n; i++) {                                                       \
            F x = down ? in[i] : -in[i];                                                           \
            *times += x == top;                                                                    \
            best = x < top && x > best && x >= (LEAST) ? x : best;                                 \
        }                                                                                          \
        return (double)(down ? best : -best);                                                      \
    }
DEFINE_NEXT(float, uint32_t, -FLT_MAX)
DEFINE_NEXT(double, uint64_t, -1.7e308)

/* The next value inwards from an extreme, and whether that is there more than once; not a number where one comes to `enough`. */
static double next_inwards(const void *in, size_t n, size_t size, double extreme, int down, double enough, size_t *times)
{
    return size == sizeof(float) ? next_float(in, n, (float)extreme, down, enough, times) : next_double(in, n, extreme, down, enough, times);
}

int sk_fill_find(const void *in, size_t n, size_t size, double *low, double *high, double *fill)
{
    double most[2];
    if (!(*low < *high) || spread(in, n, size, *low, *high, most))
        return 0;
    double width = most[1] - most[0];
    int down = *high - most[1] >= most[0] - *low;
    double extreme = down ? *high : *low, from = down ? most[1] : most[0];
    if (!(fabs(extreme - from) > far_out * width) || extreme == 0)
        return 0;
    size_t times;
    double way = gap * fabs(extreme - from), next = next_inwards(in, n, size, extreme, down, down ? extreme - way : extreme + way, &times);
    if (times < 2 || !isfinite(next) || !(fabs(extreme - next) > way))
        return 0;
    *fill = extreme;
    *(down ? high : low) = next;
    return 1;
}

double sk_fill_range(const void *in, size_t n, size_t size, double low, double high)
{
    double fill;
    for (int k = 0; k < 2 && sk_fill_find(in, n, size, &low, &high, &fill); k++)
        continue;
    return high - low;
}

/* ---- stretches ---- */

enum { PAIRS = 128 };

/* What pairs of neighbours in some planes say. */
struct look {
    double saved; /* bits that a mask saves */
    double takes; /* bits that the mask takes behind that of the plane before, were it the only one */
    double first; /* and more, where there is none behind it */
    double share; /* of both */
    size_t jumps; /* from or to the fill value */
    uint64_t sign; /* of where the fill value is: of planes that have it in the same places one alone has its mask coded */
};

/* What the pair of values from element i on takes of a mask: where the plane before has it otherwise, some bits of its own, and where it has the same jump,
 * few, but as many where no mask is behind. */
static void add_takes(struct look *l, const void *in, size_t i, size_t size, size_t plane, uint64_t fill, int a, int b)
{
    const double takes = 3, again = 0.5; /* of a coast: 3.9 bits where a row crosses it, of which a third crosses where the row before does; 1.5 in a stack of such planes */
    int has_before = i >= plane;
    int before = has_before && sk_fill_bits_at(in, i - plane, size) == fill, next = has_before && sk_fill_bits_at(in, i + 1 - plane, size) == fill;
    if (a == b && before == next)
        return;
    int is_same = a == before && b == next;
    l->takes += is_same ? again : takes;
    l->first += is_same ? takes - again : 0;
}

/* A jump takes as many bits more than another step as it is longer, in powers of two; where rows cross an outline, columns do. */
static struct look look_at(const void *in, size_t from, size_t n, size_t size, size_t plane, uint64_t fill, double bound)
{
    const double directions = 2;
    size_t stride = n / PAIRS + 1, steps = 0;
    double usual = 0, logs = 0;
    struct look l = {0, 0, 0, 1, 0, n};
    for (size_t i = from; i + 1 < from + n; i += stride) {
        int a = sk_fill_bits_at(in, i, size) == fill, b = sk_fill_bits_at(in, i + 1, size) == fill;
        double d = fabs(value_at(in, i, size) - value_at(in, i + 1, size));
        l.sign = (l.sign ^ (uint64_t)(a << 1 | b)) * 0x9e3779b97f4a7c15u;
        l.sign ^= l.sign >> 29;
        add_takes(&l, in, i, size, plane, fill, a, b);
        if ((a && b) || !isfinite(d))
            continue;
        double bits = log2(1 + d / (2 * bound));
        if (a != b) {
            l.jumps++;
            logs += bits;
        } else {
            steps++;
            usual += bits;
        }
    }
    l.saved = directions * (logs - (double)l.jumps * (steps ? usual / (double)steps : 0));
    return l;
}

enum { GROUPS = 256 };

/* To mask or not, for each group of planes: what saves the most bits in all, where the first plane of each stretch, which has nothing behind it
 * that looks the same, takes some more. Returns how many that are (A. J. Viterbi, "Error bounds for convolutional codes", IEEE Trans. Inf. Theory 13, 1967). */
static double choose_groups(const struct look *l, size_t groups, uint8_t *masked)
{
    uint8_t stays[GROUPS][2];
    double best[2] = {0, 0};
    for (size_t g = 0; g < groups; g++) {
        double plain = best[0], mask = best[1], change = l[g].first * l[g].share;
        stays[g][0] = plain >= mask;
        stays[g][1] = mask >= plain - change;
        best[0] = plain > mask ? plain : mask;
        best[1] = (mask > plain - change ? mask : plain - change) + l[g].saved - l[g].takes * l[g].share;
    }
    int at = best[1] > best[0];
    for (size_t g = groups; g-- > 0;) {
        masked[g] = (uint8_t)at;
        at = stays[g][at] ? at : !at;
    }
    return best[1] > best[0] ? best[1] : best[0];
}

/* Is the mask of this group another one than that of the group before? */
static int starts(const size_t *like, size_t g)
{
    return !g || like[g - 1] != like[g];
}

/* A mask that comes again in another field is coded once. Each bears its share, at first as if all had masks, and then, where some have none after all, as if
 * those were left out. Groups with the same one behind each other count as one: what is behind predicts such jumps without a mask, too. Returns
 * the bits that are saved. */
static double choose_shared(struct look *l, size_t groups, uint8_t *masked)
{
    enum { ROUNDS = 4 };
    double saved = 0;
    size_t like[GROUPS]; /* the first group with the same mask */
    for (size_t g = 0; g < groups; g++) {
        like[g] = 0;
        while (like[g] < g && l[like[g]].sign != l[g].sign)
            like[g]++;
    }
    memset(masked, 1, groups);
    for (int round = 0, changed = 1; round < ROUNDS && changed; round++) {
        uint8_t before[GROUPS];
        memcpy(before, masked, groups);
        size_t times[GROUPS] = {0};
        for (size_t g = 0; g < groups; g++)
            times[like[g]] += before[g] && starts(like, g);
        for (size_t g = 0; g < groups; g++) {
            size_t same = times[like[g]] + (!before[g] && starts(like, g));
            l[g].share = 1 / (double)(same ? same : 1);
        }
        saved = choose_groups(l, groups, masked);
        changed = memcmp(before, masked, groups) != 0;
    }
    return saved;
}

/* Masks that are worth it by themselves, or more where these share theirs and save much more: they take time. */
static void choose_masked(struct look *l, size_t groups, uint8_t *masked)
{
    const double much = 0.01 * (double)(groups * PAIRS); /* of a bit a value */
    uint8_t shared[GROUPS];
    double alone = choose_groups(l, groups, masked);
    double saved = choose_shared(l, groups, shared);
    if (saved - alone > much)
        memcpy(masked, shared, groups);
    else if (alone < much)
        memset(masked, 0, groups);
}

int sk_fill_stretches(const void *in, size_t n, size_t size, size_t plane, uint64_t fill, double bound,
                      struct sk_fill_stretch out[SK_FILL_STRETCHES])
{
    enum { LEAST_PLANES = 8, SMALLEST_PLANE = 256 };
    struct look l[GROUPS] = {{0, 0, 0, 0, 0, 0}};
    uint8_t masked[GROUPS];
    if (plane < SMALLEST_PLANE || n / plane < LEAST_PLANES || !(bound > 0))
        return 0;
    size_t each = (n / plane + GROUPS - 1) / GROUPS * plane, groups = (n + each - 1) / each;
    for (size_t g = 0; g < groups; g++)
        l[g] = look_at(in, g * each, n - g * each < each ? n - g * each : each, size, plane, fill, bound);
    choose_masked(l, groups, masked);
    int count = 0;
    for (size_t g = 0; g < groups; g++) {
        if (!masked[g])
            continue;
        if (!g || !masked[g - 1]) {
            if (count == SK_FILL_STRETCHES)
                return 0;
            out[count++].from = g * each;
        }
        out[count - 1].to = g + 1 < groups ? (g + 1) * each : n;
    }
    return count;
}

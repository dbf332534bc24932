/* Tables of logits and rates, made by exact arithmetic alone, and the two ends of a stream of bits. */
#include "codec/entropy/adaptive/adaptive.h"

#include <pthread.h>

static struct sk_adaptive_tables tables;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Products and quotients of doubles are the same everywhere; exp and log of a library need not be. */
static void fill(void)
{
    const double step = 1.0039138893383475734; /* e to the 1/256 */
    double e = 1;
    int next = SK_ADAPTIVE_STEPS / 2;
    for (int k = 0; k <= SK_ADAPTIVE_LIMIT; k++, e *= step) {
        double p = e / (1 + e);
        uint32_t units = (uint32_t)(p * 65536 + 0.5);
        units = units > 65535 ? 65535 : units;
        tables.probability[SK_ADAPTIVE_LIMIT + k] = (uint16_t)units;
        tables.probability[SK_ADAPTIVE_LIMIT - k] = (uint16_t)(65536 - units);
        while (next < SK_ADAPTIVE_STEPS && (next + 0.5) / SK_ADAPTIVE_STEPS < p) {
            tables.logit[next] = (int16_t)k;
            tables.logit[SK_ADAPTIVE_STEPS - 1 - next] = (int16_t)-k;
            next++;
        }
    }
    for (int k = 0; k < 4; k++) {
        tables.most_weight[k] = SK_ADAPTIVE_MOST_WEIGHT;
        tables.least_weight[k] = -SK_ADAPTIVE_MOST_WEIGHT;
        tables.most_count[k] = SK_ADAPTIVE_COUNTS - 1;
        tables.whole[k] = 1 << 22;
        tables.one[k] = 1;
        tables.unit[k] = 65536;
        tables.first_count[k] = 1.6f;
    }
    for (int n = 0; n <= SK_ADAPTIVE_STEADY; n++)
        tables.shift[n] = (uint8_t)(14 + (n >= 64) + (n >= SK_ADAPTIVE_STEADY));
    for (int n = 0; n < SK_ADAPTIVE_COUNTS; n++)
        tables.rate[n] = (uint16_t)(65536 / (n + 1.6));
}

static void start(struct sk_adaptive *c)
{
    pthread_once(&once, fill);
    *c = (struct sk_adaptive){.tables = &tables, .high = UINT64_MAX};
}

void sk_adaptive_encoder(struct sk_adaptive *c, struct sk_buf *out)
{
    start(c);
    c->out = out;
}

void sk_adaptive_decoder(struct sk_adaptive *c, const void *in, size_t n)
{
    start(c);
    c->decoding = 1;
    c->at = in;
    c->end = c->at + n;
    for (int k = 0; k < 8; k++) {
        int more = c->at < c->end;
        c->code = c->code << 8 | (more ? *c->at : 0);
        c->at += more;
        c->past += !more;
    }
}

/* The fewest bytes that, with zeros behind them, lie in the interval. */
void sk_adaptive_flush(struct sk_adaptive *c)
{
    for (unsigned bytes = 0; bytes <= 8; bytes++) {
        uint64_t unit = bytes ? (uint64_t)1 << (64 - 8 * bytes) : 0, v = c->low;
        if (unit && v & (unit - 1))
            v = (v & ~(unit - 1)) + unit;
        if (!bytes ? c->low : v < c->low || v > c->high)
            continue;
        for (unsigned k = 0; k < bytes; k++)
            sk_buf_put_u8(c->out, (uint8_t)(v >> (56 - 8 * k)));
        return;
    }
}

int sk_adaptive_ended(const struct sk_adaptive *c)
{
    return c->at == c->end && c->past <= 8;
}

void sk_adaptive_slots(sk_adaptive_slot *slot, size_t n)
{
    for (size_t i = 0; i < n; i++)
        slot[i] = SK_ADAPTIVE_NEW;
}

void sk_adaptive_mixers(struct sk_adaptive_mixer *m, size_t n, int inputs)
{
    for (size_t i = 0; i < n; i++) {
        m[i].seen = 0;
        for (int k = 0; k < SK_ADAPTIVE_INPUTS; k++)
            m[i].weight[k] = 65536 * 5 / 4 / inputs;
    }
}

/* Fuzz target: deltas of any bytes, opened, applied and folded. The checksums are made right first,
 * so that what lies behind them is reached too. The corpus is written by delta_test with
 * SAIKAI_WRITE_CORPUS=DIR. */
#include "base/hash.h"
#include "capture/delta.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MOST_BYTES ((uint64_t)1 << 20)

static void use(const struct sk_delta *d)
{
    struct sk_memory *v = calloc(d->region_count + 1, sizeof *v);
    uint64_t sum = 0;
    int small = v != NULL;
    for (uint64_t i = 0; small && i < d->region_count; i++) {
        sk_delta_region(d, i, &v[i].id, &v[i].size_bytes);
        small = v[i].size_bytes <= MOST_BYTES && (sum += v[i].size_bytes) <= MOST_BYTES;
    }
    for (uint64_t i = 0; small && i < d->region_count; i++)
        small = (v[i].addr = malloc(v[i].size_bytes ? v[i].size_bytes : 1)) != NULL;
    uint64_t to;
    if (small)
        sk_delta_apply(d, 1, d->from, v, d->region_count, v, d->region_count, &to, NULL);
    struct sk_delta chain[2] = {*d, *d};
    chain[1].from = chain[0].to;
    void *folded = NULL;
    size_t size;
    if (!sk_delta_fold(chain, 2, &folded, &size, NULL)) {
        struct sk_delta f;
        if (sk_delta_open(folded, size, &f, NULL) || sk_delta_check_payload(&f, NULL))
            abort(); /* what is made must be readable */
        if (f.payload_bytes != d->payload_bytes ||
            memcmp(f.payload, d->payload, (size_t)f.payload_bytes))
            abort(); /* twice the same change is that change */
        free(folded);
    }
    for (uint64_t i = 0; v && i < d->region_count; i++)
        free(v[i].addr);
    free(v);
}

static void mend(uint8_t *p, size_t n)
{
    uint64_t count[3], at = 56, h;
    memcpy(count, p + 24, sizeof count);
    if (count[0] > n / 16 || count[1] > n / 24)
        return;
    at += 16 * count[0] + 24 * count[1];
    if (at + 8 > n)
        return;
    if (count[2] <= n - at - 8) {
        h = sk_hash64(p + at + 8, (size_t)count[2]);
        memcpy(p + 48, &h, 8);
    }
    h = sk_hash64(p, (size_t)at);
    memcpy(p + at, &h, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_delta d;
    struct saikai_error err;
    if (!sk_delta_open(data, n, &d, &err))
        use(&d);
    if (n < 64)
        return 0;
    uint8_t *p = malloc(n);
    if (!p)
        return 0;
    memcpy(p, data, n);
    memcpy(p, "SKDL\1\0\0\0", 8);
    mend(p, n);
    if (!sk_delta_open(p, n, &d, &err))
        use(&d);
    free(p);
    return 0;
}

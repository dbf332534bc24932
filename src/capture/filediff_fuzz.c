/* Fuzz target: differences of any bytes against a fixed old file. The checksums are made right
 * first, so that what lies behind them is reached too. The corpus is written by filediff_test with
 * SAIKAI_WRITE_CORPUS=DIR. */
#include "base/hash.h"
#include "capture/filediff_format.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MOST_BYTES ((uint64_t)1 << 20)

struct made {
    uint64_t n, limit;
};

static int count(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    struct made *m = arg;
    m->n += n;
    if (m->n > m->limit)
        abort(); /* more than the head says */
    return m->n > MOST_BYTES ? sk_fail(err, SAIKAI_ENOSPC, "enough") : 0;
}

/* The old file of the corpus: 5000 bytes that a test can make again. */
static void make_old(uint8_t *p, size_t n)
{
    uint64_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        p[i] = (uint8_t)(x >> 56);
    }
}

static void decode(const uint8_t *data, size_t n)
{
    static uint8_t old[5000];
    if (!old[0])
        make_old(old, sizeof old);
    struct sk_bytes a = {old, sizeof old}, b = {data, n};
    struct sk_source from = sk_source_memory(&a), by = sk_source_memory(&b);
    struct made m = {0, n >= 32 ? sk_fd_get64(data + 24) : 0};
    struct saikai_error err;
    sk_filediff_decode(&from, &by, count, &m, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    decode(data, n);
    if (n < 48)
        return 0;
    uint8_t *p = malloc(n), old[5000];
    if (!p)
        return 0;
    make_old(old, sizeof old);
    memcpy(p, data, n);
    memcpy(p, "SKFD\1\0\0\0", 8);
    sk_fd_put64(p + 8, sizeof old);
    sk_fd_put64(p + 16, sk_hash64(old, sizeof old));
    sk_fd_put64(p + n - 8, sk_hash64(p, n - 8));
    decode(p, n);
    free(p);
    return 0;
}

/* Copies from hostile bytes. A first byte that is odd: u16 bytes that are known and the rest, which comes back as it was. Else u16 bytes that are to come out, u16
 * bytes that are known, and what is told: it may be damaged, and nothing outside of what is to come out is touched. */
#include "codec/copies/copies.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* So that a byte behind it is none of the process's. */
static uint8_t *copy(const uint8_t *from, size_t n)
{
    uint8_t *to = malloc(n ? n : 1);
    if (to && n)
        memcpy(to, from, n);
    return to;
}

static void there_and_back(const uint8_t *known, size_t n_known, const uint8_t *in, size_t n)
{
    struct sk_buf told = {0};
    uint8_t *out = malloc(n + 1);
    if (out && !sk_copies_put(known, n_known, in, n, NULL, n & 1, &told, NULL) && (sk_copies_get(known, n_known, told.data, told.len, out, n, NULL) || (n && memcmp(in, out, n))))
        abort();
    sk_buf_free(&told);
    free(out);
}

static void back(const uint8_t *known, size_t n_known, const uint8_t *told, size_t n_told, size_t n)
{
    uint8_t *out = malloc(n ? n : 1);
    int rc = out ? sk_copies_get(known, n_known, told, n_told, out, n, NULL) : 0;
    if (rc && rc != SAIKAI_EDAMAGED)
        abort();
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_rd in = sk_rd_init(data, n);
    unsigned how = sk_rd_u8(&in);
    size_t room = how & 1 ? 0 : sk_rd_u16(&in), some = sk_rd_u16(&in);
    const uint8_t *p = some <= sk_rd_left(&in) ? sk_rd_bytes(&in, some) : NULL;
    uint8_t *known = p ? copy(p, some) : NULL, *rest = known ? copy(in.p, sk_rd_left(&in)) : NULL;
    if (rest && how & 1)
        there_and_back(known, some, rest, sk_rd_left(&in));
    else if (rest)
        back(known, some, rest, sk_rd_left(&in), room);
    free(known);
    free(rest);
    return 0;
}

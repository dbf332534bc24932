/* Rows from hostile bytes, wide ones where the first byte's second bit is set. After one that is odd: they are rows, which come back as they were. Else: u16 bytes of rows, u16 of the
 * bytes for a general compressor, these, and the numbers: they may be damaged, and nothing outside the rows is touched. */
#include "codec/rows/rows.h"

#include "codec/residual/residual.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint8_t *copy(const uint8_t *from, size_t n)
{
    uint8_t *to = calloc(1, n + SK_BITS_SLACK);
    if (to && n)
        memcpy(to, from, n);
    return to;
}

static void there_and_back(struct sk_rows *t, const uint8_t *data, size_t n)
{
    struct sk_buf bytes = {0}, numbers = {0};
    uint8_t *in = copy(data, n), *out = malloc(n + 1);
    if (in && out && !sk_rows_put(t, in, n, &bytes, &numbers, NULL)) {
        uint8_t *coded = copy(numbers.data, numbers.len);
        struct sk_rd rd = sk_rd_init(coded, coded ? numbers.len : 0);
        if (bytes.len > n)
            abort();
        if (coded && (sk_rows_get(t, bytes.data, bytes.len, &rd, out, n, NULL) || sk_rd_left(&rd) || memcmp(in, out, n)))
            abort();
        free(coded);
    }
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    free(in);
    free(out);
}

static void back(struct sk_rows *t, const uint8_t *data, size_t n)
{
    struct saikai_error err = {0};
    struct sk_rd in = sk_rd_init(data, n);
    size_t room = sk_rd_u16(&in), some = sk_rd_u16(&in);
    const uint8_t *bytes = some <= sk_rd_left(&in) ? sk_rd_bytes(&in, some) : NULL;
    uint8_t *mine = bytes ? copy(bytes, some) : NULL, *coded = copy(in.p, sk_rd_left(&in)), *out = calloc(1, room + 1);
    if (mine && coded && out) {
        struct sk_rd rd = sk_rd_init(coded, sk_rd_left(&in));
        int rc = sk_rows_get(t, mine, some, &rd, out, room, &err);
        if (rc && rc != SAIKAI_EDAMAGED)
            abort();
    }
    free(mine);
    free(coded);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct sk_rows *t;
    if (!t)
        t = sk_rows_new();
    if (t && n) {
        sk_rows_begin(t);
        sk_rows_wide(t, data[0] >> 1 & 1);
    }
    if (t && n && data[0] & 1)
        there_and_back(t, data + 1, n - 1);
    else if (t && n)
        back(t, data + 1, n - 1);
    return 0;
}

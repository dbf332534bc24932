/* Rows from hostile bytes, wide ones where the first byte's second bit is set, and such that come after others where its third bit is:
 * then u16 bytes of these, u16 of where in them the rows are thought to begin, and they are next. After a first byte that is odd: they are
 * rows, which come back as they were. Else: u16 bytes of rows, u16 of the bytes for a general compressor, these, and the numbers: they may
 * be damaged, and nothing outside the rows is touched. */
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

/* What it comes after, without a byte behind it that could be read; NULL: it stands alone. */
static uint8_t *begin_after(struct sk_rows *t, struct sk_rd *in)
{
    size_t some = sk_rd_u16(in), at = sk_rd_u16(in);
    const uint8_t *p = some <= sk_rd_left(in) ? sk_rd_bytes(in, some) : NULL;
    uint8_t *past = p && some ? malloc(some) : NULL;
    if (!past)
        return NULL;
    memcpy(past, p, some);
    sk_rows_after(t, past, some, at);
    return past;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct sk_rows *t;
    struct sk_rd in = sk_rd_init(data, n);
    unsigned how = sk_rd_u8(&in);
    if (!t)
        t = sk_rows_new();
    if (!t || !n)
        return 0;
    sk_rows_begin(t);
    sk_rows_wide(t, how >> 1 & 1);
    sk_rows_alone(t);
    uint8_t *past = how & 4 ? begin_after(t, &in) : NULL;
    if (how & 1)
        there_and_back(t, in.p, sk_rd_left(&in));
    else
        back(t, in.p, sk_rd_left(&in));
    sk_rows_alone(t);
    free(past);
    return 0;
}

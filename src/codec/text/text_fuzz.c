/* Text from hostile bytes, with labels where the first byte's second bit is set, and such that comes after another where its third bit
 * is: then u16 bytes of that, u16 of where in it the text is thought to begin, and it is next. After a first byte that is odd: they are
 * text, which comes back as it was. Else: u16 bytes of text, u16 bytes of layout, the layout, and the numbers: they may be damaged, and
 * nothing outside the text is touched. */
#include "codec/text/text.h"

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

static void there_and_back(struct sk_text *t, const uint8_t *data, size_t n)
{
    struct sk_packer packer = {0};
    struct sk_text_packing how = {&packer, SK_BACKEND_ZSTD, 1};
    struct sk_buf layout = {0}, numbers = {0};
    uint8_t *in = copy(data, n), *out = malloc(n + 1);
    if (in && out && !sk_text_put(t, &how, in, n, &layout, &numbers, NULL)) {
        uint8_t *coded = copy(numbers.data, numbers.len);
        struct sk_rd rd = sk_rd_init(coded, coded ? numbers.len : 0);
        if (layout.len > sk_text_layout_most(n))
            abort();
        if (coded && (sk_text_get(t, &packer, layout.data, layout.len, &rd, out, n, NULL) || sk_rd_left(&rd) || memcmp(in, out, n)))
            abort();
        free(coded);
    }
    sk_buf_free(&layout);
    sk_buf_free(&numbers);
    sk_packer_free(&packer);
    free(in);
    free(out);
}

static void back(struct sk_text *t, const uint8_t *data, size_t n)
{
    struct sk_packer packer = {0};
    struct saikai_error err = {0};
    struct sk_rd in = sk_rd_init(data, n);
    size_t bytes = sk_rd_u16(&in), some = sk_rd_u16(&in);
    const uint8_t *layout = some <= sk_rd_left(&in) ? sk_rd_bytes(&in, some) : NULL;
    uint8_t *mine = layout ? copy(layout, some) : NULL, *coded = copy(in.p, sk_rd_left(&in)), *out = malloc(bytes + 1);
    if (mine && coded && out) {
        struct sk_rd rd = sk_rd_init(coded, sk_rd_left(&in));
        int rc = sk_text_get(t, &packer, mine, some, &rd, out, bytes, &err);
        if (rc && rc != SAIKAI_EDAMAGED && rc != SAIKAI_ENOMEM)
            abort();
    }
    sk_packer_free(&packer);
    free(mine);
    free(coded);
    free(out);
}

/* What it comes after, without a byte behind it that could be read; NULL: it stands alone. */
static uint8_t *begin_after(struct sk_text *t, struct sk_rd *in)
{
    size_t some = sk_rd_u16(in), at = sk_rd_u16(in);
    const uint8_t *p = some <= sk_rd_left(in) ? sk_rd_bytes(in, some) : NULL;
    uint8_t *past = p && some ? malloc(some) : NULL;
    if (!past)
        return NULL;
    memcpy(past, p, some);
    sk_text_after(t, past, some, at);
    return past;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct sk_text *t;
    struct sk_rd in = sk_rd_init(data, n);
    unsigned how = sk_rd_u8(&in);
    if (!t)
        t = sk_text_new();
    if (!t || !n)
        return 0;
    sk_text_labelled(t, how >> 1 & 1);
    sk_text_alone(t);
    uint8_t *past = how & 4 ? begin_after(t, &in) : NULL;
    if (how & 1)
        there_and_back(t, in.p, sk_rd_left(&in));
    else
        back(t, in.p, sk_rd_left(&in));
    sk_text_alone(t);
    free(past);
    return 0;
}

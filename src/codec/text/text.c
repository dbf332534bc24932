/* Text piece by piece. */
#include "codec/text/text.h"

#include "codec/text/columns.h"
#include "codec/text/layout.h"

#include <stdlib.h>

struct sk_text *sk_text_new(void)
{
    struct sk_text *t = malloc(sizeof *t);
    _Static_assert(sizeof *t <= SK_TEXT_MEMORY, "a thread's memory");
    if (t) {
        t->labelled = 0;
        t->past = NULL;
        sk_text_alone(t);
    }
    return t;
}

void sk_text_labelled(struct sk_text *t, int labelled)
{
    t->labelled = labelled;
}

void sk_text_alone(struct sk_text *t)
{
    t->after = 0;
    t->before = NULL;
    t->before_bytes = t->next = 0;
    memset(t->past_of, 0, sizeof t->past_of);
}

void sk_text_after(struct sk_text *t, const uint8_t *before, size_t n, size_t at)
{
    t->after = 1;
    t->before = before;
    t->before_bytes = n;
    t->next = at;
}

void sk_text_free(struct sk_text *t)
{
    if (!t)
        return;
    sk_text_free(t->past);
    free(t);
}

static int past_piece(struct sk_text *t, size_t from, size_t some, size_t *used)
{
    if (!t->past && some && !(t->past = sk_text_new()))
        return SAIKAI_ENOMEM;
    return sk_piece_past(t, from, some, used);
}

/* What a piece of `used` bytes comes after: a little more of the text before, which may have become shorter; of short pieces a quarter or so. */
static int put_past(struct sk_text *t, size_t used, struct sk_buf *numbers)
{
    enum { MORE = 16 << 10 };
    size_t left = t->next < t->before_bytes ? t->before_bytes - t->next : 0, some = used + used / 8 + (used / 4 < MORE ? used / 4 : MORE), past;
    some = some < left ? some : left;
    sk_buf_put_u32(numbers, some ? (uint32_t)t->next : 0);
    sk_buf_put_u32(numbers, (uint32_t)some);
    int rc = past_piece(t, t->next, some, &past);
    /* as many numbers on */
    if (!rc && some)
        t->next += t->past->count > t->count ? (size_t)((double)past * t->count / t->past->count) : past;
    return rc;
}

int sk_text_put(struct sk_text *t, const struct sk_text_packing *how, const uint8_t *in, size_t n, struct sk_buf *layout,
                struct sk_buf *numbers, struct saikai_error *err)
{
    int rc = 0;
    for (size_t used = 0; n && !rc; in += used, n -= used) {
        size_t before = layout->len, head = numbers->len;
        rc = sk_piece_take_apart(t, in, n, &used, layout);
        sk_buf_put_u32(numbers, (uint32_t)used);
        sk_buf_put_u32(numbers, (uint32_t)(layout->len - before));
        if (!rc && t->after)
            rc = put_past(t, used, numbers);
        if (!rc && sk_buf_ok(numbers) && numbers->len > head)
            rc = sk_columns_put(t, how, numbers);
        if (!sk_buf_ok(numbers) || !sk_buf_ok(layout))
            rc = SAIKAI_ENOMEM;
    }
    return rc ? sk_fail(err, rc, "no memory to encode %zu bytes of text", n) : 0;
}

static int get_past(struct sk_text *t, struct sk_rd *numbers)
{
    uint64_t from = sk_rd_u32(numbers), some = sk_rd_u32(numbers);
    size_t past;
    if (numbers->bad || (some && (from > t->before_bytes || some > t->before_bytes - from)))
        return SAIKAI_EDAMAGED;
    return past_piece(t, (size_t)from, (size_t)some, &past);
}

int sk_text_get(struct sk_text *t, struct sk_packer *packer, const uint8_t *layout, size_t layout_bytes, struct sk_rd *numbers,
                uint8_t *out, size_t n, struct saikai_error *err)
{
    int rc = 0;
    while (n && !rc) {
        uint32_t bytes = sk_rd_u32(numbers), some = sk_rd_u32(numbers);
        if (numbers->bad || !bytes || bytes > n || bytes > PIECE_BYTES || some > layout_bytes || sk_piece_scan(t, layout, some))
            rc = SAIKAI_EDAMAGED;
        if (!rc && t->after)
            rc = get_past(t, numbers);
        if (!rc)
            rc = sk_columns_get(t, packer, numbers, err);
        if (!rc && sk_piece_put_together(t, layout, some, out, bytes))
            rc = SAIKAI_EDAMAGED;
        layout += some;
        layout_bytes -= rc ? 0 : some;
        out += bytes;
        n -= rc ? 0 : bytes;
    }
    if (!rc && layout_bytes)
        rc = SAIKAI_EDAMAGED;
    return rc ? sk_fail(err, rc, rc == SAIKAI_ENOMEM ? "no memory to decode text" : "a part of text is damaged") : 0;
}

int sk_text_likely(const uint8_t *in, size_t n)
{
    size_t digits = 0, runs = 0, control = 0;
    int was = 0;
    for (size_t i = 0; i < n; i++) {
        int is = (uint8_t)(in[i] - '0') < 10;
        digits += (size_t)is;
        runs += is && !was;
        was = is;
        control += in[i] < 32 && in[i] != '\n' && in[i] != '\r' && in[i] != '\t';
    }
    if (control > n / 64)
        return 0;
    /* a sixth of base64 is digits, one by one */
    return digits >= n / 5 || (digits >= n / 10 && digits >= runs + runs / 2 && sk_text_has_labels(in, n));
}

int sk_text_has_labels(const uint8_t *in, size_t n)
{
    enum { LOOKED_AT = 32 << 10, WORD = 2 };
    size_t lines = 0, labelled = 0, letters = 0;
    int digits = 0;
    for (size_t i = 0; i < n && i < LOOKED_AT; i++) {
        if (in[i] == '\n') {
            letters = 0;
            digits = 0;
        } else if ((uint8_t)(in[i] - '0') < 10) {
            lines += !digits;
            labelled += !digits && letters >= WORD;
            digits = 1;
        } else {
            letters += (uint8_t)((in[i] | 32) - 'a') < 26;
        }
    }
    return labelled > lines / 4;
}

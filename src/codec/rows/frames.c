/* Codes the numbers of steps, each by the guess that was the best of late, and puts them together again. */
#include "codec/rows/frames.h"

#include "codec/rows/clones.h"
#include "codec/rows/frame_guess.h"
#include "codec/text/coded.h"

#include <stdlib.h>

enum { PIECE = 64 << 10 }; /* numbers that share tables */

struct sk_frames {
    struct frame_state state;
    struct sk_frames_layout layout, known; /* known: found elsewhere */
    size_t count; /* numbers of the piece so far */
    /* of a piece that is written */
    struct sk_open_out open;
    size_t head;
    uint8_t symbol[PIECE], context[PIECE];
    /* of one that is read */
    struct sk_open_in closed;
    uint64_t open_bits;
    size_t left; /* numbers behind those of the pieces that were begun */
    struct sk_coded coded;
    uint32_t table[SK_MIX_GROUPS][SK_MIX_ONE];
};

struct sk_frames *sk_frames_new(void)
{
    _Static_assert(sizeof(struct sk_frames) <= SK_FRAMES_MEMORY, "a thread's memory");
    return calloc(1, sizeof(struct sk_frames));
}

void sk_frames_free(struct sk_frames *t)
{
    free(t);
}

static void begin(struct sk_frames *t)
{
    t->state = frame_begin();
    t->count = 0;
}

/* The context of a number: how far off those before it were. */
static inline uint8_t context_of(unsigned level)
{
    return (uint8_t)(level / 2 < SK_CODED_CONTEXTS ? level / 2 : SK_CODED_CONTEXTS - 1);
}

/* ---- writing ---- */

static int begin_piece(struct sk_frames *t, struct sk_buf *out)
{
    t->head = out->len;
    sk_buf_put_u32(out, 0);
    t->open = (struct sk_open_out){.p = sk_buf_extend(out, 8 * (size_t)PIECE + SK_BITS_SLACK)};
    return t->open.p ? 0 : SAIKAI_ENOMEM;
}

static int end_piece(struct sk_frames *t, struct sk_buf *out)
{
    out->len = (size_t)(sk_open_end(&t->open) - out->data);
    for (size_t k = 0, n = out->len - t->head - 4; k < 4; k++)
        out->data[t->head + k] = (uint8_t)(n >> 8 * k);
    int rc = sk_coded_put(t->symbol, t->context, t->count, out);
    t->count = 0;
    return rc;
}

/* Numbers up to the end of the step, or of the piece. Returns where the next one is. */
static inline __attribute__((always_inline)) size_t put_numbers_of(struct sk_frames *t, const uint8_t *in, size_t at, size_t end, int kind, int checked)
{
    const struct sk_frames_layout l = t->layout; /* which what is written might be part of, and so with all of these */
    size_t width = (size_t)column_bytes(kind), k = t->count;
    struct frame_state s = t->state;
    struct sk_open_out open = t->open;
    uint64_t guess[FRAME_GUESSES];
    for (; at + width <= end && k < PIECE; at += width, k++) {
        frame_guesses(in, at, &l, kind, checked, guess);
        uint64_t v = load_number(in + at, kind), z = sk_fold((int64_t)(v - guess[frame_best(&s)]));
        t->context[k] = context_of(s.level);
        t->symbol[k] = sk_residual_put(&open, z);
        s.level = (s.level + 2 * (unsigned)t->symbol[k]) / 2;
        frame_learn(&s, guess, v);
    }
    t->state = s;
    t->open = open;
    t->count = k;
    return at;
}

#define PUT_AS(kind)                                                          \
    case kind:                                                                \
        return checked ? put_numbers_of(t, in, at, end, kind, 1) : put_numbers_of(t, in, at, end, kind, 0)

WIDE static size_t put_numbers(struct sk_frames *t, const uint8_t *in, size_t at, size_t end)
{
    int checked = at < frame_looks_back(&t->layout);
    switch (t->layout.kind) {
        PUT_AS(FLOAT4);
        PUT_AS(FLOAT8);
        PUT_AS(FLOAT4_BIG);
    default:
        return checked ? put_numbers_of(t, in, at, end, FLOAT8_BIG, 1) : put_numbers_of(t, in, at, end, FLOAT8_BIG, 0);
    }
}

static int put_step(struct sk_frames *t, const uint8_t *in, size_t at, size_t end, struct sk_buf *out)
{
    size_t width = (size_t)column_bytes(t->layout.kind);
    int rc = 0;
    while (at + width <= end && !rc) {
        if (!t->count && (rc = begin_piece(t, out)))
            break;
        at = put_numbers(t, in, at, end);
        if (t->count == PIECE)
            rc = end_piece(t, out);
    }
    return rc;
}

/* Where the step ends that begins at `at`, and where the numbers in it do. */
static size_t end_of(const struct sk_frames_layout *l, size_t at, size_t n)
{
    return n - at < l->distance ? n : at + l->distance;
}

static size_t numbers_end(const struct sk_frames_layout *l, size_t at, size_t end)
{
    size_t width = (size_t)column_bytes(l->kind);
    return at + (end - at) / width * width;
}

static void put_layout(const struct sk_frames_layout *l, struct sk_buf *numbers)
{
    sk_buf_put_u32(numbers, l->distance);
    if (!l->distance)
        return;
    sk_buf_put_u32(numbers, l->first);
    sk_buf_put_u8(numbers, l->kind);
    sk_buf_put_u8(numbers, l->stride);
}

void sk_frames_known(struct sk_frames *t, const struct sk_frames_layout *l)
{
    t->known = l ? *l : (struct sk_frames_layout){.distance = 0};
}

/* To look for steps takes longer than to see that they are those that are known. */
static int find_layout(const struct sk_frames *t, const uint8_t *in, size_t n, struct sk_frames_layout *l)
{
    *l = t->known;
    return sk_frames_fit(in, n, l) || sk_frames_find(in, n, l);
}

int sk_frames_put(struct sk_frames *t, const uint8_t *in, size_t n, struct sk_buf *bytes, struct sk_buf *numbers, struct saikai_error *err)
{
    struct sk_frames_layout *l = &t->layout;
    int rc = 0;
    begin(t);
    if (!find_layout(t, in, n, l))
        *l = (struct sk_frames_layout){.first = (uint32_t)(n < UINT32_MAX ? n : UINT32_MAX)};
    put_layout(l, numbers);
    if (!l->distance) {
        sk_buf_put(bytes, in, n);
        n = 0;
    } else {
        sk_buf_put(bytes, in, l->first);
    }
    for (size_t at = l->first, end; at < n && !rc; at = end) {
        end = end_of(l, at, n);
        size_t rest = numbers_end(l, at, end);
        rc = put_step(t, in, at, end, numbers);
        sk_buf_put(bytes, in + rest, end - rest);
    }
    if (!rc && t->count)
        rc = end_piece(t, numbers);
    return rc || !sk_buf_ok(bytes) || !sk_buf_ok(numbers) ? sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu bytes of steps", n) : 0;
}

/* ---- reading ---- */

static int get_layout(struct sk_rd *in, size_t n, struct sk_frames_layout *l)
{
    *l = (struct sk_frames_layout){.distance = sk_rd_u32(in)};
    if (!l->distance)
        return in->bad ? -1 : 0;
    l->first = sk_rd_u32(in);
    l->kind = sk_rd_u8(in);
    l->stride = sk_rd_u8(in);
    return in->bad || !is_number(l->kind) || l->kind > FLOAT8_BIG || l->distance < (uint32_t)column_bytes(l->kind) || l->distance > n || l->first > n || !l->stride ? -1 : 0;
}

static int open_piece(struct sk_frames *t, struct sk_rd *in)
{
    uint32_t n = sk_rd_u32(in);
    const uint8_t *p = n <= sk_rd_left(in) ? sk_rd_bytes(in, n) : NULL;
    if ((!p && n) || in->bad || sk_coded_start(&t->coded, t->table, in))
        return -1;
    t->closed = (struct sk_open_in){p, 0};
    t->open_bits = 8 * (uint64_t)n;
    t->count = t->left < PIECE ? t->left : PIECE;
    t->left -= t->count;
    return 0;
}

static inline __attribute__((always_inline)) int get_step_of(struct sk_frames *t, uint8_t *out, size_t at, size_t end, int kind, int checked, struct sk_rd *in)
{
    size_t width = (size_t)column_bytes(kind);
    uint64_t guess[FRAME_GUESSES];
    for (; at + width <= end; at += width) {
        if (!t->count && open_piece(t, in))
            return -1;
        int s = sk_coded_get(&t->coded, context_of(t->state.level));
        if (s < 0 || s > 64)
            return -1;
        uint64_t z = sk_residual_get(&t->closed, (uint8_t)s);
        if (t->closed.at > t->open_bits)
            return -1;
        t->state.level = (t->state.level + 2 * (unsigned)s) / 2;
        frame_guesses(out, at, &t->layout, kind, checked, guess);
        store_number(out + at, kind, guess[frame_best(&t->state)] + (uint64_t)sk_unfold(z));
        frame_learn(&t->state, guess, load_number(out + at, kind));
        if (!--t->count && sk_coded_end(&t->coded))
            return -1;
    }
    return 0;
}

#define GET_AS(kind)                                                              \
    case kind:                                                                    \
        return checked ? get_step_of(t, out, at, end, kind, 1, in) : get_step_of(t, out, at, end, kind, 0, in)

WIDE static int get_step(struct sk_frames *t, uint8_t *out, size_t at, size_t end, struct sk_rd *in)
{
    int checked = at < frame_looks_back(&t->layout);
    switch (t->layout.kind) {
        GET_AS(FLOAT4);
        GET_AS(FLOAT8);
        GET_AS(FLOAT4_BIG);
    default:
        return checked ? get_step_of(t, out, at, end, FLOAT8_BIG, 1, in) : get_step_of(t, out, at, end, FLOAT8_BIG, 0, in);
    }
}

/* So many bytes that are in no number. */
static int take(const uint8_t **bytes, size_t *left, uint8_t *to, size_t n)
{
    if (n > *left)
        return -1;
    if (n)
        memcpy(to, *bytes, n);
    *bytes += n;
    *left -= n;
    return 0;
}

int sk_frames_get(struct sk_frames *t, const uint8_t *bytes, size_t n_bytes, struct sk_rd *numbers, uint8_t *out, size_t n, struct saikai_error *err)
{
    struct sk_frames_layout *l = &t->layout;
    begin(t);
    int bad = get_layout(numbers, n, l);
    if (!bad && !l->distance)
        l->first = 0, bad = take(&bytes, &n_bytes, out, n);
    else if (!bad)
        bad = take(&bytes, &n_bytes, out, l->first);
    if (!bad && l->distance) {
        size_t width = (size_t)column_bytes(l->kind), steps = n - l->first;
        t->left = steps / l->distance * (l->distance / width) + steps % l->distance / width;
        for (size_t at = l->first, end; at < n && !bad; at = end) {
            end = end_of(l, at, n);
            size_t rest = numbers_end(l, at, end);
            bad = get_step(t, out, at, end, numbers) || take(&bytes, &n_bytes, out + rest, end - rest);
        }
    }
    return bad || n_bytes ? sk_fail(err, SAIKAI_EDAMAGED, "a part of steps is damaged") : 0;
}

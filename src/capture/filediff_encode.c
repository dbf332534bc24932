/* Finds what of the new file is in the old one, and writes the operations. filediff.h says how
 * matches are found. */
#include "capture/filediff_format.h"

#include <stdlib.h>
#include <string.h>

#define MULTIPLIER   0x9e3779b97f4a7c15u /* odd: invertible modulo 2^64 */
#define LEAST_SAME   16 /* bytes that must agree where the last match would go on */
#define MOST_LITERAL ((size_t)1 << 20)
#define VIEW_BYTES   ((size_t)64 << 10)
#define NEW_BYTES    ((size_t)4 << 20) /* of the new file in memory: literals, and what lies ahead */

/* A window of the old file. */
struct view {
    uint8_t *data;
    uint64_t at;
    size_t n;
};

struct entry {
    uint32_t block, tag; /* block number + 1, 0: empty */
};

struct encoder {
    const struct sk_source *old, *fresh;
    struct sk_filediff_stats stats;
    /* index of the old file */
    size_t block;
    struct entry *table;
    int table_bits;
    uint64_t *
        filter; /* eight bits per entry: says without a cache miss that most blocks are not known */
    uint64_t top; /* MULTIPLIER^(block - 1) */
    struct view along, found;
    /* the new file: buf holds [base, base + n) */
    uint8_t *buf;
    uint64_t base;
    size_t n;
    uint64_t literal;                /* first byte that is not yet written */
    uint64_t last_end, last_new_end; /* of the last copy: in the old file, in the new one */
    /* output */
    struct sk_hasher *new_hash, *diff_hash;
    sk_put_fn *put;
    void *arg;
    struct saikai_error *err;
};

static int emit(struct encoder *e, const void *data, size_t n)
{
    sk_hasher_add(e->diff_hash, data, n);
    e->stats.diff_bytes += n;
    return e->put(e->arg, data, n, e->err);
}

static int emit_number(struct encoder *e, uint64_t v)
{
    uint8_t b[10];
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        b[n++] = (uint8_t)(v | 128);
    b[n++] = (uint8_t)v;
    return emit(e, b, n);
}

/* Write [e->literal, to) as bytes to insert. */
static int emit_literals(struct encoder *e, uint64_t to)
{
    size_t n = (size_t)(to - e->literal);
    if (!n)
        return 0;
    int rc = emit_number(e, 2 * (uint64_t)n);
    if (!rc)
        rc = emit(e, e->buf + (e->literal - e->base), n);
    e->literal = to;
    return rc;
}

static int emit_copy(struct encoder *e, uint64_t from, uint64_t n)
{
    int64_t d = (int64_t)(from - e->last_end);
    int rc = emit_number(e, 2 * n + 1);
    if (!rc)
        rc = emit_number(e, d < 0 ? 2 * (uint64_t)-d - 1 : 2 * (uint64_t)d);
    e->last_end = from + n;
    e->stats.copied_bytes += n;
    e->stats.copies++;
    return rc;
}

/* ---- the old file ---- */

/* Bytes of the old file from `at` on that are in memory, at most `want`; loads a window when they
 * are not. `back` bytes before `at` come along when the window is loaded. NULL: reading failed. */
static const uint8_t *look(struct encoder *e, struct view *v, uint64_t at, size_t back, size_t want,
                           size_t *got, int *rc)
{
    uint64_t size = e->old->size_bytes;
    if (want > size - at)
        want = (size_t)(size - at);
    if (at < v->at || at + want > v->at + v->n) {
        v->at = at > back ? at - back : 0;
        v->n = size - v->at < VIEW_BYTES ? (size_t)(size - v->at) : VIEW_BYTES;
        *rc = e->old->read(e->old->arg, v->at, v->data, v->n, e->err);
        if (*rc) {
            v->n = 0;
            return NULL;
        }
    }
    *got = (size_t)(v->at + v->n - at);
    return v->data + (at - v->at);
}

static uint64_t hash_block(const uint8_t *p, size_t n)
{
    uint64_t h = 0;
    for (size_t i = 0; i < n; i++)
        h = h * MULTIPLIER + p[i] + 1;
    return h;
}

static uint64_t mixed(uint64_t h)
{
    h ^= h >> 32;
    return h * 0xd6e8feb86659fd93u;
}

static uint64_t *filter_word(const struct encoder *e, uint64_t m, uint64_t *bit)
{
    uint64_t k = (m * MULTIPLIER) >> (64 - e->table_bits - 3);
    *bit = (uint64_t)1 << (k & 63);
    return &e->filter[k >> 6];
}

static int may_be_known(const struct encoder *e, uint64_t m)
{
    uint64_t bit;
    return (*filter_word(e, m, &bit) & bit) != 0;
}

static struct entry *slot_of(const struct encoder *e, uint64_t m, uint32_t *tag)
{
    *tag = (uint32_t)m;
    return &e->table[m >> (64 - e->table_bits)];
}

static int set_up_index(struct encoder *e, const struct sk_filediff_options *opt)
{
    size_t block = opt && opt->block_bytes ? opt->block_bytes : 32;
    size_t most = opt && opt->index_bytes ? opt->index_bytes : (size_t)16 << 20;
    if (block < 16 || block > 65536 || block & (block - 1) || most < 65536)
        return sk_fail(
            e->err, SAIKAI_EINVAL,
            "blocks are a power of two from 16 to 65536 bytes, an index has 64 KiB or more");
    int bits = 12;
    while (((size_t)2 << bits) * sizeof(struct entry) <= most &&
           ((uint64_t)1 << bits) < 2 * (e->old->size_bytes / block + 1))
        bits++;
    /* at most half full */
    while (e->old->size_bytes / block > ((uint64_t)1 << bits) / 2)
        block *= 2;
    if (block > NEW_BYTES / 4)
        return sk_fail(e->err, SAIKAI_EINVAL, "an index of %zu bytes is too small for this file",
                       most);
    e->block = block;
    e->table_bits = bits;
    e->table = calloc((size_t)1 << bits, sizeof *e->table);
    e->filter = calloc((size_t)1 << (bits + 3 - 6), sizeof *e->filter);
    if (!e->table || !e->filter)
        return sk_fail(e->err, SAIKAI_ENOMEM, "no memory for an index of blocks");
    e->top = 1;
    for (size_t i = 1; i < block; i++)
        e->top *= MULTIPLIER;
    return 0;
}

/* Hash every block of the old file into the table, and all of it for the header. The first of equal
 * blocks stays. */
static int index_old(struct encoder *e, uint64_t *old_hash)
{
    struct sk_hasher *h = sk_hasher_new();
    if (!h)
        return sk_fail(e->err, SAIKAI_ENOMEM, "no memory for a checksum");
    uint64_t size = e->old->size_bytes, block = 0;
    int rc = 0;
    for (uint64_t at = 0; !rc && at < size;) {
        size_t n =
            size - at < NEW_BYTES ? (size_t)(size - at) : NEW_BYTES; /* a multiple of the block */
        rc = e->old->read(e->old->arg, at, e->buf, n, e->err);
        if (rc)
            break;
        sk_hasher_add(h, e->buf, n);
        for (size_t k = 0; k + e->block <= n; k += e->block, block++) {
            uint32_t tag;
            uint64_t bit, m = mixed(hash_block(e->buf + k, e->block));
            struct entry *x = slot_of(e, m, &tag);
            *filter_word(e, m, &bit) |= bit;
            if (!x->block)
                *x = (struct entry){(uint32_t)(block + 1), tag};
        }
        at += n;
    }
    *old_hash = sk_hasher_value(h);
    sk_hasher_free(h);
    return rc;
}

/* ---- the new file ---- */

static uint64_t end_of_buffer(const struct encoder *e)
{
    return e->base + e->n;
}

/* Drop what is written and load what comes. */
static int refill(struct encoder *e)
{
    size_t drop = (size_t)(e->literal - e->base);
    memmove(e->buf, e->buf + drop, e->n - drop);
    e->base += drop;
    e->n -= drop;
    uint64_t left = e->fresh->size_bytes - end_of_buffer(e);
    size_t n = NEW_BYTES - e->n;
    n = left < n ? (size_t)left : n;
    int rc = e->fresh->read(e->fresh->arg, end_of_buffer(e), e->buf + e->n, n, e->err);
    if (rc)
        return rc;
    sk_hasher_add(e->new_hash, e->buf + e->n, n);
    e->n += n;
    return 0;
}

static size_t same_ahead(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            break;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* The new file from `at` and the old one from `from` agree: for how long? Writes the copy (and the
 * literals before it), refilling the buffer as it goes, and moves *at behind it. */
static int take_match(struct encoder *e, struct view *v, uint64_t *at, uint64_t from)
{
    int rc = emit_literals(e, *at);
    uint64_t length = 0;
    while (!rc && from + length < e->old->size_bytes) {
        if (*at == end_of_buffer(e)) {
            e->literal = *at;
            if (end_of_buffer(e) == e->fresh->size_bytes)
                break;
            rc = refill(e);
            if (rc)
                return rc;
        }
        size_t got, here = (size_t)(end_of_buffer(e) - *at);
        const uint8_t *p = look(e, v, from + length, 0, 1, &got, &rc);
        if (!p)
            return rc;
        size_t most = here < got ? here : got;
        size_t same = same_ahead(e->buf + (*at - e->base), p, most);
        length += same;
        *at += same;
        if (same < most)
            break;
    }
    e->literal = e->last_new_end = *at;
    return rc ? rc : emit_copy(e, from, length);
}

/* Where the old file is when it has kept its layout since the last copy. */
static uint64_t same_place(const struct encoder *e, uint64_t at)
{
    return e->last_end + (at - e->last_new_end);
}

static int goes_on(struct encoder *e, uint64_t at, int *rc)
{
    uint64_t from = same_place(e, at);
    size_t got;
    if (from + LEAST_SAME > e->old->size_bytes || at + LEAST_SAME > end_of_buffer(e))
        return 0;
    const uint8_t *p = look(e, &e->along, from, 0, LEAST_SAME, &got, rc);
    return p && !memcmp(p, e->buf + (at - e->base), LEAST_SAME);
}

/* A block of the old file that equals the one at `at`; extended back over the literals. 1 when
 * there is one. */
static int known_block(struct encoder *e, uint64_t h, uint64_t *at, uint64_t *from, int *rc)
{
    uint32_t tag;
    uint64_t m = mixed(h);
    if (!may_be_known(e, m))
        return 0;
    const struct entry *x = slot_of(e, m, &tag);
    if (!x->block || x->tag != tag)
        return 0;
    uint64_t q = (uint64_t)(x->block - 1) * e->block;
    size_t got, back = (size_t)(*at - e->literal);
    back = back < VIEW_BYTES / 4 ? back : VIEW_BYTES / 4;
    size_t want = e->block < VIEW_BYTES / 2 ? e->block : VIEW_BYTES / 2;
    const uint8_t *p = look(e, &e->found, q, back, want, &got, rc);
    if (!p || memcmp(p, e->buf + (*at - e->base), want))
        return 0;
    size_t before = (size_t)(q - e->found.at);
    back = back < before ? back : before;
    const uint8_t *b = e->buf + (*at - e->base);
    size_t k = 0;
    while (k < back && p[-1 - (ptrdiff_t)k] == b[-1 - (ptrdiff_t)k])
        k++;
    *at -= k;
    *from = q - k;
    return 1;
}

/* Pass over at most n positions from p at which nothing can match: the block's hash is not in the
 * filter, and the bytes where the old file would go on (q, NULL: not there) are others. The hash
 * goes along. Returns how many. */
static size_t pass_over(const struct encoder *e, const uint8_t *p, const uint8_t *q, size_t n,
                        uint64_t *h)
{
    uint64_t hash = *h, x, y = 0;
    size_t i = 0;
    for (; i < n; i++) {
        memcpy(&x, p + i, 8);
        if (q)
            memcpy(&y, q + i, 8);
        if ((q && x == y) || may_be_known(e, mixed(hash)))
            break;
        hash = (hash - (p[i] + 1u) * e->top) * MULTIPLIER + p[i + e->block] + 1;
    }
    *h = hash;
    return i;
}

/* As many positions as memory allows; they need a block and eight bytes ahead. */
static void hurry(struct encoder *e, uint64_t *at, uint64_t *h, int *rc)
{
    uint64_t from = same_place(e, *at);
    size_t n = VIEW_BYTES / 8, got, ahead = (size_t)(end_of_buffer(e) - *at);
    const uint8_t *q = NULL;
    if (ahead < e->block + n + 8)
        return;
    if (from + n + 8 <= e->old->size_bytes) {
        q = look(e, &e->along, from, 0, n + 8, &got, rc);
        if (!q)
            return;
    }
    *at += pass_over(e, e->buf + (*at - e->base), q, n, h);
}

/* Have the next block in memory and the literals within bounds. */
static int make_room(struct encoder *e, uint64_t at)
{
    int rc = at - e->literal >= MOST_LITERAL ? emit_literals(e, at) : 0;
    if (!rc && end_of_buffer(e) - at <= e->block && end_of_buffer(e) < e->fresh->size_bytes)
        rc = refill(e);
    return rc;
}

/* Scan from *at to the next match and write it; *at then is behind it, or the end. */
static int next_match(struct encoder *e, uint64_t *at)
{
    int hashed = 0;
    uint64_t h = 0, from;
    while (*at < e->fresh->size_bytes) {
        int rc = make_room(e, *at);
        if (!rc && hashed)
            hurry(e, at, &h, &rc);
        if (rc)
            return rc;
        if (goes_on(e, *at, &rc))
            return take_match(e, &e->along, at, same_place(e, *at));
        const uint8_t *p = e->buf + (*at - e->base);
        size_t ahead = (size_t)(end_of_buffer(e) - *at);
        if (!rc && ahead >= e->block) {
            if (!hashed)
                h = hash_block(p, e->block);
            if (known_block(e, h, at, &from, &rc))
                return take_match(e, &e->found, at, from);
        }
        if (rc)
            return rc;
        hashed = ahead > e->block;
        if (hashed)
            h = (h - (p[0] + 1u) * e->top) * MULTIPLIER + p[e->block] + 1;
        ++*at;
    }
    return 0;
}

static int run(struct encoder *e)
{
    uint8_t head[SK_FD_HEAD_BYTES] = "SKFD", tail[SK_FD_TAIL_BYTES];
    uint64_t old_hash = 0, at = 0;
    int rc = index_old(e, &old_hash);
    head[4] = SK_FD_VERSION;
    sk_fd_put64(head + 8, e->old->size_bytes);
    sk_fd_put64(head + 16, old_hash);
    sk_fd_put64(head + 24, e->fresh->size_bytes);
    if (!rc)
        rc = emit(e, head, sizeof head);
    if (!rc && e->fresh->size_bytes)
        rc = refill(e);
    while (!rc && at < e->fresh->size_bytes)
        rc = next_match(e, &at);
    if (!rc)
        rc = emit_literals(e, at);
    if (rc)
        return rc;
    sk_fd_put64(tail, sk_hasher_value(e->new_hash));
    rc = emit(e, tail, 8);
    sk_fd_put64(tail + 8, sk_hasher_value(e->diff_hash));
    return rc ? rc : emit(e, tail + 8, 8);
}

int sk_filediff_encode(const struct sk_source *old, const struct sk_source *fresh,
                       const struct sk_filediff_options *opt, sk_put_fn *put, void *arg,
                       struct sk_filediff_stats *stats, struct saikai_error *err)
{
    struct encoder e = {.old = old, .fresh = fresh, .put = put, .arg = arg, .err = err};
    e.buf = malloc(NEW_BYTES);
    e.along.data = malloc(VIEW_BYTES);
    e.found.data = malloc(VIEW_BYTES);
    e.new_hash = sk_hasher_new();
    e.diff_hash = sk_hasher_new();
    int rc = 0;
    if (!e.buf || !e.along.data || !e.found.data || !e.new_hash || !e.diff_hash)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to compare files");
    if (!rc)
        rc = set_up_index(&e, opt);
    if (!rc)
        rc = run(&e);
    e.stats.old_bytes = old->size_bytes;
    e.stats.new_bytes = fresh->size_bytes;
    if (!rc && stats)
        *stats = e.stats;
    free(e.buf);
    free(e.along.data);
    free(e.found.data);
    free(e.table);
    free(e.filter);
    sk_hasher_free(e.new_hash);
    sk_hasher_free(e.diff_hash);
    return rc;
}

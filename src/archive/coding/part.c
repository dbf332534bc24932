/* What the forms of a part use: buffers that grow, bytes in this machine's order, and streams
 * through a general compressor. */
#include "archive/coding/part.h"

#include "codec/residual/residual.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void sk_coder_free(struct sk_coder *c)
{
    if (!c)
        return;
    sk_packer_free(&c->packer);
    sk_text_free(c->text);
    c->text = NULL;
    sk_rows_free(c->rows);
    c->rows = NULL;
    sk_frames_free(c->frames);
    c->frames = NULL;
    sk_buf_free(&c->previous_bytes);
    sk_buf_free(&c->symbols);
    sk_buf_free(&c->bits);
    sk_buf_free(&c->P);
    sk_buf_free(&c->scratch);
    sk_buf_free(&c->sums);
    sk_buf_free(&c->packed);
    sk_buf_free(&c->zeros);
    sk_buf_free(&c->contexts);
    sk_buf_free(&c->tables);
}

/* Large buffers in huge pages: a fresh page of 4 KiB costs as much as compressing it does. */
static int grow_huge(struct sk_buf *b, size_t n)
{
    enum { HUGE = 2 << 20 };
    size_t cap = n + n / 8;
    void *p = aligned_alloc(HUGE, (cap + HUGE - 1) / HUGE * HUGE);
    if (!p)
        return -1;
    madvise(p, cap, MADV_HUGEPAGE); /* a wish: refused is fine */
    free(b->data);
    *b = (struct sk_buf){.data = p, .cap = cap};
    return 0;
}

void *sk_coder_room(struct sk_buf *b, size_t n)
{
    enum { LARGE = 4 << 20 };
    b->len = 0;
    if (n + 8 >= LARGE && b->cap < n + 8 && grow_huge(b, n + 8))
        return NULL;
    return sk_buf_extend(b, n + 8);
}

void sk_swap_elements(void *data, size_t n, size_t size)
{
    if (size == 8)
        for (uint64_t *p = data, *end = p + n / 8; p < end; p++)
            *p = __builtin_bswap64(*p);
    else if (size == 4)
        for (uint32_t *p = data, *end = p + n / 4; p < end; p++)
            *p = __builtin_bswap32(*p);
    else if (size == 2)
        for (uint16_t *p = data, *end = p + n / 2; p < end; p++)
            *p = __builtin_bswap16(*p);
}

/* Elements that are swapped as a whole: the halves of a complex number are. */
static size_t swap_size(int type)
{
    size_t n = sk_type_size(type);
    return type == SAIKAI_C64 || type == SAIKAI_C128 ? n / 2 : n;
}

int sk_part_foreign(const struct sk_part *p)
{
    return p->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void sk_part_swap(struct sk_part *p)
{
    sk_swap_elements(p->raw, p->size_bytes, swap_size(p->type));
}

void sk_part_to_native(struct sk_part *p)
{
    if (!p->native && sk_part_foreign(p))
        sk_part_swap(p);
    p->native = 1;
}

int sk_stream_put(struct sk_coder *c, int backend, int level, const void *data, size_t n,
                  struct sk_buf *out, struct saikai_error *err)
{
    size_t head = out->len, stored = 0;
    sk_buf_put_u8(out, 0);
    sk_buf_put_u64(out, 0);
    uint8_t *to = sk_buf_extend(out, sk_pack_bound(n));
    if (!to)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to compress %zu bytes", n);
    int rc = sk_pack(&c->packer, &backend, level, data, n, to, &stored, err);
    if (rc)
        return rc;
    out->len = head + 9 + stored;
    out->data[head] = (uint8_t)backend;
    for (int i = 0; i < 8; i++)
        out->data[head + 1 + i] = (uint8_t)((uint64_t)stored >> 8 * i);
    return 0;
}

int sk_stream_level(struct sk_coder *c, const struct sk_recipe *r, const uint8_t *in, size_t n)
{
    enum { PIECE = 64 << 10, QUICK = 4, USUAL = 9, AFTER = 3 };
    static const double HARDLY = 0.5;
    int backend = SK_BACKEND_ZSTD;
    size_t stored;
    int asks = !r->asked && n > 4 * (size_t)PIECE && r->level > QUICK && r->level <= USUAL && r->backend == SK_BACKEND_ZSTD;
    void *to = asks ? sk_coder_room(&c->packed, sk_pack_bound(PIECE)) : NULL;
    if (!to || sk_pack(&c->packer, &backend, 1, in + (n - PIECE) / 2, PIECE, to, &stored, NULL))
        return r->level;
    return (double)stored > HARDLY * PIECE ? (sk_form_after(r->form) ? AFTER : QUICK) : r->level;
}

int sk_stream_get(struct sk_coder *c, struct sk_rd *in, void *data, size_t n,
                  struct saikai_error *err)
{
    int backend = sk_rd_u8(in);
    uint64_t stored = sk_rd_u64(in);
    const void *p = stored <= sk_rd_left(in) ? sk_rd_bytes(in, stored) : NULL;
    if (!p && stored)
        return sk_fail(err, SAIKAI_EDAMAGED, "a stream is longer than its block");
    return sk_unpack(&c->packer, backend, p, stored, data, n, err);
}

void sk_stream_after(struct sk_coder *c, const void *before, size_t n)
{
    c->packer.before = before;
    c->packer.before_bytes = n;
}

/* A block as one run of bytes, for the fuzz target and the maker of its corpus: number of parts,
 * per part its type, its flags (1 big-endian, 2 fields), its number of boxes and each box (three
 * bytes); then the stored bytes. */
#ifndef SK_ARCHIVE_CODING_BLOCK_CASE_H
#define SK_ARCHIVE_CODING_BLOCK_CASE_H

#include "archive/coding/part.h"
#include "codec/residual/residual.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

enum { CASE_PARTS = 4, CASE_BOXES = 3 };

/* What all parts resemble the second time: two records, the second one cut short. */
static inline const struct sk_part *const *case_previous(void)
{
    static uint8_t bytes[48] = {8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0, 0, 0, 200};
    static const struct sk_ska_segment all = {.box = {1, 1, sizeof bytes}};
    static const struct sk_part part = {
        .type = SAIKAI_U8, .segments = &all, .count = 1, .raw = bytes, .size_bytes = sizeof bytes};
    static const struct sk_part *const each[CASE_PARTS] = {&part, &part, &part, &part};
    return each;
}

struct block_case {
    int count;
    struct sk_part parts[CASE_PARTS];
    struct sk_ska_segment segments[CASE_PARTS][CASE_BOXES];
};

static inline void case_free(struct block_case *b)
{
    for (int i = 0; i < b->count; i++)
        free(b->parts[i].raw);
}

/* Read the geometry and make room; -1: not a case. */
static inline int case_read(struct sk_rd *in, struct block_case *b)
{
    memset(b, 0, sizeof *b);
    int count = sk_rd_u8(in);
    if (count > CASE_PARTS)
        return -1;
    for (int i = 0; i < count; i++) {
        struct sk_part *p = &b->parts[i];
        p->type = sk_rd_u8(in);
        int flags = sk_rd_u8(in), boxes = sk_rd_u8(in);
        p->big_endian = flags & 1;
        p->fields = flags >> 1 & 1;
        if (!sk_type_size(p->type) || boxes < 1 || boxes > CASE_BOXES || in->bad)
            return -1;
        p->segments = b->segments[i];
        p->count = (size_t)boxes;
        for (int k = 0; k < boxes; k++) {
            struct sk_stencil_box *x = &b->segments[i][k].box;
            x->nz = sk_rd_u8(in) % 16 + 1u;
            x->ny = sk_rd_u8(in) % 16 + 1u;
            x->nx = sk_rd_u8(in) + 1u;
            p->size_bytes += sk_box_count(*x) * sk_type_size(p->type);
        }
        p->raw = calloc(1, p->size_bytes);
        if (!p->raw)
            return -1;
        b->count = i + 1;
    }
    return in->bad ? -1 : 0;
}

static inline void case_write(const struct block_case *b, struct sk_buf *out)
{
    sk_buf_put_u8(out, (uint8_t)b->count);
    for (int i = 0; i < b->count; i++) {
        const struct sk_part *p = &b->parts[i];
        sk_buf_put_u8(out, (uint8_t)p->type);
        sk_buf_put_u8(out, (uint8_t)(p->big_endian | p->fields << 1));
        sk_buf_put_u8(out, (uint8_t)p->count);
        for (size_t k = 0; k < p->count; k++) {
            sk_buf_put_u8(out, (uint8_t)(p->segments[k].box.nz - 1));
            sk_buf_put_u8(out, (uint8_t)(p->segments[k].box.ny - 1));
            sk_buf_put_u8(out, (uint8_t)(p->segments[k].box.nx - 1));
        }
    }
}

#endif

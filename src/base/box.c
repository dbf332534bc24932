/* Intersections of boxes, the parts that a set of boxes leaves open, and copying row by row between
 * an array and memory with gaps. */
#include "base/box.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sk_box_meet(const struct sk_box *a, const struct sk_box *b, struct sk_box *out)
{
    struct sk_box r = {.ndims = a->ndims};
    for (int d = 0; d < a->ndims; d++) {
        uint64_t low = a->low[d] > b->low[d] ? a->low[d] : b->low[d];
        uint64_t x = a->low[d] + a->size[d], y = b->low[d] + b->size[d], end = x < y ? x : y;
        if (end <= low)
            return 0;
        r.low[d] = low;
        r.size[d] = end - low;
    }
    *out = r;
    return 1;
}

char *sk_box_text(const struct sk_box *b, char *out, size_t cap)
{
    size_t n = 0;
    if (cap)
        *out = 0;
    for (int d = 0; d < b->ndims && n < cap; d++)
        n += (size_t)snprintf(out + n, cap - n, "%s%llu:%llu", d ? ", " : "[",
                              (unsigned long long)b->low[d],
                              (unsigned long long)(b->low[d] + b->size[d]));
    if (n < cap)
        snprintf(out + n, cap - n, "]");
    return out;
}

/* ---- gaps ---- */

static int is_empty(const struct sk_box *b)
{
    for (int d = 0; d < b->ndims; d++)
        if (!b->size[d])
            return 1;
    return 0;
}

static int covers(const struct sk_box *b, const struct sk_box *inner)
{
    for (int d = 0; d < b->ndims; d++)
        if (b->low[d] > inner->low[d] || b->low[d] + b->size[d] < inner->low[d] + inner->size[d])
            return 0;
    return 1;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where to divide whole: the middle one of the sides that lie inside of it, in the dimension that
 * has most of them. */
static void choose_cut(const struct sk_box *whole, const struct sk_box *const *box, size_t count,
                       uint64_t *sides, int *dimension, uint64_t *at)
{
    size_t most = 0;
    for (int d = 0; d < whole->ndims; d++) {
        uint64_t low = whole->low[d], end = low + whole->size[d];
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t a = box[i]->low[d], b = a + box[i]->size[d];
            if (a > low && a < end)
                sides[n++] = a;
            if (b > low && b < end)
                sides[n++] = b;
        }
        if (n <= most)
            continue;
        most = n;
        qsort(sides, n, sizeof *sides, ascending);
        *dimension = d;
        *at = sides[n / 2];
    }
}

/* box[count] all touch whole. */
static int find_gap(const struct sk_box *whole, const struct sk_box **box, size_t count,
                    struct sk_box *gap)
{
    for (size_t i = 0; i < count; i++)
        if (covers(box[i], whole))
            return 0;
    if (!count) {
        *gap = *whole;
        return 1;
    }
    const struct sk_box **part = malloc(count * sizeof *part);
    uint64_t *sides = malloc(2 * count * sizeof *sides), cut = 0;
    int d = 0, rc = part && sides ? 0 : SAIKAI_ENOMEM;
    if (!rc)
        choose_cut(whole, box, count, sides, &d,
                   &cut); /* a box that touches whole and does not cover it has a side in it */
    for (int half = 0; !rc && half < 2; half++) {
        struct sk_box w = *whole, shared;
        size_t n = 0;
        w.low[d] = half ? cut : whole->low[d];
        w.size[d] = half ? whole->low[d] + whole->size[d] - cut : cut - whole->low[d];
        for (size_t i = 0; i < count; i++)
            if (sk_box_meet(box[i], &w, &shared))
                part[n++] = box[i];
        rc = find_gap(&w, part, n, gap);
    }
    free(sides);
    free(part);
    return rc;
}

int sk_box_gap(const struct sk_box *whole, const struct sk_box *box, size_t count,
               struct sk_box *gap)
{
    struct sk_box shared;
    size_t n = 0;
    if (is_empty(whole))
        return 0;
    const struct sk_box **touching = malloc((count ? count : 1) * sizeof *touching);
    if (!touching)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (sk_box_meet(&box[i], whole, &shared))
            touching[n++] = &box[i];
    int rc = find_gap(whole, touching, n, gap);
    free(touching);
    return rc;
}

/* ---- copying ---- */

void sk_box_map(struct sk_box_map *m, const struct sk_box *box, const uint64_t *dims,
                size_t element_bytes, void *memory, const ptrdiff_t *strides)
{
    uint64_t step[SAIKAI_MAX_DIMS];
    ptrdiff_t stride[SAIKAI_MAX_DIMS], plain = (ptrdiff_t)element_bytes;
    uint64_t width = element_bytes;
    *m = (struct sk_box_map){.element = element_bytes, .memory = memory};
    for (int d = box->ndims - 1; d >= 0; d--) {
        step[d] = width;
        stride[d] = strides ? strides[d] : plain;
        width *= dims[d];
        plain *= (ptrdiff_t)box->size[d];
        m->first += box->low[d] * step[d];
    }
    m->rows = is_empty(box) ? 0 : 1;
    for (int d = 0; d < box->ndims; d++) {
        int k = m->ndims - 1;
        int whole = d && m->step[k] == step[d] * box->size[d] &&
                    m->stride[k] == stride[d] * (ptrdiff_t)box->size[d];
        if (whole || (d && m->size[k] == 1)) {
            m->size[k] *= box->size[d]; /* one step before is all of this one, here and in memory */
        } else {
            k = m->ndims++;
            m->size[k] = box->size[d];
        }
        m->step[k] = step[d];
        m->stride[k] = stride[d];
    }
    for (int d = 0; d < m->ndims - 1; d++)
        m->rows *= m->size[d];
    m->row_bytes = m->size[m->ndims - 1] * element_bytes;
}

int sk_box_is_plain(const struct sk_box_map *m)
{
    return !m->rows || (m->ndims == 1 && m->stride[0] == (ptrdiff_t)m->element);
}

/* Where row k begins in the array and in memory. */
static uint64_t row_at(const struct sk_box_map *m, uint64_t k, uint8_t **memory)
{
    uint64_t at = m->first;
    uint8_t *p = m->memory;
    for (int d = m->ndims - 2; d >= 0; d--) {
        uint64_t i = k % m->size[d];
        k /= m->size[d];
        at += i * m->step[d];
        p += (ptrdiff_t)i * m->stride[d];
    }
    *memory = p;
    return at;
}

/* The first row that ends behind byte `at` of the array; rows lie in the array in order. */
static uint64_t first_row(const struct sk_box_map *m, uint64_t at)
{
    uint64_t low = 0, high = m->rows;
    uint8_t *memory;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (row_at(m, middle, &memory) + m->row_bytes > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int sk_box_wants(const struct sk_box_map *m, uint64_t at, uint64_t n)
{
    uint8_t *memory;
    uint64_t k = first_row(m, at);
    return n && k < m->rows && row_at(m, k, &memory) < at + n;
}

static void copy(uint8_t *memory, uint8_t *data, uint64_t n, int to_memory)
{
    if (to_memory)
        memcpy(memory, data, n);
    else
        memcpy(data, memory, n);
}

/* Bytes [from, from + n) of a row, whose first byte is at memory. */
static void move_row(const struct sk_box_map *m, uint8_t *memory, uint64_t from, uint8_t *data,
                     uint64_t n, int to_memory)
{
    ptrdiff_t stride = m->stride[m->ndims - 1];
    if (stride == (ptrdiff_t)m->element) {
        copy(memory + from, data, n, to_memory);
        return;
    }
    while (n) { /* bytes may begin and end within an element */
        uint64_t i = from / m->element, inside = from % m->element, part = m->element - inside;
        part = part < n ? part : n;
        copy(memory + (ptrdiff_t)i * stride + inside, data, part, to_memory);
        from += part;
        data += part;
        n -= part;
    }
}

static void move(const struct sk_box_map *m, uint64_t at, uint8_t *data, uint64_t n, int to_memory)
{
    for (uint64_t k = first_row(m, at); n && k < m->rows; k++) {
        uint8_t *memory;
        uint64_t row = row_at(m, k, &memory), end = row + m->row_bytes;
        if (row >= at + n)
            break;
        uint64_t low = row > at ? row : at, high = end < at + n ? end : at + n;
        move_row(m, memory, low - row, data + (low - at), high - low, to_memory);
    }
}

void sk_box_put(const struct sk_box_map *m, uint64_t at, const void *data, uint64_t n)
{
    move(m, at, (uint8_t *)data, n, 1); /* only read from */
}

void sk_box_get(const struct sk_box_map *m, uint64_t at, void *data, uint64_t n)
{
    move(m, at, data, n, 0);
}

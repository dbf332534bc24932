/* Writes and checks deltas, tightens ranges to what really differs, and applies chains of deltas to
 * their base or folds them to one. */
#include "capture/delta.h"

#include "base/buf.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES   56u
#define REGION_BYTES 16u
#define RANGE_BYTES  24u
#define VERSION      1
/* Copied and then hashed: small enough to be still in the cache. */
#define PIECE_BYTES ((size_t)256 << 10)

static const char magic[4] = {'S', 'K', 'D', 'L'};

size_t sk_delta_size(size_t region_count, const struct sk_ranges *changed)
{
    size_t table, ranges, payload = 0, all;
    if (__builtin_mul_overflow(region_count, REGION_BYTES, &table) ||
        __builtin_mul_overflow(changed->n, RANGE_BYTES, &ranges))
        return SIZE_MAX;
    for (size_t i = 0; i < changed->n; i++)
        if (__builtin_add_overflow(payload, changed->v[i].size_bytes, &payload))
            return SIZE_MAX;
    if (__builtin_add_overflow(table, ranges, &all) || __builtin_add_overflow(all, payload, &all) ||
        __builtin_add_overflow(all, HEAD_BYTES + 8, &all))
        return SIZE_MAX;
    return all;
}

static void put_u16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static void put_u64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t get_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get_u64(const uint8_t *p)
{
    return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

/* Index of the region of this id, region_count: none. */
static size_t find(const struct sk_memory *v, size_t n, uint32_t id)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && v[lo].id == id ? lo : n;
}

static int check_memory(const struct sk_memory *v, size_t n, struct saikai_error *err)
{
    for (size_t i = 1; i < n; i++)
        if (v[i - 1].id >= v[i].id)
            return sk_fail(err, SAIKAI_EINVAL, "regions are not in the order of their ids");
    return 0;
}

/* Fill the tables; the header's identity and hashes follow when the payload is there. */
static int put_tables(const struct sk_memory *regions, size_t region_count,
                      const struct sk_ranges *changed, uint8_t *p, struct saikai_error *err)
{
    p += HEAD_BYTES;
    for (size_t i = 0; i < region_count; i++, p += REGION_BYTES) {
        put_u32(p, regions[i].id);
        put_u32(p + 4, 0);
        put_u64(p + 8, regions[i].size_bytes);
    }
    for (size_t i = 0; i < changed->n; i++, p += RANGE_BYTES) {
        const struct sk_range *x = &changed->v[i], *last = i ? x - 1 : NULL;
        size_t k = find(regions, region_count, x->region);
        if (k == region_count || !x->size_bytes || x->offset > regions[k].size_bytes ||
            x->size_bytes > regions[k].size_bytes - x->offset)
            return sk_fail(err, SAIKAI_EINVAL, "a changed range is not inside region %u",
                           x->region);
        if (last && (last->region > x->region ||
                     (last->region == x->region && last->offset + last->size_bytes > x->offset)))
            return sk_fail(err, SAIKAI_EINVAL, "changed ranges are not sorted and disjoint");
        put_u32(p, (uint32_t)k);
        put_u32(p + 4, 0);
        put_u64(p + 8, x->offset);
        put_u64(p + 16, x->size_bytes);
    }
    return 0;
}

static void copy_and_hash(uint8_t *to, const uint8_t *from, size_t n, struct sk_hasher *h)
{
    while (n) {
        size_t part = n < PIECE_BYTES ? n : PIECE_BYTES;
        memcpy(to, from, part);
        sk_hasher_add(h, to, part); /* the copy: the memory may already be another */
        to += part;
        from += part;
        n -= part;
    }
}

/* Short ranges far apart: the processor cannot guess where the next one begins. */
static void fetch_ahead(const uint8_t *p, size_t n)
{
    n = n < 2048 ? n : 2048;
    for (size_t i = 0; i < n; i += 64)
        __builtin_prefetch(p + i);
}

static void put_head(uint8_t *p, size_t regions, size_t ranges, uint64_t payload_bytes,
                     uint64_t from)
{
    memcpy(p, magic, 4);
    put_u16(p + 4, VERSION);
    put_u16(p + 6, 0);
    put_u64(p + 8, from);
    put_u64(p + 16, 0);
    put_u64(p + 24, regions);
    put_u64(p + 32, ranges);
    put_u64(p + 40, payload_bytes);
    put_u64(p + 48, 0);
}

/* The last entries of the head. to 0: derive the identity of the new state. */
static uint64_t seal(uint8_t *p, uint64_t payload_hash, uint64_t to)
{
    size_t tables = HEAD_BYTES + get_u64(p + 24) * REGION_BYTES + get_u64(p + 32) * RANGE_BYTES;
    put_u64(p + 16, to);
    put_u64(p + 48, payload_hash);
    if (!to) {
        to = sk_hash64(p, tables);
        put_u64(p + 16, to);
    }
    put_u64(p + tables, sk_hash64(p, tables));
    return to;
}

int sk_delta_start(uint64_t from, const struct sk_memory *regions, size_t region_count,
                   const struct sk_ranges *changed, void *out, size_t cap, uint8_t **payload,
                   struct saikai_error *err)
{
    size_t size = sk_delta_size(region_count, changed);
    if (size > cap)
        return sk_fail(err, SAIKAI_ENOSPC, "a delta of %zu bytes does not fit into %zu", size, cap);
    int rc = check_memory(regions, region_count, err);
    if (!rc)
        rc = put_tables(regions, region_count, changed, out, err);
    if (rc)
        return rc;
    put_head(out, region_count, changed->n, sk_ranges_bytes(changed), from);
    *payload =
        (uint8_t *)out + HEAD_BYTES + 8 + region_count * REGION_BYTES + changed->n * RANGE_BYTES;
    return 0;
}

void sk_delta_set_from(void *out, uint64_t from)
{
    put_u64((uint8_t *)out + 8, from);
}

uint64_t sk_delta_seal(void *out)
{
    uint8_t *p = out;
    uint64_t n = get_u64(p + 40);
    const uint8_t *payload =
        p + HEAD_BYTES + 8 + get_u64(p + 24) * REGION_BYTES + get_u64(p + 32) * RANGE_BYTES;
    return seal(p, sk_hash64(payload, n), 0);
}

void sk_delta_seal_tables(void *out)
{
    seal(out, 0, 0);
}

int sk_delta_pieces(const struct sk_memory *regions, size_t region_count,
                    const struct sk_ranges *changed, struct sk_memory_extent **out,
                    struct saikai_error *err)
{
    struct sk_memory_extent *v = malloc((changed->n + 1) * sizeof *v);
    if (!v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %zu pieces", changed->n);
    uint64_t at = 0;
    for (size_t i = 0; i < changed->n; i++) {
        const struct sk_range *x = &changed->v[i];
        size_t k = find(regions, region_count, x->region);
        if (k == region_count) {
            free(v);
            return sk_fail(err, SAIKAI_EINVAL, "there is no region %u", x->region);
        }
        v[i] = (struct sk_memory_extent){regions[k].addr + x->offset, x->size_bytes, x->region, at};
        at += x->size_bytes;
    }
    *out = v;
    return 0;
}

int sk_delta_encode(uint64_t from, const struct sk_memory *regions, size_t region_count,
                    const struct sk_ranges *changed, void *out, size_t cap, uint64_t *to,
                    struct saikai_error *err)
{
    uint8_t *p;
    int rc = sk_delta_start(from, regions, region_count, changed, out, cap, &p, err);
    if (rc)
        return rc;
    struct sk_hasher *h = sk_hasher_new();
    if (!h)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a checksum");
    for (size_t i = 0, k = 0; i < changed->n; i++) {
        const struct sk_range *x = &changed->v[i];
        while (regions[k].id != x->region)
            k++;
        if (i + 1 < changed->n && x[1].region == x->region)
            fetch_ahead(regions[k].addr + x[1].offset, x[1].size_bytes);
        copy_and_hash(p, regions[k].addr + x->offset, x->size_bytes, h);
        p += x->size_bytes;
    }
    *to = seal(out, sk_hasher_value(h), 0);
    sk_hasher_free(h);
    return 0;
}

void sk_delta_region(const struct sk_delta *d, uint64_t i, uint32_t *id, uint64_t *size_bytes)
{
    const uint8_t *p = d->regions + i * REGION_BYTES;
    *id = get_u32(p);
    *size_bytes = get_u64(p + 8);
}

struct sk_range sk_delta_range(const struct sk_delta *d, uint64_t i)
{
    const uint8_t *p = d->ranges + i * RANGE_BYTES;
    uint32_t id;
    uint64_t size;
    sk_delta_region(d, get_u32(p), &id, &size);
    return (struct sk_range){id, get_u64(p + 8), get_u64(p + 16)};
}

static int damaged(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the delta is damaged: %s", what);
}

static int check_tables(const struct sk_delta *d, struct saikai_error *err)
{
    for (uint64_t i = 1; i < d->region_count; i++)
        if (get_u32(d->regions + (i - 1) * REGION_BYTES) >= get_u32(d->regions + i * REGION_BYTES))
            return damaged(err, "its regions are not in order");
    uint64_t sum = 0, end = 0;
    uint32_t at = 0;
    for (uint64_t i = 0; i < d->range_count; i++) {
        const uint8_t *p = d->ranges + i * RANGE_BYTES;
        uint32_t k = get_u32(p);
        uint64_t offset = get_u64(p + 8), size = get_u64(p + 16);
        if (k >= d->region_count || k < at)
            return damaged(err, "a range belongs to no region");
        if (k > at)
            end = 0;
        at = k;
        uint64_t region = get_u64(d->regions + (uint64_t)k * REGION_BYTES + 8);
        if (!size || offset < end || offset > region || size > region - offset)
            return damaged(err, "a range is outside its region");
        end = offset + size;
        if (__builtin_add_overflow(sum, size, &sum))
            return damaged(err, "its ranges are too long");
    }
    return sum == d->payload_bytes ? 0 : damaged(err, "its payload is not as long as its ranges");
}

int sk_delta_open(const void *data, size_t n, struct sk_delta *out, struct saikai_error *err)
{
    const uint8_t *p = data;
    if (n < HEAD_BYTES + 8 || memcmp(p, magic, 4))
        return sk_fail(err, SAIKAI_EFORMAT, "this is not a delta");
    if ((p[4] | p[5] << 8) != VERSION)
        return sk_fail(err, SAIKAI_EFORMAT, "a delta of version %d: this Saikai reads version %d",
                       p[4] | p[5] << 8, VERSION);
    struct sk_delta d = {.from = get_u64(p + 8),
                         .to = get_u64(p + 16),
                         .region_count = get_u64(p + 24),
                         .range_count = get_u64(p + 32),
                         .payload_bytes = get_u64(p + 40),
                         .payload_hash = get_u64(p + 48)};
    uint64_t left = n - HEAD_BYTES - 8;
    if (d.region_count > left / REGION_BYTES)
        return damaged(err, "it is truncated");
    left -= d.region_count * REGION_BYTES;
    if (d.range_count > left / RANGE_BYTES)
        return damaged(err, "it is truncated");
    left -= d.range_count * RANGE_BYTES;
    if (d.payload_bytes > left)
        return damaged(err, "it is truncated");
    d.regions = p + HEAD_BYTES;
    d.ranges = d.regions + d.region_count * REGION_BYTES;
    const uint8_t *head_hash = d.ranges + d.range_count * RANGE_BYTES;
    d.payload = head_hash + 8;
    d.size_bytes = (size_t)(d.payload - p) + d.payload_bytes;
    if (get_u64(head_hash) != sk_hash64(p, (size_t)(head_hash - p)))
        return damaged(err, "the checksum of its head is wrong");
    int rc = check_tables(&d, err);
    if (!rc)
        *out = d;
    return rc;
}

int sk_delta_check_payload(const struct sk_delta *d, struct saikai_error *err)
{
    if (sk_hash64(d->payload, d->payload_bytes) != d->payload_hash)
        return damaged(err, "the checksum of its payload is wrong");
    return 0;
}

int sk_delta_base_is_due(const struct sk_delta_limits *limits, unsigned n, uint64_t sum_bytes,
                         uint64_t next_bytes, uint64_t base_bytes)
{
    unsigned max = limits && limits->max_deltas ? limits->max_deltas : 16;
    double ratio = limits && limits->max_ratio > 0 ? limits->max_ratio : 1.0;
    return n >= max || (double)sum_bytes + (double)next_bytes > ratio * (double)base_bytes;
}

/* A range of a delta costs 24 bytes: leaving out less than a cell would save nothing. */
#define CELL_BYTES 32u

static int cell_differs(const uint8_t *a, const uint8_t *b)
{
    uint64_t x[4], y[4];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3])) != 0;
}

/* The first cell at or after byte i (a multiple of the cell) that differs, or is equal; n: none.
 * What is left behind the last whole cell counts as different, to be trimmed. */
static uint64_t find_cell(const uint8_t *a, const uint8_t *b, uint64_t i, uint64_t n, int differs)
{
    while (i + CELL_BYTES <= n && cell_differs(a + i, b + i) != differs)
        i += CELL_BYTES;
    return i + CELL_BYTES <= n || differs ? i : n;
}

static void tighten_range(const uint8_t *a, const uint8_t *b, const struct sk_range *x,
                          struct sk_ranges *out)
{
    uint64_t n = x->size_bytes;
    for (uint64_t from = 0, to; (from = find_cell(a, b, from, n, 1)) < n; from = to) {
        to = find_cell(a, b, from, n, 0);
        uint64_t lo = from, hi = to;
        while (lo < hi && a[lo] == b[lo])
            lo++;
        while (lo < hi && a[hi - 1] == b[hi - 1])
            hi--;
        sk_ranges_add(out, x->region, x->offset + lo, hi - lo);
    }
}

int sk_delta_tighten(const struct sk_memory *now, size_t now_count, const struct sk_memory *before,
                     size_t before_count, const struct sk_ranges *in, struct sk_ranges *out,
                     struct saikai_error *err)
{
    struct sk_ranges found = {0};
    int rc = check_memory(now, now_count, err);
    if (!rc)
        rc = check_memory(before, before_count, err);
    for (size_t i = 0; !rc && i < in->n; i++) {
        const struct sk_range *x = &in->v[i];
        size_t a = find(now, now_count, x->region), b = find(before, before_count, x->region);
        if (a == now_count || x->offset > now[a].size_bytes ||
            x->size_bytes > now[a].size_bytes - x->offset)
            rc = sk_fail(err, SAIKAI_EINVAL, "a changed range is not inside region %u", x->region);
        else if (b == before_count || before[b].size_bytes != now[a].size_bytes)
            sk_ranges_add(&found, x->region, x->offset, x->size_bytes);
        else
            tighten_range(now[a].addr + x->offset, before[b].addr + x->offset, x, &found);
    }
    if (!rc && found.failed)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of changes");
    if (rc) {
        sk_ranges_free(&found);
        return rc;
    }
    sk_ranges_free(out);
    *out = found;
    return 0;
}

/* ---- chains ---- */

static int check_links(const struct sk_delta *chain, size_t n, uint64_t base,
                       struct saikai_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (chain[i].from != base)
            return sk_fail(
                err, SAIKAI_EINVAL,
                "delta %zu of %zu starts from state %016llx, but the one before is %016llx", i + 1,
                n, (unsigned long long)chain[i].from, (unsigned long long)base);
        int rc = sk_delta_check_payload(&chain[i], err);
        if (rc)
            return rc;
        base = chain[i].to;
    }
    return 0;
}

/* Size of region id in the delta's table, UINT64_MAX: not there. */
static uint64_t size_in(const struct sk_delta *d, uint32_t id)
{
    uint64_t lo = 0, hi = d->region_count;
    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;
        if (get_u32(d->regions + mid * REGION_BYTES) < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < d->region_count && get_u32(d->regions + lo * REGION_BYTES) == id)
        return get_u64(d->regions + lo * REGION_BYTES + 8);
    return UINT64_MAX;
}

static uint64_t covered(const struct sk_delta *d, uint32_t id)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < d->range_count; i++) {
        struct sk_range x = sk_delta_range(d, i);
        if (x.region == id)
            sum += x.size_bytes;
    }
    return sum;
}

/* A region that is new, or of a new size, in delta i must come with all its bytes. */
static int check_complete(const struct sk_delta *before, const struct sk_delta *d,
                          const struct sk_memory *base, size_t base_count, struct saikai_error *err)
{
    for (uint64_t k = 0; k < d->region_count; k++) {
        uint32_t id;
        uint64_t size, old = UINT64_MAX;
        sk_delta_region(d, k, &id, &size);
        if (before) {
            old = size_in(before, id);
        } else {
            size_t b = find(base, base_count, id);
            old = b < base_count ? base[b].size_bytes : UINT64_MAX;
        }
        if (old != size && covered(d, id) != size)
            return damaged(err, "a new region is not complete");
    }
    return 0;
}

static int check_target(const struct sk_delta *last, const struct sk_memory *regions, size_t n,
                        struct saikai_error *err)
{
    int same = last->region_count == n;
    for (size_t i = 0; same && i < n; i++)
        same = size_in(last, regions[i].id) == regions[i].size_bytes;
    return same ? 0
                : sk_fail(err, SAIKAI_ECHANGED,
                          "the regions are not those that the delta was made of (%llu there, %zu "
                          "here)",
                          (unsigned long long)last->region_count, n);
}

static void apply_one(const struct sk_delta *d, const struct sk_memory *regions, size_t n)
{
    const uint8_t *p = d->payload;
    for (uint64_t i = 0; i < d->range_count; i++) {
        struct sk_range x = sk_delta_range(d, i);
        size_t k = find(regions, n, x.region);
        /* a size of its own at that time: a later delta holds all of it */
        if (k < n && size_in(d, x.region) == regions[k].size_bytes)
            memcpy(regions[k].addr + x.offset, p, x.size_bytes);
        p += x.size_bytes;
    }
}

int sk_delta_apply(const struct sk_delta *chain, size_t n, uint64_t base,
                   const struct sk_memory *base_sizes, size_t base_count,
                   const struct sk_memory *regions, size_t region_count, uint64_t *to,
                   struct saikai_error *err)
{
    int rc = check_memory(regions, region_count, err);
    if (!rc)
        rc = check_memory(base_sizes, base_count, err);
    if (!rc)
        rc = check_links(chain, n, base, err);
    for (size_t i = 0; !rc && i < n; i++)
        rc = check_complete(i ? &chain[i - 1] : NULL, &chain[i], base_sizes, base_count, err);
    if (!rc && n)
        rc = check_target(&chain[n - 1], regions, region_count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        apply_one(&chain[i], regions, region_count);
    *to = n ? chain[n - 1].to : base;
    return 0;
}

/* Put the delta's bytes where they belong in the payload of the folded one; both lists ascend. */
static void place(const struct sk_delta *d, const struct sk_delta *last,
                  const struct sk_ranges *all, uint8_t *payload)
{
    const uint8_t *p = d->payload;
    size_t k = 0;
    uint8_t *at = payload;
    for (uint64_t i = 0; i < d->range_count; p += sk_delta_range(d, i++).size_bytes) {
        struct sk_range x = sk_delta_range(d, i);
        if (size_in(d, x.region) != size_in(last, x.region))
            continue;
        while (all->v[k].region < x.region || (all->v[k].region == x.region &&
                                               all->v[k].offset + all->v[k].size_bytes <= x.offset))
            at += all->v[k++].size_bytes;
        memcpy(at + (x.offset - all->v[k].offset), p, x.size_bytes);
    }
}

int sk_delta_fold(const struct sk_delta *chain, size_t n, void **out, size_t *size_bytes,
                  struct saikai_error *err)
{
    if (!n)
        return sk_fail(err, SAIKAI_EINVAL, "there is no delta to fold");
    int rc = check_links(chain, n, chain[0].from, err);
    if (rc)
        return rc;
    const struct sk_delta *last = &chain[n - 1];
    struct sk_ranges all = {0};
    struct sk_memory *regions = calloc(last->region_count + 1, sizeof *regions);
    uint8_t *p = NULL;
    for (uint64_t i = 0; regions && i < last->region_count; i++)
        sk_delta_region(last, i, &regions[i].id, &regions[i].size_bytes);
    for (size_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < chain[i].range_count; k++) {
            struct sk_range x = sk_delta_range(&chain[i], k);
            if (size_in(&chain[i], x.region) == size_in(last, x.region))
                sk_ranges_add(&all, x.region, x.offset, x.size_bytes);
        }
    sk_ranges_normalise(&all);
    size_t size = sk_delta_size(last->region_count, &all);
    if (!regions || all.failed || size == SIZE_MAX || !(p = malloc(size))) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to fold %zu deltas", n);
        goto out;
    }
    rc = put_tables(regions, last->region_count, &all, p, err);
    if (rc)
        goto out;
    uint64_t bytes = sk_ranges_bytes(&all);
    put_head(p, last->region_count, all.n, bytes, chain[0].from);
    uint8_t *payload = p + size - bytes;
    for (size_t i = 0; i < n; i++)
        place(&chain[i], last, &all, payload);
    seal(p, sk_hash64(payload, bytes), last->to);
    *out = p;
    *size_bytes = size;
    p = NULL;
out:
    free(p);
    free(regions);
    sk_ranges_free(&all);
    return rc;
}

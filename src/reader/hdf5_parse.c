/* The classic structures of HDF5 files, after the HDF5 File Format Specification, version 3.0. */
#include "reader/hdf5.h"
#include "reader/view.h"

#include "base/types.h"

#include <string.h>

enum { MAX_DEPTH = 32, MAX_NAME = 1024 };
#define MAX_VISITS 2000000

struct h5 {
    const struct sk_view *src;
    struct sk_hdf5 *out;
    uint64_t base; /* where addresses count from */
    int off, len;  /* bytes of addresses and lengths */
    long visits;   /* structures that may still be looked at: loops end */
    int rc;        /* SAIKAI_ENOTSUP, SAIKAI_ENOMEM: stop */
};

/* What an object header says. */
struct object {
    int is_group, external,
        layout;          /* layout: -1 none, 0 compact, 1 contiguous, 2 chunked */
    uint64_t tree, heap; /* of a symbol table */
    struct sk_hdf5_dataset d;
    struct sk_hdf5_piece whole; /* of a contiguous one */
    int has_type, has_space;    /* -1: one that we do not understand */
    uint64_t chunk_tree;
    int chunk_rank;
};

static int unknown(struct h5 *h)
{
    if (!h->rc)
        h->rc = SAIKAI_ENOTSUP;
    return -1;
}

/* n bytes at an address, NULL (and the end of the parse) when they are not in the file. */
static const uint8_t *at(struct h5 *h, uint64_t addr, uint64_t n)
{
    uint64_t pos;
    if (h->rc || --h->visits < 0 || __builtin_add_overflow(addr, h->base, &pos) ||
        pos > h->src->size || n > h->src->size - pos) {
        unknown(h);
        return NULL;
    }
    const uint8_t *p = sk_view_at(h->src, pos, n);
    if (!p)
        unknown(h);
    return p;
}

static uint64_t number(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

static int undefined(const struct h5 *h, uint64_t addr)
{
    return addr == (h->off == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * h->off) - 1);
}

/* ---- messages ---- */

static void read_space(struct h5 *h, const uint8_t *p, size_t n, struct object *o)
{
    size_t head = n > 0 && p[0] == 1 ? 8 : 4;
    int rank = n >= 4 ? p[1] : 255;
    if (n < head || (p[0] != 1 && p[0] != 2) || rank > SAIKAI_MAX_DIMS ||
        n < head + (size_t)(rank * h->len)) {
        o->has_space = -1; /* not for us: the dataset stays opaque */
        o->d.ndims = rank;
        return;
    }
    o->has_space = 1;
    o->d.ndims = rank;
    for (int i = 0; i < rank; i++)
        o->d.dims[i] = (size_t)number(p + head + (size_t)(i * h->len), h->len);
}

static int integer_type(size_t bytes, int is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? SAIKAI_I8 : SAIKAI_U8;
    case 2:
        return is_signed ? SAIKAI_I16 : SAIKAI_U16;
    case 4:
        return is_signed ? SAIKAI_I32 : SAIKAI_U32;
    case 8:
        return is_signed ? SAIKAI_I64 : SAIKAI_U64;
    }
    return 0;
}

static void read_type(const uint8_t *p, size_t n, struct object *o)
{
    o->has_type = -1;
    if (n < 8)
        return;
    int class = p[0] & 15;
    size_t bytes = (size_t)number(p + 4, 4);
    o->d.big_endian = p[1] & 1;
    if (class == 0)
        o->d.type = integer_type(bytes, p[1] >> 3 & 1);
    else if (class == 1 && !(p[1] & 64)) /* 64: VAX */
        o->d.type = bytes == 8 ? SAIKAI_F64 : bytes == 4 ? SAIKAI_F32 : 0;
    o->has_type = o->d.type ? 1 : -1;
}

static void read_layout(struct h5 *h, const uint8_t *p, size_t n, struct object *o)
{
    size_t addr = 2;
    if (n < 2 || p[0] != 3) {
        unknown(h);
        return;
    }
    o->layout = p[1];
    if (p[1] == 1 && n >= addr + (size_t)(h->off + h->len)) {
        o->whole.offset = number(p + addr, h->off);
        o->whole.length = number(p + addr + h->off, h->len);
    } else if (p[1] == 2 && n >= 3 && n >= 3 + (size_t)h->off + 4 * (size_t)p[2]) {
        o->chunk_rank = p[2] - 1;
        o->chunk_tree = number(p + 3, h->off);
        if (o->chunk_rank < 1 || o->chunk_rank > SAIKAI_MAX_DIMS) {
            o->layout = 0;
            return;
        }
        for (int i = 0; i < o->chunk_rank; i++)
            o->d.chunk[i] = (size_t)number(p + 3 + h->off + 4 * i, 4);
    } else if (p[1] != 0) {
        unknown(h);
    }
}

static void walk_object(struct h5 *h, uint64_t addr, const char *name, int depth);

static void join(char *out, const char *group, const char *name, size_t n)
{
    size_t k = strlen(group);
    if (k + n + 2 > MAX_NAME) { /* the end tells variables apart */
        k = 0;
        n = n > MAX_NAME - 2 ? MAX_NAME - 2 : n;
    }
    memcpy(out, group, k);
    if (k)
        out[k++] = '/';
    memcpy(out + k, name, n);
    out[k + n] = 0;
}

/* A link message: hard links are followed, others lead out of what we archive. */
static void read_link(struct h5 *h, const uint8_t *p, size_t n, const char *group, int depth)
{
    char name[MAX_NAME];
    size_t k = 2;
    int type = 0;
    if (n < 2 || p[0] != 1) {
        unknown(h);
        return;
    }
    int flags = p[1];
    if (flags & 8)
        type = n > k ? p[k] : 0, k++;
    k += (flags & 4 ? 8 : 0) + (flags & 16 ? 1 : 0);
    int width = 1 << (flags & 3);
    if (n < k + (size_t)width) {
        unknown(h);
        return;
    }
    uint64_t chars = number(p + k, width);
    k += (size_t)width;
    if (type)
        return;
    if (chars > n - k || n - k - chars < (size_t)h->off) {
        unknown(h);
        return;
    }
    join(name, group, (const char *)p + k, (size_t)chars);
    walk_object(h, number(p + k + chars, h->off), name, depth + 1);
}

/* One message of an object's header, by its type in the HDF5 specification (IV.A.2). */
static void read_message(struct h5 *h, int type, int flags, const uint8_t *p, size_t n,
                         struct object *o, const char *name, int depth)
{
    if (flags & 2 && (type == 1 || type == 3 || type == 8 || type == 11)) {
        unknown(h); /* shared: the message is elsewhere */
        return;
    }
    switch (type) {
    case 0x01:
        read_space(h, p, n, o);
        break;
    case 0x02: /* link info: links in a heap are not for us */
        if (n < 2 || n < 2 + (p[1] & 1 ? 8u : 0u) + (size_t)h->off ||
            !undefined(h, number(p + 2 + (p[1] & 1 ? 8 : 0), h->off)))
            unknown(h);
        o->is_group = 1;
        break;
    case 0x03:
        read_type(p, n, o);
        break;
    case 0x06:
        read_link(h, p, n, name, depth);
        break;
    case 0x07:
        o->external = 1;
        break;
    case 0x08:
        read_layout(h, p, n, o);
        break;
    case 0x0b:
        o->d.filtered = 1;
        break;
    case 0x11:
        if (n < 2 * (size_t)h->off) {
            unknown(h);
            break;
        }
        o->is_group = 2;
        o->tree = number(p, h->off);
        o->heap = number(p + h->off, h->off);
        break;
    }
}

/* The messages of one block of an object header. v2: their heads are shorter. order: creation order
 * is stored. */
static void read_messages(struct h5 *h, uint64_t addr, uint64_t bytes, int v2, int order,
                          struct object *o, const char *name, int depth)
{
    const uint8_t *p = at(h, addr, bytes);
    size_t head = v2 ? (order ? 6 : 4) : 8;
    while (p && !h->rc && bytes >= head) {
        int type = v2 ? p[0] : (int)number(p, 2), flags = v2 ? p[3] : p[4];
        size_t n = (size_t)number(p + (v2 ? 1 : 2), 2);
        if (n > bytes - head) {
            if (!v2) /* version 2 may end in a gap */
                unknown(h);
            return;
        }
        const uint8_t *body = p + head;
        if (type == 0x10) {
            uint64_t to = n >= (size_t)(h->off + h->len) ? number(body, h->off) : 0;
            uint64_t size = n >= (size_t)(h->off + h->len) ? number(body + h->off, h->len) : 0;
            const uint8_t *sign = v2 ? at(h, to, 4) : NULL;
            if (depth > 4 * MAX_DEPTH || (v2 && (!sign || memcmp(sign, "OCHK", 4) || size < 8)))
                unknown(h);
            else
                read_messages(h, to + (v2 ? 4 : 0), size - (v2 ? 8 : 0), v2, order, o, name,
                              depth + 1);
        } else {
            read_message(h, type, flags, body, n, o, name, depth);
        }
        p += head + n;
        bytes -= head + n;
    }
}

static void read_header(struct h5 *h, uint64_t addr, struct object *o, const char *name, int depth)
{
    const uint8_t *p = at(h, addr, 16);
    memset(o, 0, sizeof *o);
    o->layout = -1;
    if (!p)
        return;
    if (p[0] == 1) {
        read_messages(h, addr + 16, number(p + 8, 4), 0, 0, o, name, depth);
        return;
    }
    if (memcmp(p, "OHDR", 4) || p[4] != 2) {
        unknown(h);
        return;
    }
    int flags = p[5], width = 1 << (flags & 3);
    uint64_t head = 6 + (flags & 32 ? 16u : 0u) + (flags & 16 ? 4u : 0u);
    p = at(h, addr, head + (uint64_t)width);
    if (p)
        read_messages(h, addr + head + (uint64_t)width, number(p + head, width), 1, flags >> 2 & 1,
                      o, name, depth);
}

/* ---- groups ---- */

static void walk_symbols(struct h5 *h, uint64_t addr, const uint8_t *heap, uint64_t heap_bytes,
                         const char *group, int depth)
{
    const uint8_t *p = at(h, addr, 8);
    size_t size = 2 * (size_t)h->off + 24;
    if (!p || memcmp(p, "SNOD", 4)) {
        unknown(h);
        return;
    }
    uint64_t n = number(p + 6, 2);
    p = at(h, addr + 8, n * size);
    for (uint64_t i = 0; p && i < n && !h->rc; i++, p += size) {
        char name[MAX_NAME];
        uint64_t name_at = number(p, h->off);
        uint32_t cache = (uint32_t)number(p + 2 * h->off, 4);
        const uint8_t *end =
            name_at < heap_bytes ? memchr(heap + name_at, 0, heap_bytes - name_at) : NULL;
        if (!end) {
            unknown(h);
            return;
        }
        if (cache == 2) /* a symbolic link */
            continue;
        join(name, group, (const char *)heap + name_at, (size_t)(end - heap - (ptrdiff_t)name_at));
        walk_object(h, number(p + h->off, h->off), name, depth + 1);
    }
}

static void walk_group_tree(struct h5 *h, uint64_t addr, const uint8_t *heap, uint64_t heap_bytes,
                            const char *group, int depth)
{
    uint64_t head = 8 + 2 * (uint64_t)h->off;
    const uint8_t *p = at(h, addr, head);
    if (!p || memcmp(p, "TREE", 4) || p[4] != 0 || depth > 2 * MAX_DEPTH) {
        unknown(h);
        return;
    }
    int level = p[5];
    uint64_t n = number(p + 6, 2), step = (uint64_t)(h->len + h->off);
    p = at(h, addr + head, n * step);
    for (uint64_t i = 0; p && i < n && !h->rc; i++) {
        uint64_t child = number(p + i * step + (uint64_t)h->len, h->off);
        if (level)
            walk_group_tree(h, child, heap, heap_bytes, group, depth + 1);
        else
            walk_symbols(h, child, heap, heap_bytes, group, depth);
    }
}

static void walk_symbol_table(struct h5 *h, const struct object *o, const char *name, int depth)
{
    const uint8_t *p = at(h, o->heap, 8 + 2 * (uint64_t)h->len + (uint64_t)h->off);
    if (!p || memcmp(p, "HEAP", 4)) {
        unknown(h);
        return;
    }
    uint64_t bytes = number(p + 8, h->len);
    const uint8_t *heap = at(h, number(p + 8 + 2 * h->len, h->off), bytes);
    if (heap)
        walk_group_tree(h, o->tree, heap, bytes, name, depth);
}

/* ---- datasets ---- */

static void add_piece(struct h5 *h, struct sk_hdf5_dataset *d, uint64_t offset, uint64_t length)
{
    if (!h->rc && !__builtin_add_overflow(offset, h->base, &offset) && sk_hdf5_add_piece(d, offset, length))
        h->rc = SAIKAI_ENOMEM;
}

static void walk_chunks(struct h5 *h, uint64_t addr, const struct object *o, struct sk_hdf5_dataset *d, int depth)
{
    uint64_t head = 8 + 2 * (uint64_t)h->off, key = 8 + 8 * ((uint64_t)o->chunk_rank + 1);
    const uint8_t *p = at(h, addr, head);
    if (!p || memcmp(p, "TREE", 4) || p[4] != 1 || depth > MAX_DEPTH) {
        unknown(h);
        return;
    }
    int level = p[5];
    uint64_t n = number(p + 6, 2), step = key + (uint64_t)h->off;
    p = at(h, addr + head, n * step);
    for (uint64_t i = 0; p && i < n && !h->rc; i++, p += step) {
        uint64_t child = number(p + key, h->off);
        if (level) {
            walk_chunks(h, child, o, d, depth + 1);
            continue;
        }
        add_piece(h, d, child, number(p, 4));
    }
}

static void add_dataset(struct h5 *h, struct object *o, const char *name)
{
    int known = o->has_type > 0 && o->has_space > 0 && !o->external;
    o->d.type = known ? o->d.type : 0;
    o->d.layout = o->layout == 1 && !o->external ? SK_HDF5_ONE_PIECE : o->layout == 2 ? SK_HDF5_CHUNKS : SK_HDF5_INSIDE;
    struct sk_hdf5_dataset *d = sk_hdf5_add(h->out, &o->d, name);
    if (!d)
        h->rc = SAIKAI_ENOMEM;
    else if (known && o->layout == 1 && !undefined(h, o->whole.offset) && o->whole.length)
        add_piece(h, d, o->whole.offset, o->whole.length);
    else if (known && o->layout == 2 && !d->filtered && o->chunk_rank == d->ndims && !undefined(h, o->chunk_tree))
        walk_chunks(h, o->chunk_tree, o, d, 0);
}

static void walk_object(struct h5 *h, uint64_t addr, const char *name, int depth)
{
    struct object o;
    if (depth > MAX_DEPTH) {
        unknown(h);
        return;
    }
    read_header(h, addr, &o, name, depth);
    if (h->rc)
        return;
    if (o.is_group == 2)
        walk_symbol_table(h, &o, name, depth);
    else if (o.has_type && o.has_space)
        add_dataset(h, &o, name);
}

/* ---- the file ---- */

uint64_t sk_hdf5_signature(const struct sk_view *src)
{
    for (uint64_t pos = 0; pos + 8 <= src->size && pos <= 1u << 20; pos = pos ? 2 * pos : 512) {
        const uint8_t *p = sk_view_at(src, pos, 8);
        if (p && !memcmp(p, "\x89HDF\r\n\x1a\n", 8))
            return pos;
    }
    return UINT64_MAX;
}

static int width_known(int n)
{
    return n == 2 || n == 4 || n == 8;
}

int sk_hdf5_parse(const struct sk_view *src, struct sk_hdf5 *out, struct saikai_error *err)
{
    uint64_t start = sk_hdf5_signature(src);
    if (start == UINT64_MAX || src->size - start < 96)
        return SAIKAI_ENOTSUP;
    struct h5 h = {.src = src, .out = out, .visits = MAX_VISITS};
    const uint8_t *p = sk_view_at(src, start, 96);
    if (!p)
        return SAIKAI_ENOTSUP;
    int old = p[8] < 2;
    h.off = p[old ? 13 : 9];
    h.len = p[old ? 14 : 10];
    if (p[8] > 3 || !width_known(h.off) || !width_known(h.len))
        return SAIKAI_ENOTSUP;
    size_t addresses = old ? (p[8] == 1 ? 28 : 24) : 12;
    h.base = number(p + addresses, h.off);
    size_t root = addresses + 4 * (size_t)h.off;
    root = old ? root + (size_t)h.off : addresses + 3 * (size_t)h.off;
    if (h.base != start) /* a file that was moved behind a block which it does not know of */
        return SAIKAI_ENOTSUP;
    walk_object(&h, number(p + root, h.off), "", 0);
    return h.rc == SAIKAI_ENOMEM ? sk_fail(err, h.rc, "%s: no memory to list it", src->path) : h.rc;
}

/* netCDF classic files: CDF-1, CDF-2 (64-bit offset) and CDF-5 (64-bit data), parsed here.
 *
 * Format: NetCDF Classic and 64-bit Offset File Formats, Unidata User's Guide, appendix "File
 * Format Specifications". Every record of a record variable is an extent of its own, because
 * records of all record variables interleave. */
#include "reader/reader.h"
#include "reader/view.h"
#include "reader/scan.h"

#include <saikai/codes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NC_DIMENSION = 10, NC_VARIABLE = 11, NC_ATTRIBUTE = 12 };
#define MAX_ITEMS 1000000u

struct in {
    const struct sk_view *src;
    uint64_t at, left;
    int bad, wide; /* wide: CDF-5, counts and sizes of 64 bits */
    int offset64;
};

static const uint8_t *take(struct in *r, uint64_t n)
{
    if (r->bad || n > r->left) {
        r->bad = 1;
        return NULL;
    }
    const uint8_t *p = sk_view_at(r->src, r->at, n);
    r->bad = !p;
    r->at += n;
    r->left -= n;
    return p;
}

static uint64_t big(struct in *r, int bytes)
{
    const uint8_t *p = take(r, (uint64_t)bytes);
    uint64_t v = 0;
    for (int i = 0; p && i < bytes; i++)
        v = v << 8 | p[i];
    return v;
}

static uint64_t count_of(struct in *r)
{
    return big(r, r->wide ? 8 : 4);
}

static void skip_padded(struct in *r, uint64_t n)
{
    uint64_t padded = (n + 3) & ~(uint64_t)3;
    if (r->bad || n > r->left || padded > r->left) {
        r->bad = 1;
        return;
    }
    r->at += padded;
    r->left -= padded;
}

static void name_of(struct in *r, char *out, size_t cap)
{
    uint64_t n = count_of(r);
    out[0] = 0;
    if (n > r->left) {
        r->bad = 1;
        return;
    }
    const uint8_t *p = r->bad || n >= cap ? NULL : sk_view_at(r->src, r->at, n);
    if (p) {
        memcpy(out, p, n);
        out[n] = 0;
    }
    skip_padded(r, n);
}

/* Bytes of an nc_type, and ours; 0: unknown. */
static int type_of(uint64_t nc, size_t *bytes)
{
    static const struct {
        int type, bytes;
    } types[] = {{0, 0},          {SAIKAI_I8, 1},  {SAIKAI_U8, 1},  {SAIKAI_I16, 2},
                 {SAIKAI_I32, 4}, {SAIKAI_F32, 4}, {SAIKAI_F64, 8}, {SAIKAI_U8, 1},
                 {SAIKAI_U16, 2}, {SAIKAI_U32, 4}, {SAIKAI_I64, 8}, {SAIKAI_U64, 8}};
    if (nc >= sizeof types / sizeof *types)
        return *bytes = 0, 0;
    *bytes = (size_t)types[nc].bytes;
    return types[nc].type;
}

/* Length of a list whose tag is `tag`; an absent list is two zeros. */
static uint64_t list_of(struct in *r, uint64_t tag)
{
    uint64_t t = big(r, 4), n = count_of(r);
    if ((t != tag && (t || n)) || n > MAX_ITEMS)
        r->bad = 1;
    return r->bad ? 0 : n;
}

static void skip_attributes(struct in *r)
{
    char name[8];
    uint64_t n = list_of(r, NC_ATTRIBUTE);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        size_t bytes;
        name_of(r, name, sizeof name);
        type_of(big(r, 4), &bytes);
        uint64_t k = count_of(r);
        if (!bytes || k > r->left)
            r->bad = 1;
        else
            skip_padded(r, k * bytes);
    }
}

struct var {
    struct sk_extent e; /* of one record, or of all of a fixed variable */
    char name[SAIKAI_MAX_NAME + 1];
    uint64_t padded;
    int record;
};

/* One variable of the header: where its values are, if they lie in one piece. Hostile input. */
static void read_var(struct in *r, struct var *v, const uint64_t *dims, uint64_t ndims)
{
    memset(v, 0, sizeof *v);
    name_of(r, v->name, sizeof v->name);
    uint64_t nd = count_of(r);
    size_t bytes;
    if (nd > SAIKAI_MAX_DIMS + 1)
        r->bad = 1;
    uint64_t length = 1;
    for (uint64_t i = 0; i < nd && !r->bad; i++) {
        uint64_t id = count_of(r);
        if (r->bad || id >= ndims || (dims[id] == 0 && i)) {
            r->bad = 1;
            return;
        }
        if (dims[id] == 0) {
            v->record = 1;
            continue;
        }
        if (v->e.ndims == SAIKAI_MAX_DIMS || __builtin_mul_overflow(length, dims[id], &length)) {
            r->bad = 1;
            return;
        }
        v->e.dims[v->e.ndims++] = (size_t)dims[id];
    }
    skip_attributes(r);
    v->e.type = type_of(big(r, 4), &bytes);
    count_of(r); /* vsize: redundant, and wrong for large variables */
    v->e.offset = big(r, r->offset64 ? 8 : 4);
    v->e.big_endian = 1;
    if (!v->e.type || __builtin_mul_overflow(length, (uint64_t)bytes, &v->e.length) ||
        v->e.length > UINT64_MAX - 4)
        r->bad = 1;
    v->padded = (v->e.length + 3) & ~(uint64_t)3;
}

static int add_records(const struct sk_view *src, const struct var *v, uint64_t records,
                       uint64_t stride, struct sk_scan *scan)
{
    struct sk_extent e = v->e;
    for (uint64_t i = 0; i < records && stride; i++) {
        if (e.offset >= src->size)
            break; /* a file that is shorter than its header says */
        int rc = sk_scan_add(scan, &e, v->name);
        if (rc)
            return rc;
        e.offset += stride;
    }
    return 0;
}

static int add_all(const struct sk_view *src, const struct var *vars, uint64_t n, uint64_t records,
                   struct sk_scan *scan)
{
    uint64_t stride = 0, record_vars = 0, only = 0;
    for (uint64_t i = 0; i < n; i++)
        if (vars[i].record) {
            stride += vars[i].padded;
            if (stride > src->size)
                return 0; /* not even one record fits: header and file disagree */
            only = vars[i].e.length;
            record_vars++;
        }
    if (record_vars == 1)
        stride = only; /* a single record variable is not padded */
    int rc = 0;
    for (uint64_t i = 0; i < n && !rc; i++)
        rc = vars[i].record ? add_records(src, &vars[i], records, stride, scan)
                            : sk_scan_add(scan, &vars[i].e, vars[i].name);
    return rc;
}

static int probe(const struct sk_view *src)
{
    const uint8_t *p = sk_view_at(src, 0, 8);
    return p && !memcmp(p, "CDF", 3) && (p[3] == 1 || p[3] == 2 || p[3] == 5);
}

/* Dimensions, attributes, variables: the header's lists in their order; values are not looked at. */
static int scan_netcdf3(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    struct in r = {.src = src, .at = 4, .left = src->size - 4};
    const uint8_t *head = sk_view_at(src, 0, 4);
    if (!head)
        return SAIKAI_EDAMAGED;
    r.wide = head[3] == 5;
    r.offset64 = head[3] != 1;
    uint64_t *dims = NULL;
    struct var *vars = NULL;
    int rc = 0;
    uint64_t records = count_of(&r);
    if (records == (r.wide ? UINT64_MAX : UINT32_MAX))
        records = 0; /* "streaming": unknown; its records stay skeleton */
    uint64_t ndims = list_of(&r, NC_DIMENSION);
    if (!(dims = calloc(ndims + 1, sizeof *dims)))
        return SAIKAI_ENOMEM;
    for (uint64_t i = 0; i < ndims && !r.bad; i++) {
        char name[8];
        name_of(&r, name, sizeof name);
        dims[i] = count_of(&r);
    }
    skip_attributes(&r);
    uint64_t nvars = list_of(&r, NC_VARIABLE);
    if (nvars > r.left / 16) /* a variable takes more than that */
        r.bad = 1, nvars = 0;
    if (!(vars = calloc(nvars + 1, sizeof *vars))) {
        rc = SAIKAI_ENOMEM;
        goto out;
    }
    for (uint64_t i = 0; i < nvars && !r.bad; i++)
        read_var(&r, &vars[i], dims, ndims);
    if (r.bad)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: the netCDF header is damaged at byte %llu",
                     src->path, (unsigned long long)(src->size - r.left));
    else
        rc = add_all(src, vars, nvars, records, scan);
out:
    free(dims);
    free(vars);
    return rc;
}

const struct sk_reader_ops sk_reader_netcdf3 = {"netcdf3", "netCDF classic, 64-bit offset and data", probe, scan_netcdf3};

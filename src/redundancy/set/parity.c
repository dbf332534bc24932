/* Encodes and decodes records and headers of parity files, with everything checked that a rebuild
 * relies on. */
#include "redundancy/set/parity.h"

#include "base/hash.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = {'S', 'K', 'P', 'A', 'R', 'I', 'T', 'Y'};

enum { PREFIX_1 = 48, PREFIX = PREFIX_1 + SK_ID_BYTES, PAGE = 4096 };

int sk_part_name_ok(const char *name)
{
    if (!*name || *name == '/')
        return 0;
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");
        if (!n || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return 0;
        p += n;
        if (*p && !*++p)
            return 0;
    }
    return 1;
}

void sk_member_free(struct sk_member *m)
{
    for (uint32_t i = 0; m->part && i < m->parts; i++)
        free(m->part[i].name);
    free(m->part);
    *m = (struct sk_member){0};
}

void sk_record_free(struct sk_record *r)
{
    for (int i = 0; i < SK_MAX_MEMBERS; i++)
        sk_member_free(&r->member[i]);
    memset(r, 0, sizeof *r);
}

void sk_parity_header_free(struct sk_parity_header *h)
{
    sk_record_free(&h->record);
}

static uint64_t blocks_of(uint64_t size_bytes, uint32_t block)
{
    return size_bytes / block + (size_bytes % block != 0);
}

int sk_record_finish(struct sk_record *r, struct saikai_error *err)
{
    if (r->block < 64 || r->block % 64 || r->block > SK_MAX_BLOCK)
        return sk_fail(err, SAIKAI_EINVAL,
                       "coding blocks of %u bytes: a multiple of 64 up to %u is needed", r->block,
                       SK_MAX_BLOCK);
    r->stripes = 0;
    for (int i = 0; i < r->code.members; i++) {
        uint64_t n =
            r->member[i].size_bytes > (uint64_t)INT64_MAX / 64
                ? UINT64_MAX
                : sk_code_stripes(&r->code, i, blocks_of(r->member[i].size_bytes, r->block));
        if (n == UINT64_MAX)
            return sk_fail(err, SAIKAI_EINVAL,
                           "member %d of the group keeps parity only and cannot have data", i);
        r->stripes = n > r->stripes ? n : r->stripes;
    }
    return 0;
}

uint32_t sk_record_block_len(const struct sk_record *r, int member, uint64_t number)
{
    uint64_t size = r->member[member].size_bytes;
    if (number >= blocks_of(size, r->block))
        return 0;
    uint64_t left = size - number * r->block;
    return left < r->block ? (uint32_t)left : r->block;
}

void sk_member_encode(const struct sk_member *m, struct sk_buf *out)
{
    sk_buf_put_u32(out, m->rank);
    sk_buf_put_str(out, m->host);
    sk_buf_put_u32(out, m->parts);
    for (uint32_t i = 0; i < m->parts; i++) {
        sk_buf_put_str(out, m->part[i].name);
        sk_buf_put_u64(out, m->part[i].size_bytes);
        sk_buf_put_u64(out, m->part[i].hash);
        sk_buf_put_u32(out, m->part[i].mode);
    }
}

int sk_member_decode(struct sk_rd *in, struct sk_member *m)
{
    enum { LEAST = 2 + 1 + 8 + 8 + 4 }; /* bytes of a file's entry */
    struct sk_member v = {.rank = sk_rd_u32(in)};
    sk_rd_str(in, v.host, sizeof v.host);
    uint32_t parts = sk_rd_u32(in);
    if (in->bad || parts > sk_rd_left(in) / LEAST)
        return SAIKAI_EDAMAGED;
    if (parts && !(v.part = calloc(parts, sizeof *v.part)))
        return SAIKAI_ENOMEM;
    int rc = 0;
    while (!rc && v.parts < parts) {
        char name[PATH_MAX];
        struct sk_parity_part *p = &v.part[v.parts];
        sk_rd_str(in, name, sizeof name);
        p->size_bytes = sk_rd_u64(in);
        p->hash = sk_rd_u64(in);
        p->mode = sk_rd_u32(in);
        if (in->bad || !sk_part_name_ok(name) || p->mode & ~07777u ||
            __builtin_add_overflow(v.size_bytes, p->size_bytes, &v.size_bytes))
            rc = SAIKAI_EDAMAGED;
        else if (!(p->name = strdup(name)))
            rc = SAIKAI_ENOMEM;
        else
            v.parts++;
    }
    if (rc) {
        sk_member_free(&v);
        return rc;
    }
    *m = v;
    return 0;
}

void sk_record_encode(const struct sk_record *r, struct sk_buf *out)
{
    sk_buf_put_u64(out, r->generation);
    sk_buf_put_u64(out, r->group);
    sk_buf_put_str(out, r->code.scheme->name);
    sk_buf_put_u8(out, (uint8_t)r->code.placement);
    sk_buf_put_u8(out, (uint8_t)r->code.data);
    sk_buf_put_u8(out, (uint8_t)r->code.parity);
    sk_buf_put_u8(out, (uint8_t)r->code.members);
    sk_buf_put_u32(out, r->block);
    sk_buf_put_u64(out, r->stripes);
    for (int i = 0; i < r->code.members; i++)
        sk_member_encode(&r->member[i], out);
}

static int decode_record(struct sk_rd *in, struct sk_record *r, struct saikai_error *err)
{
    char scheme[32];
    r->generation = sk_rd_u64(in);
    r->group = sk_rd_u64(in);
    sk_rd_str(in, scheme, sizeof scheme);
    int placement = sk_rd_u8(in), data = sk_rd_u8(in), parity = sk_rd_u8(in),
        members = sk_rd_u8(in);
    r->block = sk_rd_u32(in);
    uint64_t stripes = sk_rd_u64(in);
    if (in->bad)
        return SAIKAI_EDAMAGED;
    int rc = sk_code_init(&r->code, scheme, members, parity, placement, err);
    if (rc)
        return rc;
    if (r->code.data != data)
        return SAIKAI_EDAMAGED;
    for (int i = 0; i < members; i++)
        if ((rc = sk_member_decode(in, &r->member[i])))
            return rc;
    if ((rc = sk_record_finish(r, err)))
        return rc;
    return stripes == r->stripes && !sk_rd_left(in) ? 0 : SAIKAI_EDAMAGED;
}

int sk_record_decode(const void *data, size_t n, struct sk_record *r, struct saikai_error *err)
{
    struct sk_rd in = sk_rd_init(data, n);
    struct sk_record *v = calloc(1, sizeof *v);
    if (!v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the record of a group");
    struct saikai_error why = {0};
    int rc = n > SK_MAX_RECORD ? SAIKAI_EDAMAGED : decode_record(&in, v, &why);
    if (rc) {
        sk_record_free(v);
        rc = sk_fail(err, rc == SAIKAI_ENOMEM ? rc : SAIKAI_EDAMAGED,
                     "the record of the group is damaged%s%s", why.code ? ": " : "", why.text);
    } else {
        *r = *v;
    }
    free(v);
    return rc;
}

static uint32_t round_up(uint64_t n)
{
    return (uint32_t)((n + PAGE - 1) / PAGE * PAGE);
}

int sk_parity_encode(struct sk_parity_header *h, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf record = {0};
    sk_record_encode(&h->record, &record);
    if (!sk_buf_ok(&record) || record.len > SK_MAX_RECORD) {
        int rc = sk_fail(err, sk_buf_ok(&record) ? SAIKAI_EINVAL : SAIKAI_ENOMEM,
                         "the list of files of the group is too long: %zu bytes", record.len);
        sk_buf_free(&record);
        return rc;
    }
    h->header_bytes = round_up(PREFIX + record.len);
    h->blocks = sk_code_parity_blocks(&h->record.code, h->member, h->record.stripes);
    h->record_hash = sk_hash64(record.data, record.len);
    size_t start = out->len;
    sk_buf_put(out, magic, sizeof magic);
    sk_buf_put_u32(out, SK_PARITY_VERSION);
    sk_buf_put_u32(out, h->header_bytes);
    sk_buf_put_u64(out, 0);
    sk_buf_put_u32(out, (uint32_t)h->member);
    sk_buf_put_u32(out, (uint32_t)record.len);
    sk_buf_put_u64(out, h->blocks);
    sk_buf_put_u64(out, h->table_hash);
    sk_buf_put(out, h->store.b, sizeof h->store.b);
    sk_buf_put(out, record.data, record.len);
    size_t zeros = h->header_bytes - PREFIX - record.len;
    void *pad = sk_buf_extend(out, zeros);
    if (pad)
        memset(pad, 0, zeros);
    sk_buf_free(&record);
    if (!sk_buf_ok(out))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the header of a parity file");
    uint64_t hash = sk_hash64(out->data + start + 24, h->header_bytes - 24);
    memcpy(out->data + start + 16, &hash, sizeof hash);
    return 0;
}

/* The fixed part: 0, or why the file cannot be read. */
static int check_prefix(struct sk_rd *in, uint32_t *version, uint32_t *header_bytes, uint64_t *hash,
                        struct saikai_error *err)
{
    const void *m = sk_rd_bytes(in, sizeof magic);
    if (!m || memcmp(m, magic, sizeof magic))
        return sk_fail(err, SAIKAI_EFORMAT, "not a parity file");
    *version = sk_rd_u32(in);
    *header_bytes = sk_rd_u32(in);
    *hash = sk_rd_u64(in);
    if (in->bad)
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is truncated");
    if (*version < 1 || *version > SK_PARITY_VERSION)
        return sk_fail(err, SAIKAI_EFORMAT,
                       "parity file of version %u; this library reads versions 1 to %d", *version,
                       SK_PARITY_VERSION);
    if (*header_bytes < PAGE || *header_bytes % PAGE ||
        *header_bytes > round_up(PREFIX + SK_MAX_RECORD))
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is damaged");
    return 0;
}

int sk_parity_decode(const void *data, size_t n, uint64_t file_bytes, struct sk_parity_header *h,
                     size_t *need, struct saikai_error *err)
{
    struct sk_rd in = sk_rd_init(data, n);
    uint32_t version = 0, header_bytes = 0;
    struct sk_id store = {{0}};
    uint64_t hash = 0;
    int rc = check_prefix(&in, &version, &header_bytes, &hash, err);
    if (rc)
        return rc;
    if (need)
        *need = header_bytes;
    if (n < header_bytes)
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is truncated");
    if (hash != sk_hash64((const uint8_t *)data + 24, header_bytes - 24))
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is damaged");
    uint32_t member = sk_rd_u32(&in), record_bytes = sk_rd_u32(&in);
    uint64_t blocks = sk_rd_u64(&in), table_hash = sk_rd_u64(&in);
    const void *id = version > 1 ? sk_rd_bytes(&in, sizeof store.b) : NULL;
    if (id)
        memcpy(store.b, id, sizeof store.b);
    if (in.bad || record_bytes > header_bytes - (version > 1 ? PREFIX : PREFIX_1))
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is damaged");
    struct sk_record record = {0};
    rc = sk_record_decode(in.p, record_bytes, &record, err);
    if (rc)
        return rc;
    uint64_t expected = 0;
    if (member < (uint32_t)record.code.members)
        expected = sk_code_parity_blocks(&record.code, (int)member, record.stripes);
    if (member >= (uint32_t)record.code.members || blocks != expected ||
        blocks > (UINT64_MAX >> 2) / record.block ||
        file_bytes != header_bytes + blocks * ((uint64_t)record.block + 8)) {
        sk_record_free(&record);
        return sk_fail(err, SAIKAI_EDAMAGED, "the file's length does not fit its header");
    }
    *h = (struct sk_parity_header){.record = record,
                                   .member = (int)member,
                                   .store = store,
                                   .header_bytes = header_bytes,
                                   .blocks = blocks,
                                   .table_hash = table_hash,
                                   .record_hash = sk_hash64(in.p, record_bytes)};
    return 0;
}

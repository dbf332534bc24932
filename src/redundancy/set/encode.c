/* Prepares a coding from the sizes that all members tell, runs the carrier over its stripes, and
 * names the parity file when all ranks succeeded. */
#include "redundancy/set/encode.h"

#include "base/clock.h"
#include "base/hash.h"
#include "redundancy/code/cost.h"
#include "redundancy/transfer/carrier.h"
#include "redundancy/transfer/exchange.h"
#include "redundancy/set/parity_file.h"

#include <stdlib.h>
#include <string.h>

struct sk_encode {
    struct sk_group *g;
    struct sk_encode_params p; /* texts in it are not used after begin */
    uint64_t key;
    struct sk_record record;
    struct sk_files *data;
    struct sk_parity_file *parity;
    struct sk_carrier *carrier;
    const struct sk_transfer_ops *form;
    int code; /* first local failure */
    struct saikai_error why;
    int abandoned;
    double started;
};

static void describe(void *arg, uint64_t t, struct sk_stripe *s)
{
    const struct sk_encode *e = arg;
    const struct sk_code *c = &e->record.code;
    int column[SK_MAX_DATA], member_of[SK_MAX_DATA];
    s->sources = 0;
    s->sinks = c->parity;
    for (int i = 0; i < c->members; i++) {
        int index;
        enum sk_role role = sk_code_role(c, t, i, &index);
        if (role == SK_ROLE_DATA)
            member_of[index] = i;
        else if (role == SK_ROLE_PARITY)
            s->sink[index] = (struct sk_end){i, 0};
    }
    for (int x = 0; x < c->data; x++) {
        uint32_t len =
            sk_record_block_len(&e->record, member_of[x], sk_code_block(c, t, member_of[x]));
        if (!len)
            continue;
        column[s->sources] = x;
        s->source[s->sources++] = (struct sk_end){member_of[x], len};
    }
    for (int r = 0; r < c->parity; r++) {
        s->sink[r].len = e->record.block; /* a parity block is stored whole */
        for (int i = 0; i < s->sources; i++)
            s->coef[r * s->sources + i] = c->generator[r * c->data + column[i]];
    }
}

static const uint8_t *load(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch)
{
    struct sk_encode *e = arg;
    uint64_t number = sk_code_block(&e->record.code, t, member);
    const uint8_t *p = NULL;
    if (!e->code) {
        p = sk_files_read(e->data, number * e->record.block, len, scratch, &e->why);
        if (!p)
            e->code = e->why.code ? e->why.code : SAIKAI_EIO;
    }
    if (!p) {
        memset(scratch, 0, len);
        return scratch;
    }
    sk_files_hash(e->data, p, len); /* now, while it is about to be in the cache */
    return p;
}

static uint8_t *place(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch)
{
    struct sk_encode *e = arg;
    uint8_t *p = sk_parity_block(e->parity, sk_code_block(&e->record.code, t, member));
    return p ? p : scratch;
}

static void stored(void *arg, int member, uint64_t t, uint32_t len, const uint8_t *data)
{
    struct sk_encode *e = arg;
    sk_parity_stored(e->parity, sk_code_block(&e->record.code, t, member), data);
}

static const struct sk_carrier_ops carrier_ops = {describe, load, place, stored};

/* What has to be the same on all ranks, or they would wait for each other for ever. */
static uint64_t key_of(const struct sk_encode_params *p)
{
    const struct sk_encoding *c = &p->coding;
    struct sk_buf buf = {0};
    sk_buf_put_u64(&buf, p->generation);
    sk_buf_put_u64(&buf, p->group);
    sk_buf_put_str(&buf, c->scheme ? c->scheme : "");
    sk_buf_put_str(&buf, c->form ? c->form : SK_AUTO);
    sk_buf_put_u32(&buf, (uint32_t)c->parity);
    sk_buf_put_u32(&buf, (uint32_t)c->placement);
    sk_buf_put_u32(&buf, c->block);
    sk_buf_put_f64(&buf, c->costs ? c->costs->latency : 0);
    sk_buf_put_f64(&buf, c->costs ? c->costs->bandwidth : 0);
    sk_buf_put_f64(&buf, c->costs ? c->costs->add_rate : 0);
    uint64_t key = sk_hash64(buf.data, buf.len);
    sk_buf_free(&buf);
    return key;
}

static int take_members(struct sk_encode *e, const struct sk_exchange *x, struct saikai_error *err)
{
    for (int i = 0; i < e->g->size; i++) {
        struct sk_rd in = sk_rd_init(sk_exchange_at(x, i), x->size[i]);
        if (sk_rd_u64(&in) != e->key)
            return sk_fail(
                err, SAIKAI_EINVAL,
                "ranks %d and %d of the group were told to code generation %llu in different ways",
                e->g->rank, i, (unsigned long long)e->p.generation);
        sk_member_free(&e->record.member[i]);
        int rc = sk_member_decode(&in, &e->record.member[i]);
        if (rc)
            return sk_fail(err, rc, "rank %d of the group sent a list of files that cannot be read",
                           i);
    }
    return 0;
}

static int share_members(struct sk_encode *e, int code, struct sk_member *mine,
                         struct saikai_error *err)
{
    struct sk_buf buf = {0};
    struct sk_exchange x;
    if (!code) {
        sk_buf_put_u64(&buf, e->key);
        sk_member_encode(mine, &buf);
    }
    if (!sk_buf_ok(&buf))
        code = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    int rc = sk_exchange(e->g, code, buf.data, buf.len, &x, err);
    if (!rc)
        rc = sk_group_verdict(e->g, take_members(e, &x, err), err);
    sk_exchange_free(&x);
    sk_buf_free(&buf);
    return rc;
}

/* Few and large messages, but what a stripe brings together should stay in a core's cache. And a
 * pipe through all members has to fill before it gives anything: blocks so small that this takes
 * at most a twentieth of the time, yet not so small that messages get tiny. Members' sizes are the
 * same on all ranks. */
static uint32_t choose_block(const struct sk_record *r)
{
    enum { CACHE = 1 << 20, MOST = 256 << 10, FAIR = 64 << 10, LEAST = 4 << 10, PART = 20 };
    uint64_t largest = 0, usual = MOST;
    while (usual > FAIR && usual * (uint64_t)r->code.data > CACHE)
        usual /= 2;
    for (int i = 0; i < r->code.members; i++)
        largest = r->member[i].size_bytes > largest ? r->member[i].size_bytes : largest;
    uint64_t wanted = largest / ((uint64_t)r->code.members * PART) / LEAST * LEAST;
    return (uint32_t)(wanted >= usual ? usual : wanted <= LEAST ? LEAST : wanted);
}

static int choose_form(struct sk_encode *e, struct saikai_error *err)
{
    const struct sk_encoding *c = &e->p.coding;
    const struct sk_code *code = &e->record.code;
    if (!sk_is_auto(c->form)) {
        e->form = sk_transfer_find(c->form);
        return e->form ? 0 : sk_kind_unknown(&sk_transfer_kind, SK_AUTO, c->form, err);
    }
    struct sk_link_costs usual = sk_link_costs_usual();
    e->form = sk_transfer_choose(c->costs ? c->costs : &usual, code->data, code->parity,
                             code->placement == SK_SPREAD, e->record.stripes, e->record.block);
    return 0;
}

static int make_carrier(struct sk_encode *e, struct saikai_error *err)
{
    int rank_of[SK_MAX_MEMBERS];
    for (int i = 0; i < e->g->size; i++)
        rank_of[i] = i;
    struct sk_carrier_setup set = {.group = e->g,
                                   .form = e->form,
                                   .ops = &carrier_ops,
                                   .arg = e,
                                   .members = e->g->size,
                                   .rank_of = rank_of,
                                   .stripes = e->record.stripes,
                                   .block = e->record.block,
                                   .max_sources = e->record.code.data,
                                   .max_sinks = e->record.code.parity,
                                   .window = e->p.coding.window};
    return sk_carrier_new(&set, &e->carrier, err);
}

/* What follows from the exchanged sizes: the same on all ranks, or a local failure. */
static int prepare(struct sk_encode *e, struct saikai_error *err)
{
    const struct sk_encode_params *p = &e->p;
    e->record.generation = p->generation;
    e->record.group = p->group;
    e->record.block = p->coding.block ? p->coding.block : choose_block(&e->record);
    int rc = sk_record_finish(&e->record, err);
    if (!rc)
        rc = choose_form(e, err);
    if (!rc)
        rc = sk_parity_create(p->parity_path, p->recycle_path, p->kept, &e->record, e->g->rank,
                              &e->parity, err);
    if (!rc)
        rc = make_carrier(e, err);
    return rc;
}

int sk_encode_begin(struct sk_group *g, const struct sk_encode_params *p, struct sk_encode **out,
                    struct saikai_error *err)
{
    struct sk_encode *e = calloc(1, sizeof *e);
    struct sk_member mine = {.rank = p->rank};
    int rc = e ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for coding");
    if (!rc) {
        *e = (struct sk_encode){.g = g, .p = *p, .key = key_of(p), .started = sk_now()};
        if (p->host)
            strncpy(mine.host, p->host, sizeof mine.host - 1);
        rc = sk_code_init(&e->record.code, p->coding.scheme, g->size, p->coding.parity,
                          p->coding.placement, err);
    }
    if (!rc)
        rc = sk_files_open(p->path, p->name, p->source, p->files, p->mode, &mine, &e->data, err);
    struct sk_encode none = {.g = g}; /* without memory this rank still has to tell the others */
    int shared = share_members(e ? e : &none, rc, &mine, err);
    if (!shared) {
        rc = prepare(e, err);
        rc = sk_group_verdict(g, rc, err);
    } else {
        rc = shared;
    }
    sk_member_free(&mine);
    if (rc) {
        sk_encode_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

static int run(struct sk_encode *e, uint64_t stripes, int block, int *done)
{
    int rc = sk_carrier_step(e->carrier, stripes, block, done);
    if (rc) {
        e->abandoned = 1;
        sk_files_abandon(e->data);
        sk_parity_abandon(e->parity);
    }
    return rc;
}

int sk_encode_step(struct sk_encode *e, uint64_t stripes, int *done)
{
    return run(e, stripes, 0, done);
}

static int exchange_hashes(struct sk_encode *e, struct saikai_error *err)
{
    struct sk_member *m = &e->record.member[e->g->rank];
    struct sk_buf buf = {0};
    struct sk_rd in;
    struct sk_member mine = {0};
    int rc = e->code;
    if (rc && err)
        *err = e->why;
    if (!rc)
        sk_files_hashes(e->data, m);
    sk_member_encode(m, &buf); /* a copy: sharing replaces the record's members */
    in = sk_rd_init(buf.data, buf.len);
    if (!rc && (!sk_buf_ok(&buf) || sk_member_decode(&in, &mine)))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    rc = share_members(e, rc, &mine, err);
    sk_member_free(&mine);
    sk_buf_free(&buf);
    return rc;
}

static void fill_result(const struct sk_encode *e, struct sk_encode_result *r)
{
    const struct sk_record *rec = &e->record;
    *r = (struct sk_encode_result){
        .form = e->form->name,
        .block = rec->block,
        .stripes = rec->stripes,
        .data_bytes = rec->member[e->g->rank].size_bytes,
        .parity_bytes = sk_code_parity_blocks(&rec->code, e->g->rank, rec->stripes) * rec->block,
        .seconds = sk_now() - e->started};
    r->sent_bytes = sk_carrier_sent(e->carrier, r->sent_to);
}

int sk_encode_finish(struct sk_encode *e, struct sk_encode_result *result, struct saikai_error *err)
{
    int done = 0, rc = run(e, UINT64_MAX, 1, &done);
    if (rc)
        return sk_fail(
            err, rc, "generation %llu: the ranks of the redundancy group lost contact while coding",
            (unsigned long long)e->p.generation);
    rc = exchange_hashes(e, err);
    if (rc)
        return rc;
    sk_parity_of_store(e->parity, e->p.store);
    rc = sk_parity_seal(e->parity, &e->record, !e->p.no_sync, err);
    rc = sk_group_verdict(e->g, rc, err);
    if (rc)
        return rc;
    rc = sk_parity_commit(e->parity, !e->p.no_sync, err);
    rc = sk_group_verdict(e->g, rc, err);
    if (!rc && result)
        fill_result(e, result);
    return rc;
}

int sk_encode_abandoned(const struct sk_encode *e)
{
    return e && e->abandoned;
}

void sk_encode_free(struct sk_encode *e)
{
    if (!e)
        return;
    sk_carrier_free(e->carrier);
    sk_files_free(e->data);
    sk_parity_file_free(e->parity);
    sk_record_free(&e->record);
    free(e);
}

int sk_encode(struct sk_group *g, const struct sk_encode_params *p, struct sk_encode_result *result,
              struct saikai_error *err)
{
    struct sk_encode *e = NULL;
    int rc = sk_encode_begin(g, p, &e, err);
    if (!rc)
        rc = sk_encode_finish(e, result, err);
    sk_encode_free(e);
    return rc;
}

/* Chooses for each stripe what to compute from, solves for the coefficients, and feeds the carrier
 * with blocks. */
#include "redundancy/set/repair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decode coefficients of one stripe of the period; kept, since the next periods need the same. */
struct recipe {
    int valid, wanted;
    uint8_t source[SK_MAX_DATA], want[SK_MAX_PARITY];
    uint8_t coef[SK_MAX_PARITY * SK_MAX_DATA];
};

struct sk_repair {
    struct sk_survey_group *v;
    struct sk_carrier *carrier;
    struct recipe recipe[SK_MAX_MEMBERS];
    uint64_t written;
    int rank, damaged;
    int code; /* first local failure */
    struct saikai_error why;
};

int sk_repair_wants_data(const struct sk_survey_group *v, int member)
{
    return v->data[member].holder < 0 && v->claimer[member] >= 0 && v->record.member[member].parts;
}

int sk_repair_wants_parity(const struct sk_survey_group *v, int member)
{
    return v->parity[member].holder < 0 && v->claimer[member] >= 0;
}

/* The pieces of stripe t: member_of[piece], len[piece] (data columns, then parity rows), which are
 * there, which are wanted. */
struct picture {
    int member_of[SK_MAX_MEMBERS];
    uint32_t len[SK_MAX_MEMBERS];
    uint8_t there[SK_MAX_MEMBERS], wanted[SK_MAX_MEMBERS];
};

static void look_at(const struct sk_survey_group *v, uint64_t t, struct picture *p)
{
    const struct sk_code *c = &v->record.code;
    for (int i = 0; i < c->members; i++) {
        int index;
        enum sk_role role = sk_code_role(c, t, i, &index);
        if (role == SK_ROLE_NONE)
            continue;
        int piece = role == SK_ROLE_DATA ? index : c->data + index;
        p->member_of[piece] = i;
        if (role == SK_ROLE_DATA) {
            p->len[piece] = sk_record_block_len(&v->record, i, sk_code_block(c, t, i));
            p->there[piece] =
                v->data[i].holder >= 0 || !p->len[piece]; /* past its end: known zeros */
            p->wanted[piece] = sk_repair_wants_data(v, i) && p->len[piece];
        } else {
            p->len[piece] = v->record.block;
            p->there[piece] = v->parity[i].holder >= 0;
            p->wanted[piece] = (uint8_t)sk_repair_wants_parity(v, i);
        }
    }
}

/* Choose k pieces to compute from, data first. Returns how many are wanted, -1: too few are there.
 */
static int choose(const struct sk_code *c, const struct picture *p, uint8_t *source, uint8_t *want)
{
    int sources = 0, wanted = 0;
    for (int i = 0; i < c->data + c->parity; i++) {
        if (p->there[i] && sources < c->data)
            source[sources++] = (uint8_t)i;
        if (p->wanted[i] && wanted < SK_MAX_PARITY)
            want[wanted++] = (uint8_t)i;
        else if (p->wanted[i])
            return -1;
    }
    return wanted && sources < c->data ? -1 : wanted;
}

static const struct recipe *recipe_of(struct sk_repair *r, uint64_t t, const struct picture *p)
{
    const struct sk_code *c = &r->v->record.code;
    struct recipe now = {.valid = 1}, *kept = &r->recipe[t % (uint64_t)c->period];
    now.wanted = choose(c, p, now.source, now.want);
    if (kept->valid && kept->wanted == now.wanted &&
        !memcmp(kept->source, now.source, sizeof now.source) &&
        !memcmp(kept->want, now.want, sizeof now.want))
        return kept;
    if (now.wanted > 0 && sk_decode_matrix(c->data, c->parity, c->generator, now.source, now.wanted,
                                           now.want, now.coef))
        now.wanted = -1;
    *kept = now;
    return kept;
}

/* This rank answers for the piece, and nobody looked at its bytes before. */
static int to_check(const struct sk_repair *r, int member, int is_parity)
{
    const struct sk_parity_piece *p = is_parity ? r->v->parity : r->v->data;
    return r->v->trusted && p[member].holder == r->rank;
}

/* Parity blocks that no result of the stripe needs: now, while the rank that writes what was lost
 * has the most to do. */
static void check_unused(struct sk_repair *r, uint64_t t, const struct picture *p,
                         const struct sk_stripe *s)
{
    const struct sk_code *c = &r->v->record.code;
    for (int i = c->data; i < c->data + c->parity; i++) {
        int m = p->member_of[i], used = 0;
        for (int j = 0; j < s->sources; j++)
            used |= s->source[j].member == m;
        if (!used && p->there[i] && to_check(r, m, 1) && r->v->file[m])
            r->damaged |= sk_parity_check_block(r->v->file[m], sk_code_block(c, t, m), NULL) != 0;
    }
}

static void describe(void *arg, uint64_t t, struct sk_stripe *s)
{
    struct sk_repair *r = arg;
    struct picture p;
    memset(&p, 0, sizeof p);
    look_at(r->v, t, &p);
    const struct recipe *x = recipe_of(r, t, &p);
    const int k = r->v->record.code.data;
    int column[SK_MAX_DATA];
    s->sources = 0;
    s->sinks = x->wanted > 0 ? x->wanted : 0;
    for (int j = 0; s->sinks && j < k; j++) {
        int used = 0; /* a piece that no result needs is not read */
        for (int i = 0; i < s->sinks; i++)
            used |= x->coef[i * k + j];
        if (!used || !p.len[x->source[j]])
            continue;
        column[s->sources] = j;
        s->source[s->sources++] = (struct sk_end){p.member_of[x->source[j]], p.len[x->source[j]]};
    }
    for (int i = 0; i < s->sinks; i++) {
        s->sink[i] = (struct sk_end){p.member_of[x->want[i]], p.len[x->want[i]]};
        for (int j = 0; j < s->sources; j++)
            s->coef[i * s->sources + j] = x->coef[i * k + column[j]];
    }
    check_unused(r, t, &p, s);
}

/* Now, while it is about to be in the cache. */
static void check_loaded(struct sk_repair *r, int member, uint64_t t, const uint8_t *p,
                         uint32_t len)
{
    const struct sk_code *c = &r->v->record.code;
    int index, is_parity = sk_code_role(c, t, member, &index) == SK_ROLE_PARITY;
    uint64_t number = sk_code_block(c, t, member);
    if (!to_check(r, member, is_parity))
        return;
    if (is_parity)
        r->damaged |= sk_parity_check_block(r->v->file[member], number, NULL) != 0;
    else
        r->damaged |=
            sk_files_hash_at(r->v->stream[member], number * r->v->record.block, p, len, NULL) != 0;
}

int sk_repair_found_damage(struct sk_repair *r)
{
    for (int m = 0; m < r->v->record.code.members && !r->damaged; m++) {
        struct sk_files *s = r->v->stream[m];
        if (s && to_check(r, m, 0))
            r->damaged |=
                sk_files_hash_rest(s, NULL) || sk_files_check(s, &r->v->record.member[m], NULL);
        if (r->v->file[m] && to_check(r, m, 1))
            r->damaged |= sk_parity_check(r->v->file[m], NULL) != 0;
    }
    return r->damaged;
}

static const uint8_t *load(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch)
{
    struct sk_repair *r = arg;
    const struct sk_code *c = &r->v->record.code;
    int index;
    uint64_t number = sk_code_block(c, t, member);
    const uint8_t *p = NULL;
    if (sk_code_role(c, t, member, &index) == SK_ROLE_PARITY)
        p = sk_parity_read(r->v->file[member], number, scratch, &r->why);
    else
        p = sk_files_read(r->v->stream[member], number * r->v->record.block, len, scratch, &r->why);
    if (p)
        check_loaded(r, member, t, p, len);
    if (!p) {
        r->code = r->why.code;
        memset(scratch, 0, len);
        p = scratch;
    }
    return p;
}

static uint8_t *place(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch)
{
    struct sk_repair *r = arg;
    const struct sk_code *c = &r->v->record.code;
    int index;
    if (sk_code_role(c, t, member, &index) != SK_ROLE_PARITY)
        return scratch;
    uint8_t *p = sk_parity_block(r->v->file[member], sk_code_block(c, t, member));
    return p ? p : scratch;
}

static void stored(void *arg, int member, uint64_t t, uint32_t len, const uint8_t *data)
{
    struct sk_repair *r = arg;
    const struct sk_code *c = &r->v->record.code;
    int index;
    uint64_t number = sk_code_block(c, t, member);
    r->written += len;
    if (sk_code_role(c, t, member, &index) == SK_ROLE_PARITY) {
        sk_parity_stored(r->v->file[member], number, data);
        return;
    }
    if (!r->code)
        r->code =
            sk_files_write(r->v->stream[member], number * r->v->record.block, len, data, &r->why);
    sk_files_hash(r->v->stream[member], data, len); /* results come in order */
}

static const struct sk_carrier_ops carrier_ops = {describe, load, place, stored};

static int lost(const struct sk_survey_group *v, int i)
{
    return (v->data[i].holder < 0 && v->record.member[i].size_bytes) ||
           (v->parity[i].holder < 0 && v->record.code.parity_per_period[i]);
}

static int fail_lost(const struct sk_survey_group *v, struct saikai_error *err)
{
    char list[300] = "";
    size_t at = 0;
    int n = 0;
    for (int i = 0; i < v->record.code.members; i++) {
        const struct sk_member *m = &v->record.member[i];
        if (!lost(v, i))
            continue;
        const char *what = v->data[i].holder >= 0     ? " (its parity)"
                           : v->parity[i].holder >= 0 ? " (its data)"
                                                      : "";
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s%srank %u%s", n ? ", " : "",
                                   *m->host ? m->host : "", *m->host ? " " : "", m->rank, what);
        n++;
    }
    return sk_fail(
        err, SAIKAI_ELOST,
        "generation %llu: %d of %d members of group %llu are lost and %s can give back %d: %s",
        (unsigned long long)v->record.generation, n, v->record.code.members,
        (unsigned long long)v->group, v->record.code.scheme->name, v->record.code.parity, list);
}

int sk_repair_possible(const struct sk_survey_group *v, struct saikai_error *err)
{
    /* blocks only get shorter with later periods: what the first one can give, all can */
    for (uint64_t t = 0; t < (uint64_t)v->record.code.period && t < v->record.stripes; t++) {
        struct picture p;
        uint8_t source[SK_MAX_DATA], want[SK_MAX_PARITY];
        memset(&p, 0, sizeof p);
        look_at(v, t, &p);
        if (choose(&v->record.code, &p, source, want) < 0)
            return fail_lost(v, err);
    }
    return 0;
}

int sk_repair_new(struct sk_group *g, struct sk_survey_group *v, const char *form, int window,
                  struct sk_repair **out, struct saikai_error *err)
{
    const struct sk_code *c = &v->record.code;
    struct sk_repair *r = calloc(1, sizeof *r);
    if (!r)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a rebuild");
    r->v = v;
    r->rank = g->rank;
    int rank_of[SK_MAX_MEMBERS];
    for (int i = 0; i < c->members; i++)
        rank_of[i] = v->claimer[i] >= 0       ? v->claimer[i]
                     : v->data[i].holder >= 0 ? v->data[i].holder
                                              : v->parity[i].holder;
    struct sk_carrier_setup set = {.group = g,
                                   .form = form ? sk_transfer_find(form) : &sk_transfer_pipeline,
                                   .ops = &carrier_ops,
                                   .arg = r,
                                   .members = c->members,
                                   .rank_of = rank_of,
                                   .stripes = v->record.stripes,
                                   .block = v->record.block,
                                   .max_sources = c->data,
                                   .max_sinks = c->parity,
                                   .in_order = 1,
                                   .window = window};
    int rc = set.form ? sk_carrier_new(&set, &r->carrier, err)
                      : sk_fail(err, SAIKAI_EINVAL, "unknown transfer form '%.40s'", form);
    if (rc) {
        sk_repair_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

int sk_repair_run(struct sk_repair *r, struct saikai_error *err)
{
    int done, rc = sk_carrier_step(r->carrier, UINT64_MAX, 1, &done);
    if (rc)
        return sk_fail(err, rc, "generation %llu: the ranks lost contact while it was rebuilt",
                       (unsigned long long)r->v->record.generation);
    return 0;
}

int sk_repair_status(const struct sk_repair *r, struct saikai_error *err)
{
    if (r->code && err)
        *err = r->why;
    return r->code;
}

uint64_t sk_repair_written(const struct sk_repair *r)
{
    return r->written;
}

void sk_repair_free(struct sk_repair *r)
{
    if (!r)
        return;
    sk_carrier_free(r->carrier);
    free(r);
}

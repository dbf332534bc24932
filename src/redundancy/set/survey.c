/* Opens what is here, agrees with the others on one record for each group, and places everybody's
 * pieces and claims in it. */
#include "redundancy/set/survey.h"

#include "base/clock.h"
#include "base/log.h"
#include "redundancy/transfer/exchange.h"

#include <stdlib.h>
#include <string.h>

/* A parity file of the generation that this rank has opened. */
struct found {
    struct sk_parity_header header;
    struct sk_parity_file *file;
};

/* As it is told to the others. */
struct notice {
    uint64_t group, record_hash, record_bytes;
};

struct piece_notice {
    int32_t group, member, has_data, has_parity;
};

static void found_free(struct found *f, int n)
{
    for (int i = 0; f && i < n; i++) {
        sk_parity_header_free(&f[i].header);
        sk_parity_file_free(f[i].file);
    }
    free(f);
}

void sk_survey_free(struct sk_survey *s)
{
    for (int i = 0; i < s->groups; i++) {
        struct sk_survey_group *v = &s->group[i];
        for (int m = 0; m < SK_MAX_MEMBERS; m++) {
            sk_files_free(v->stream[m]);
            sk_files_free(v->room[m]);
            sk_parity_file_free(v->file[m]);
            sk_parity_file_free(v->parity_room[m]);
        }
        sk_record_free(&v->record);
    }
    free(s->group);
    *s = (struct sk_survey){0};
}

/* An error of the device may pass: it is tried again before the piece counts as lost. 1: again. */
static int may_pass(int rc, int *tries, int *unread)
{
    static const double pause[] = {0.02, 0.1, 0.5};
    if (rc != SAIKAI_EIO)
        return 0;
    if (*tries == sizeof pause / sizeof *pause) {
        *unread = 1;
        return 0;
    }
    sk_sleep(pause[(*tries)++]);
    return 1;
}

static int open_parity(const char *path, struct found *f, int *unread)
{
    int rc, tries = 0;
    do
        rc = sk_parity_open(path, &f->header, &f->file, NULL);
    while (may_pass(rc, &tries, unread));
    return rc;
}

static void open_data(const char *dir, const struct sk_member *m, struct sk_files **out, int *unread)
{
    int rc, tries = 0;
    do
        rc = sk_files_open_member(dir, m, SK_FILES_MAP, out, NULL);
    while (may_pass(rc, &tries, unread));
}

/* Parity of version 1, or of files without a store, says nothing: the containers that it gives back say whose they are. */
static int is_of_store(const struct sk_rebuild_params *p, const struct found *f, const char *path)
{
    char theirs[SK_ID_TEXT], ours[SK_ID_TEXT];
    if (sk_id_none(p->store) || sk_id_none(f->header.store) || sk_id_same(p->store, f->header.store))
        return 1;
    sk_log(SK_LOG_WARN, "%s is of the store %s, not of %s: it is not used", path, sk_id_print(f->header.store, theirs),
           sk_id_print(p->store, ours));
    return 0;
}

/* Open what is readable; anything else counts as lost. */
static int look(const struct sk_rebuild_params *p, struct found **out, int *unread, struct saikai_error *err)
{
    struct found *f = calloc(p->holdings ? (size_t)p->holdings : 1, sizeof *f);
    if (!f)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a survey of %d holdings", p->holdings);
    for (int i = 0; i < p->holdings; i++) {
        const char *path = p->holding[i].parity_path;
        if (!path || open_parity(path, &f[i], unread))
            continue;
        uint32_t rank = f[i].header.record.member[f[i].header.member].rank;
        if (f[i].header.record.generation != p->generation || !is_of_store(p, &f[i], path) ||
            (p->holding[i].rank != SK_RANK_UNKNOWN && p->holding[i].rank != rank)) {
            sk_parity_file_free(f[i].file);
            f[i].file = NULL;
        }
    }
    *out = f;
    return 0;
}

static int by_group(const void *a, const void *b)
{
    const struct notice *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->record_hash < y->record_hash ? -1 : x->record_hash > y->record_hash;
}

/* Of each group the record that most files agree on: *list gets one notice per group. */
static int elect(struct notice *all, int n, struct notice *list)
{
    int groups = 0, best = 0;
    qsort(all, (size_t)n, sizeof *all, by_group);
    for (int i = 0; i < n;) {
        int same = 1;
        while (i + same < n && !by_group(&all[i], &all[i + same]))
            same++;
        int is_new = !groups || list[groups - 1].group != all[i].group;
        if (is_new || same > best) {
            best = same;
            list[is_new ? groups++ : groups - 1] = all[i];
        }
        i += same;
    }
    return groups;
}

/* Collective: the groups of all files that any rank found, each with the record that most of them agree on. */
static int share_notices(struct sk_group *g, int code, const struct found *f, int n,
                         struct notice **list, int *groups, struct saikai_error *err)
{
    struct sk_buf buf = {0}, record = {0};
    struct sk_exchange x;
    for (int i = 0; !code && i < n; i++)
        if (f[i].file) {
            record.len = 0;
            sk_record_encode(&f[i].header.record, &record);
            struct notice mine = {f[i].header.record.group, f[i].header.record_hash, record.len};
            sk_buf_put(&buf, &mine, sizeof mine);
        }
    if (!sk_buf_ok(&buf) || !sk_buf_ok(&record))
        code = sk_fail(err, SAIKAI_ENOMEM, "no memory for a survey");
    int rc = sk_exchange(g, code, buf.data, buf.len, &x, err);
    size_t total = 0;
    for (int r = 0; !rc && r < g->size; r++)
        total += x.size[r] / sizeof(struct notice);
    struct notice *all = rc ? NULL : calloc(total + 1, sizeof *all);
    *list = rc ? NULL : calloc(total + 1, sizeof **list);
    if (!rc)
        rc = sk_group_verdict(
            g, all && *list ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a survey"), err);
    int at = 0;
    for (int r = 0; !rc && r < g->size; r++) {
        memcpy(all + at, sk_exchange_at(&x, r), x.size[r]);
        at += (int)(x.size[r] / sizeof *all);
    }
    if (!rc)
        *groups = elect(all, at, *list);
    free(all);
    sk_exchange_free(&x);
    sk_buf_free(&buf);
    sk_buf_free(&record);
    return rc;
}

/* The record of one group, from the lowest rank that has it. */
static int share_record(struct sk_group *g, const struct notice *n, const struct found *f,
                        int holdings, struct sk_record *r, struct saikai_error *err)
{
    const struct found *mine = NULL;
    for (int i = 0; i < holdings && !mine; i++)
        if (f[i].file && f[i].header.record_hash == n->record_hash &&
            f[i].header.record.group == n->group)
            mine = &f[i];
    int64_t root = mine ? g->rank : g->size;
    struct sk_buf buf = {0};
    int rc = sk_group_allreduce(g, &root, 1, SK_OP_MIN);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact during a survey");
    if (root == g->rank)
        sk_record_encode(&mine->header.record, &buf);
    else
        sk_buf_extend(&buf, n->record_bytes);
    rc = sk_group_verdict(
        g, sk_buf_ok(&buf) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a record"), err);
    if (!rc && (rc = sk_group_bcast(g, buf.data, n->record_bytes, (int)root)))
        sk_fail(err, rc, "the ranks lost contact during a survey");
    if (!rc)
        rc = sk_record_decode(buf.data, n->record_bytes, r, err);
    sk_buf_free(&buf);
    return rc;
}

static int find_rank(const struct sk_survey *s, uint32_t rank, int *group, int *member)
{
    for (int i = 0; i < s->groups; i++)
        for (int m = 0; m < s->group[i].record.code.members; m++)
            if (s->group[i].record.member[m].rank == rank) {
                *group = i;
                *member = m;
                return 1;
            }
    return 0;
}

static int is_good(struct sk_files *s, const struct sk_member *m)
{
    return !sk_files_hash_rest(s, NULL) && !sk_files_check(s, m, NULL);
}

/* A directory whose parity file is gone and whose rank nobody knows: whose files are in it? Names,
 * sizes and checksums tell. */
static void recognise(const char *dir, struct sk_survey *s)
{
    for (int i = 0; i < s->groups; i++)
        for (int m = 0; m < s->group[i].record.code.members; m++) {
            struct sk_survey_group *v = &s->group[i];
            struct sk_files *files;
            if (v->stream[m] || !v->record.member[m].size_bytes ||
                sk_files_open_member(dir, &v->record.member[m], SK_FILES_MAP, &files, NULL))
                continue;
            if (is_good(files, &v->record.member[m])) {
                v->stream[m] = files;
                return;
            }
            sk_files_free(files);
        }
}

/* Put this rank's parity files and data files into the picture. */
static void place_holdings(const struct sk_rebuild_params *p, struct found *f, struct sk_survey *s)
{
    for (int i = 0; i < p->holdings; i++) {
        const char *dir = p->holding[i].dir;
        uint32_t rank = p->holding[i].rank;
        if (f[i].file)
            rank = f[i].header.record.member[f[i].header.member].rank;
        int group, member;
        if (rank == SK_RANK_UNKNOWN && dir)
            recognise(dir, s);
        if (rank == SK_RANK_UNKNOWN || !find_rank(s, rank, &group, &member))
            continue;
        struct sk_survey_group *v = &s->group[group];
        if (f[i].file && f[i].header.record_hash == v->record_hash &&
            f[i].header.member == member && !v->file[member]) {
            v->file[member] = f[i].file;
            f[i].file = NULL;
        }
        if (dir && !v->stream[member])
            open_data(dir, &v->record.member[member], &v->stream[member], &s->unread);
    }
}

/* A claimed piece that is not here has to be written here, wherever it comes from. */
static int make_room(struct sk_survey *s, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < s->groups; i++)
        for (int m = 0; !rc && m < s->group[i].record.code.members; m++) {
            struct sk_survey_group *v = &s->group[i];
            if (v->claim[m] && !v->stream[m])
                rc = sk_files_create(v->claim[m]->dir, &v->record.member[m], &v->room[m], err);
            if (!rc && v->claim[m] && !v->file[m])
                rc = sk_parity_create(v->claim[m]->parity_path, NULL, NULL, &v->record, m,
                                      &v->parity_room[m], err);
        }
    return rc;
}

/* Damaged pieces count as lost. Where they are trusted, only what tells whether their bytes are
 * good. */
static void check_pieces(struct sk_survey *s, int trust)
{
    for (int i = 0; i < s->groups; i++)
        for (int m = 0; m < s->group[i].record.code.members; m++) {
            struct sk_survey_group *v = &s->group[i];
            v->trusted = trust;
            if (v->stream[m] && !trust && !is_good(v->stream[m], &v->record.member[m])) {
                sk_files_free(v->stream[m]);
                v->stream[m] = NULL;
            }
            if (v->file[m] && (trust ? sk_parity_check_table(v->file[m], NULL)
                                     : sk_parity_check(v->file[m], NULL))) {
                sk_parity_file_free(v->file[m]);
                v->file[m] = NULL;
            }
        }
}

static int place_claims(const struct sk_rebuild_params *p, struct sk_survey *s,
                        struct saikai_error *err)
{
    for (int i = 0; i < p->claims; i++) {
        int group, member;
        if (!find_rank(s, p->claim[i].rank, &group, &member))
            return sk_fail(err, SAIKAI_ELOST,
                           "generation %llu: nothing is left of the group of rank %u",
                           (unsigned long long)p->generation, p->claim[i].rank);
        if (s->group[group].claim[member])
            return sk_fail(err, SAIKAI_EINVAL, "rank %u is claimed twice", p->claim[i].rank);
        s->group[group].claim[member] = &p->claim[i];
    }
    return 0;
}

static int list_pieces(const struct sk_survey *s, struct sk_buf *out)
{
    for (int i = 0; i < s->groups; i++)
        for (int m = 0; m < s->group[i].record.code.members; m++) {
            const struct sk_survey_group *v = &s->group[i];
            if (!v->stream[m] && !v->file[m] && !v->claim[m])
                continue;
            struct piece_notice n = {i, v->claim[m] ? m + SK_MAX_MEMBERS : m, v->stream[m] != NULL,
                                     v->file[m] != NULL};
            sk_buf_put(out, &n, sizeof n);
        }
    return sk_buf_ok(out) ? 0 : SAIKAI_ENOMEM;
}

static int take_notices(struct sk_survey *s, const struct sk_exchange *x, int rank,
                        struct saikai_error *err)
{
    for (size_t k = 0; k < x->size[rank] / sizeof(struct piece_notice); k++) {
        struct piece_notice n;
        memcpy(&n, sk_exchange_at(x, rank) + k * sizeof n, sizeof n);
        int claims = n.member >= SK_MAX_MEMBERS, member = n.member % SK_MAX_MEMBERS;
        struct sk_survey_group *v = &s->group[n.group];
        if (claims && v->claimer[member] >= 0)
            return sk_fail(err, SAIKAI_EINVAL, "rank %u is claimed by the processes %d and %d",
                           v->record.member[member].rank, v->claimer[member], rank);
        if (claims)
            v->claimer[member] = rank;
        if (n.has_data && (v->data[member].holder < 0 || claims))
            v->data[member].holder = rank;
        if (n.has_parity && (v->parity[member].holder < 0 || claims))
            v->parity[member].holder = rank;
    }
    return 0;
}

static int share_pieces(struct sk_group *g, int code, struct sk_survey *s, struct saikai_error *err)
{
    struct sk_buf buf = {0};
    struct sk_exchange x;
    if (!code && list_pieces(s, &buf))
        code = sk_fail(err, SAIKAI_ENOMEM, "no memory for a survey");
    int rc = sk_exchange(g, code, buf.data, buf.len, &x, err);
    for (int i = 0; !rc && i < s->groups; i++)
        for (int m = 0; m < SK_MAX_MEMBERS; m++)
            s->group[i].data[m].holder = s->group[i].parity[m].holder = s->group[i].claimer[m] = -1;
    for (int r = 0; !rc && r < g->size; r++)
        rc = take_notices(s, &x, r, err);
    for (int i = 0; !rc && i < s->groups; i++)
        for (int m = 0; m < SK_MAX_MEMBERS; m++) {
            /* a member that nobody claims works where its data are: parity elsewhere does not count
             */
            struct sk_survey_group *v = &s->group[i];
            if (v->claimer[m] < 0 && v->data[m].holder >= 0 &&
                v->parity[m].holder != v->data[m].holder)
                v->parity[m].holder = -1;
        }
    sk_exchange_free(&x);
    sk_buf_free(&buf);
    return rc;
}

static int survey(struct sk_group *g, const struct sk_rebuild_params *p, int trust,
                  struct found **f, struct sk_survey *s, struct saikai_error *err)
{
    struct notice *list = NULL;
    int groups = 0, rc = look(p, f, &s->unread, err);
    rc = share_notices(g, rc, *f, p->holdings, &list, &groups, err);
    if (!rc && !groups)
        rc = sk_fail(err, SAIKAI_ENOENT, "no parity file of generation %llu is left on any rank",
                     (unsigned long long)p->generation);
    if (!rc) {
        s->group = calloc((size_t)groups, sizeof *s->group);
        rc = sk_group_verdict(
            g,
            s->group ? 0
                     : sk_fail(err, SAIKAI_ENOMEM, "no memory for a survey of %d groups", groups),
            err);
    }
    for (int i = 0; !rc && i < groups; i++) {
        rc = share_record(g, &list[i], *f, p->holdings, &s->group[i].record, err);
        s->group[i].group = list[i].group;
        s->group[i].record_hash = list[i].record_hash;
        s->groups = i + 1;
    }
    free(list);
    if (rc)
        return rc;
    place_holdings(p, *f, s);
    rc = place_claims(p, s, err);
    if (!rc)
        rc = make_room(s, err);
    if (!rc)
        check_pieces(s, trust);
    return share_pieces(g, rc, s, err);
}

/* What is lost for want of pieces that are there and could not be read is no loss: it may be whole next time. */
static int share_unread(struct sk_group *g, struct sk_survey *s, int rc, struct saikai_error *err)
{
    int64_t unread = s->unread;
    if (rc && rc != SAIKAI_ELOST && rc != SAIKAI_ENOENT)
        return rc;
    int lost = sk_group_allreduce(g, &unread, 1, SK_OP_MAX);
    if (lost)
        return sk_fail(err, lost, "the ranks lost contact during a survey");
    s->unread = unread != 0;
    return rc && s->unread ? sk_survey_unread(err) : rc;
}

int sk_survey_unread(struct saikai_error *err)
{
    sk_error_prefix(err, "pieces could not be read (input/output error)");
    if (err)
        err->code = SAIKAI_EIO;
    return SAIKAI_EIO;
}

int sk_survey(struct sk_group *g, const struct sk_rebuild_params *p, int trust, struct sk_survey *s,
              struct saikai_error *err)
{
    struct found *f = NULL;
    *s = (struct sk_survey){0};
    int rc = survey(g, p, trust, &f, s, err);
    rc = share_unread(g, s, rc, err);
    found_free(f, p->holdings);
    if (rc)
        sk_survey_free(s);
    return rc;
}

/* Looks for the newest protected set that the ranks have together, makes it and the sets below it
 * whole, and tries an older one when that fails. */
#include "lib/restart/recover.h"

#include "base/log.h"
#include "lib/levels/neighbours.h"
#include "redundancy/set/rebuild.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sk_recovery {
    struct sk_recovery_setup s;
    struct sk_holdings held;    /* on this node */
    int *ranks, rank_count;     /* whose files on this node this process offers */
    struct sk_parity_set *done; /* sets that were tried */
    int done_count, done_cap;
    struct saikai_error trouble; /* the first failure that was no loss */
};

/* ---- what is here ---- */

static int offers(const struct sk_recovery *r, int rank)
{
    for (int i = 0; i < r->rank_count; i++)
        if (r->ranks[i] == rank)
            return 1;
    return 0;
}

/* Of the ranks whose files are on this node, ours and, as the lowest one of the node, those that
 * run elsewhere now. */
static int choose_offers(struct sk_recovery *r, const int *leader, struct saikai_error *err)
{
    int me = r->s.g->rank;
    r->ranks = calloc(r->held.count + 1, sizeof *r->ranks);
    if (!r->ranks)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of ranks");
    r->ranks[r->rank_count++] = me;
    for (size_t i = 0; leader[me] == me && i < r->held.count; i++) {
        int rank = r->held.entry[i].rank, runs_here = rank < r->s.g->size && leader[rank] == me;
        if (!runs_here && !offers(r, rank))
            r->ranks[r->rank_count++] = rank;
    }
    return 0;
}

int sk_recovery_new(const struct sk_recovery_setup *s, struct sk_recovery **out,
                    struct saikai_error *err)
{
    struct sk_recovery *r = calloc(1, sizeof *r);
    int *leader = NULL;
    int rc = r ? sk_holdings_scan(s->root, &r->held, err)
               : sk_fail(err, SAIKAI_ENOMEM, "no memory for a recovery");
    if (r)
        r->s = *s;
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        rc = sk_neighbours(s->g, s->host, s->root, &leader, err);
    if (!rc)
        rc = sk_group_verdict(s->g, choose_offers(r, leader, err), err);
    free(leader);
    if (rc)
        sk_recovery_free(r);
    else
        *out = r;
    return rc;
}

void sk_recovery_free(struct sk_recovery *r)
{
    if (!r)
        return;
    sk_holdings_free(&r->held);
    free(r->ranks);
    free(r->done);
    free(r);
}

/* ---- which set ---- */

static int was_tried(const struct sk_recovery *r, struct sk_parity_set set)
{
    for (int i = 0; i < r->done_count; i++)
        if (!sk_parity_set_compare(r->done[i], set))
            return 1;
    return 0;
}

/* The newest set here in (above, most] that is older than `below` (coder 0: any) and, with fresh,
 * was not tried. */
static struct sk_parity_set newest_here(const struct sk_recovery *r, int64_t above, int64_t most,
                                        struct sk_parity_set below, int fresh)
{
    for (size_t i = 0; i < r->held.count; i++) {
        const struct sk_holding_entry *e = &r->held.entry[i];
        struct sk_parity_set set = {e->gen, e->coder};
        int64_t key = sk_gen_key(e->gen);
        if (e->coder && key > above && key <= most &&
            e->gen.incarnation >= r->s.first_incarnation &&
            (!below.coder || sk_parity_set_compare(set, below) < 0) &&
            !(fresh && was_tried(r, set)))
            return set;
    }
    return (struct sk_parity_set){0};
}

/* The newest one of all ranks. */
static int agree(struct sk_recovery *r, struct sk_parity_set mine, struct sk_parity_set *out)
{
    int64_t key = mine.coder ? sk_gen_key(mine.gen) : 0, newest = key;
    int rc = sk_group_allreduce(r->s.g, &newest, 1, SK_OP_MAX);
    int64_t coder = mine.coder && key == newest ? mine.coder : 0;
    if (!rc)
        rc = sk_group_allreduce(r->s.g, &coder, 1, SK_OP_MAX);
    *out = coder ? (struct sk_parity_set){sk_gen_of_key(newest), (uint32_t)coder}
                 : (struct sk_parity_set){0};
    return rc;
}

/* ---- making it whole ---- */

/* Collective: this set made whole on all nodes, from what any of them holds of it. */
static int rebuild_set(struct sk_recovery *r, struct sk_parity_set set,
                       struct sk_recovery_result *result, struct saikai_error *err)
{
    size_t n = (size_t)r->rank_count;
    char(*path)[PATH_MAX] = calloc(n, sizeof *path);
    struct sk_holding *holding = calloc(n, sizeof *holding);
    int rc = path && holding ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a recovery");
    for (size_t i = 0; !rc && i < n; i++) {
        rc = sk_parity_set_path(r->s.root, set, r->ranks[i], path[i], sizeof *path, err);
        holding[i] = (struct sk_holding){path[i], r->s.root, (uint32_t)r->ranks[i]};
    }
    rc = sk_group_verdict(r->s.g, rc, err);
    if (!rc) {
        int by_model = sk_is_auto(r->s.form);
        struct sk_claim claim = {(uint32_t)r->s.g->rank, path[0], r->s.root};
        struct sk_rebuild_params p = {.generation = (uint64_t)sk_gen_key(set.gen),
                                      .store = r->s.store,
                                      .holding = holding,
                                      .holdings = (int)n,
                                      .claim = &claim,
                                      .claims = 1,
                                      .form = by_model ? NULL : r->s.form,
                                      .no_sync = !r->s.sync};
        struct sk_rebuild_result v;
        rc = sk_rebuild(r->s.g, &p, &v, err);
        if (!rc) {
            result->lost_data += v.lost_data;
            result->lost_parity += v.lost_parity;
            result->moved += v.moved;
            result->seconds += v.seconds;
        }
    }
    free(holding);
    free(path);
    return rc;
}

/* Key of the oldest generation that this rank's file builds on, as far as that can be seen; *closed
 * 0: something older is missing here, -1: it cannot be read. */
static int64_t oldest_base(const struct sk_recovery *r, struct sk_gen gen, int *closed)
{
    struct sk_gen base;
    *closed = 1;
    for (int n = 0; n < SK_LINEAGE_MAX; n++) {
        int rc = sk_lineage_base(r->s.root, gen, r->s.g->rank, &base, NULL);
        if (rc) {
            *closed = rc == SAIKAI_EIO ? -1 : 0;
            break;
        }
        if (!base.incarnation)
            break;
        gen = base;
    }
    return sk_gen_key(gen);
}

/* The set, and the older sets that hold what its files build on. */
static int rebuild_chain(struct sk_recovery *r, struct sk_parity_set set,
                         struct sk_recovery_result *result, struct saikai_error *err)
{
    struct sk_gen gen = set.gen;
    for (;;) {
        int closed;
        int rc = rebuild_set(r, set, result, err);
        if (rc)
            return rc;
        int64_t v[2] = {oldest_base(r, gen, &closed), 0};
        v[1] = closed;
        if ((rc = sk_group_allreduce(r->s.g, v, 2, SK_OP_MIN)))
            return sk_fail(err, rc, "the ranks lost contact");
        struct sk_parity_set older;
        if ((rc = agree(r, newest_here(r, v[0] - 1, sk_gen_key(set.gen) - 1, set, 0), &older)))
            return sk_fail(err, rc, "the ranks lost contact");
        if (!older.coder)
            return v[1] > 0 ? 0
                            : sk_fail(err, v[1] ? SAIKAI_EIO : SAIKAI_ELOST, "what it builds on (iteration %lld) %s",
                                      (long long)sk_gen_of_key(v[0]).iteration, v[1] ? "cannot be read" : "is lost");
        set = older;
    }
}

/* The rooms below number generations; people know iterations. */
static void rename_generation(const struct saikai_error *e, struct sk_gen gen, char *out,
                              size_t cap)
{
    char number[40];
    int n =
        snprintf(number, sizeof number, "generation %llu: ", (unsigned long long)sk_gen_key(gen));
    const char *at = strstr(e->text, number), *rest = at ? at + n : NULL;
    if (rest)
        snprintf(out, cap, "%.*s%s", (int)(at - e->text), e->text, rest);
    else
        snprintf(out, cap, "%s", e->text);
}

static void tell_failure(struct sk_recovery *r, struct sk_parity_set set,
                         const struct saikai_error *why, int is_lost)
{
    char text[sizeof why->text];
    rename_generation(why, set.gen, text, sizeof text);
    if (r->s.g->rank == 0)
        sk_log(SK_LOG_WARN, "the protected generation of iteration %lld cannot be given back: %s",
               (long long)set.gen.iteration, text);
    if (!is_lost && !r->trouble.code)
        sk_fail(&r->trouble, why->code,
                "the protected generation of iteration %lld cannot be given back now: %s",
                (long long)set.gen.iteration, text);
}

static int note_tried(struct sk_recovery *r, struct sk_parity_set set, struct saikai_error *err)
{
    if (r->done_count == r->done_cap) {
        int cap = r->done_cap ? 2 * r->done_cap : 16;
        struct sk_parity_set *p = realloc(r->done, (size_t)cap * sizeof *p);
        if (!p)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for a recovery");
        r->done = p;
        r->done_cap = cap;
    }
    r->done[r->done_count++] = set;
    return 0;
}

int sk_recovery_make_whole(struct sk_recovery *r, int64_t above, int64_t most, int64_t *key,
                           struct sk_recovery_result *result, struct saikai_error *err)
{
    *key = 0;
    for (;;) {
        struct sk_parity_set set;
        struct saikai_error why = {0};
        struct sk_recovery_result now = {0};
        int rc = agree(r, newest_here(r, above, most, (struct sk_parity_set){0}, 1), &set);
        if (rc)
            return sk_fail(err, rc, "the ranks could not agree on what to rebuild");
        if (!set.coder)
            return 0;
        if ((rc = sk_group_verdict(r->s.g, note_tried(r, set, err), err)))
            return rc;
        if (!(rc = rebuild_chain(r, set, &now, &why))) {
            *key = sk_gen_key(set.gen);
            *result = now;
            return 0;
        }
        int64_t is_lost = rc == SAIKAI_ELOST || rc == SAIKAI_ENOENT;
        if (sk_group_allreduce(r->s.g, &is_lost, 1, SK_OP_MAX))
            return sk_fail(err, rc, "%s", why.text);
        tell_failure(r, set, &why, is_lost != 0);
    }
}

int sk_recovery_trouble(const struct sk_recovery *r, struct saikai_error *err)
{
    if (r && r->trouble.code && err)
        *err = r->trouble;
    return r ? r->trouble.code : 0;
}

/* What earlier starts left in the local directory and nobody needs: known when the ranks have agreed on what to go on from. It
 * goes before anything new takes memory, so that no sequence of kills makes it more than one start's. */
#include "lib/restart/leftovers.h"

#include "lib/engine/retention.h"
#include "lib/restart/far.h"
#include "store/holdings.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* This rank's newest generation up to bound, wherever it is. */
static int64_t newest_up_to(const struct sk_gen_list l[2], int64_t bound)
{
    int64_t best = 0;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < l[i].count; k++)
            if (sk_gen_key(l[i].gen[k]) <= bound && sk_gen_key(l[i].gen[k]) > best)
                best = sk_gen_key(l[i].gen[k]);
    return best;
}

/* Collective: what was passed over although every rank has it, newest first, stays as well: it may have been a file system's
 * fault. Of what is older, as many as are kept. A prefix that does not answer (*silent) has no say in that: what the nodes hold
 * together stays, and what lies there alone nobody touches. */
static int find_whole(struct sk_session *s, struct sk_keys *whole, int *silent_prefix)
{
    struct sk_gen_list l[2] = {{0}};
    int64_t bound = INT64_MAX, least = s->resume.from.incarnation ? sk_gen_key(s->resume.from) : 0;
    int64_t older = 0, keep = sk_config_int(s->config, "store.keep_local"), silent = 0;
    sk_gen_scan(s->place.local_root, s->g->rank, &l[0], NULL);
    if (*s->place.prefix_root && !s->place.prefix_away)
        silent = sk_far_scan(s, s->g->rank, &l[1], NULL) == SAIKAI_ETIMEDOUT;
    int rc = sk_group_allreduce(s->g, &silent, 1, SK_OP_MAX);
    *silent_prefix = silent != 0;
    if (silent)
        sk_gen_list_free(&l[1]); /* for all ranks, so that all decide from the same */
    while (!rc && bound > 0 && older < keep && whole->count < SK_KEYS_MAX) {
        int64_t mine = newest_up_to(l, bound), v[2] = {mine, -mine};
        if ((rc = sk_group_allreduce(s->g, v, 2, SK_OP_MIN)))
            break;
        if (v[0] && v[0] == -v[1]) { /* else somebody has nothing newer */
            whole->key[whole->count++] = v[0];
            older += v[0] <= least;
        }
        bound = v[0] == -v[1] ? v[0] - 1 : v[0];
    }
    sk_gen_list_free(&l[0]);
    sk_gen_list_free(&l[1]);
    return rc;
}

static void keep(struct sk_keys *keys, int64_t key)
{
    for (int i = 0; i < keys->count; i++)
        if (keys->key[i] == key)
            return;
    if (keys->count < SK_KEYS_MAX)
        keys->key[keys->count++] = key;
}

/* The generation, and what this rank's file of it builds on. */
static void keep_chain(const struct sk_session *s, struct sk_keys *keys, struct sk_gen g)
{
    struct sk_gen base = {0};
    for (int n = 0; g.incarnation && n < SK_LINEAGE_MAX; n++, g = base) {
        keep(keys, sk_gen_key(g));
        if (sk_lineage_base(s->place.local_root, g, s->g->rank, &base, NULL))
            break;
    }
}

/* Collective: when nothing could be given back, the newest that were coded stay: a piece that could not be read now, or a node
 * that is away, may be there at the next start. */
static int find_coded(struct sk_session *s, struct sk_keys *keys)
{
    struct sk_holdings h = {0};
    int64_t most = sk_config_int(s->config, "store.keep_local"), bound = INT64_MAX;
    int rc = 0;
    sk_holdings_scan(s->place.local_root, &h, NULL);
    for (int64_t k = 0; !rc && bound > 0 && k < most; k++) {
        int64_t newest = 0;
        for (size_t i = 0; i < h.count; i++) {
            int64_t key = sk_gen_key(h.entry[i].gen);
            if (h.entry[i].coder && h.entry[i].gen.incarnation >= s->who.first_incarnation && key <= bound && key > newest)
                newest = key;
        }
        rc = sk_group_allreduce(s->g, &newest, 1, SK_OP_MAX);
        if (!rc && newest)
            keep_chain(s, keys, sk_gen_of_key(newest));
        bound = newest - 1;
    }
    sk_holdings_free(&h);
    return rc;
}

/* What could not be read stays, but a file system that is silent again and again must not fill the memory: this rank's newest, as
 * many as one start has. 0: they are too many to list. */
static int newest_unread(const struct sk_session *s, struct sk_keys *keys)
{
    struct sk_gen_list l;
    size_t most = (size_t)sk_config_int(s->config, "store.keep_local") + 3;
    if (sk_gen_scan(s->place.local_root, s->g->rank, &l, NULL))
        return 0;
    for (size_t i = 0; i < l.count && i < most; i++)
        keep_chain(s, keys, l.gen[i]);
    sk_gen_list_free(&l);
    return keys->count < SK_KEYS_MAX;
}

int sk_session_remove_leftovers(struct sk_session *s)
{
    struct sk_keys whole = {0};
    if (s->resume.from_others || !sk_session_has_local(s) || !strcmp(s->place.local_root, s->place.prefix_root))
        return 0;
    if (s->resume.unread) {
        if (s->resume.from.incarnation && newest_unread(s, &whole))
            sk_engine_remove_leftovers(s->levels.engine, s->who.first_incarnation, &whole, 1);
        return 0;
    }
    int silent, rc = find_whole(s, &whole, &silent);
    if (!rc && silent && !s->resume.from.incarnation) /* nobody knows what there is to go on from: at the next start */
        return 0;
    if (!rc && !s->resume.from.incarnation)
        rc = find_coded(s, &whole);
    char path[PATH_MAX];
    for (int k = 0; !rc && s->resume.from.incarnation && k < whole.count; k++) { /* older ones stay as those of this start do */
        struct sk_gen g = sk_gen_of_key(whole.key[k]);
        if (whole.key[k] < sk_gen_key(s->resume.from) && !sk_gen_file(s->place.local_root, g, s->g->rank, path, sizeof path, NULL) &&
            !access(path, F_OK))
            sk_engine_adopt(s->levels.engine, g);
    }
    if (!rc)
        sk_engine_remove_leftovers(s->levels.engine, s->who.first_incarnation, &whole, 0);
    return rc;
}

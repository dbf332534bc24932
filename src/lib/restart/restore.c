/* Restart: which generation all ranks can give, and reading it. */
#include "lib/restart/restore.h"

#include "archive/read/content.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patient_io.h"
#include "base/order.h"
#include "lib/restart/chosen.h"
#include "lib/restart/far.h"
#include "lib/start/memo.h"
#include "lib/start/notice.h"
#include "lib/restart/own_part.h"
#include "lib/restart/reach.h"
#include "lib/restart/recover.h"
#include "lib/restart/reshape.h"
#include "lib/start/tries.h"
#include "store/form/lineage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys of this rank's generations in both directories, newest first. */
struct offer {
    int64_t *key;
    size_t count;
    struct sk_gen hidden; /* the newest that nobody can look into, in one of them; hidden_errno 0: there is none */
    const char *hidden_in;
    int hidden_errno;
};

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return SK_ORDER(y, x);
}

/* Those of this run; frees the list. */
static int add_offers(const struct sk_session *s, struct sk_gen_list *l, struct offer *o, struct saikai_error *err)
{
    int64_t *p = realloc(o->key, (o->count + l->count + 1) * sizeof *p);
    int rc = p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to list the generations");
    if (p)
        o->key = p;
    for (size_t k = 0; !rc && k < l->count; k++)
        if (l->gen[k].incarnation >= s->who.first_incarnation)
            o->key[o->count++] = sk_gen_key(l->gen[k]);
    sk_gen_list_free(l);
    return rc;
}

/* What this rank can be given from one level. When any number of ranks can read a generation, what the levels have rank by rank was
 * looked at already, by all together (reshape_offers.c). */
static int add_level(struct sk_session *s, const struct sk_level_ops *ops, int is_far, struct offer *o, struct saikai_error *err)
{
    const char *root = is_far ? s->place.prefix_root : s->place.local_root;
    struct sk_gen_list l = {0};
    if (!*root || !ops->list || (s->resume.reshapable && !ops->to_any))
        return 0;
    int rc = is_far ? sk_far_list(s, ops, &l, err) : ops->list(root, s->g->rank, &l, err);
    if (!rc && l.hidden_errno && l.hidden.incarnation >= s->who.first_incarnation && (!o->hidden_errno || sk_gen_key(l.hidden) > sk_gen_key(o->hidden))) {
        o->hidden = l.hidden;
        o->hidden_errno = l.hidden_errno;
        o->hidden_in = root;
    }
    return rc ? rc : add_offers(s, &l, o, err);
}

/* By rank 0 for all: it sees the prefix as the others do, and of the nodes its own. */
static void tell_hidden(const struct sk_session *s, const struct offer *o)
{
    char name[48];
    if (s->g->rank || !o->hidden_errno)
        return;
    sk_gen_name(o->hidden, name);
    sk_log(SK_LOG_WARN, "generation %s of iteration %lld is left out: %s/%s cannot be looked into (%s); see to it that this user can, or remove it", name,
           (long long)o->hidden.iteration, o->hidden_in, name, strerror(o->hidden_errno));
}

static int list_offers(struct sk_session *s, struct offer *o, struct saikai_error *err)
{
    *o = (struct offer){0};
    int rc = s->resume.reshapable ? sk_reshape_offers(s, &o->key, &o->count, err) : 0;
    if (!rc)
        rc = add_level(s, &sk_level_local, 0, o, err);
    for (int i = 0; !rc && sk_level_far_at(i); i++)
        rc = add_level(s, sk_level_far_at(i), 1, o, err);
    if (!rc && o->count)
        qsort(o->key, o->count, sizeof *o->key, newest_first);
    if (!rc)
        o->count = sk_chosen_filter(s, o->key, o->count);
    return rc;
}

static int64_t newest_up_to(const struct offer *o, int64_t bound)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->key[i] <= bound)
            return o->key[i];
    return 0;
}

/* The newest key <= bound that every rank has, 0: none. *seen: the newest that any rank has. */
static int agree(struct sk_session *s, const struct offer *o, int64_t bound, int64_t *key, int64_t *seen)
{
    *seen = 0;
    for (;;) {
        int64_t mine = newest_up_to(o, bound), v[2] = {mine, -mine};
        int rc = sk_group_allreduce(s->g, v, 2, SK_OP_MIN);
        if (rc)
            return rc;
        if (!*seen)
            *seen = -v[1];
        if (!v[0] || v[0] == -v[1]) {
            *key = v[0];
            return 0;
        }
        bound = v[0]; /* somebody has nothing newer */
    }
}

/* 1: restored; 0: not usable, try an older one (*passed counts those that were not even read); negative: give up. */
static int try_generation(struct sk_session *s, struct sk_gen g, int *passed, struct saikai_error *err)
{
    int allowed;
    uint64_t run_id = 0;
    struct saikai_error why = {0};
    int rc = sk_tries_may(s, g, &allowed, err);
    if (rc || !allowed) {
        *passed += !rc;
        return rc;
    }
    int mine = sk_own_part_read(s, g, &run_id, &why);
    rc = sk_own_part_read_archived(s, g, &mine, &run_id, &why);
    int64_t other = mine == SK_OTHER_TILES;
    if (!rc)
        rc = sk_group_allreduce(s->g, &other, 1, SK_OP_MAX);
    s->resume.from_others = other != 0;
    if (!rc && other)
        mine = sk_reshape_read(s, g, &run_id, &why);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on a generation");
    int fatal = mine == SAIKAI_ECHANGED || mine == SAIKAI_ERANKS || mine == SAIKAI_ENOMEM;
    int64_t v[5] = {mine, -fatal, (int64_t)(run_id >> 1), -(int64_t)(run_id >> 1), -(mine == SAIKAI_EIO || mine == SAIKAI_ETIMEDOUT)};
    rc = sk_group_allreduce(s->g, v, 5, SK_OP_MIN);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on a generation");
    if (!v[0] && v[2] == -v[3])
        return 1;
    sk_tries_end(s, g, 0); /* no program that reads nothing dies of it */
    if (v[1]) { /* a wrong program or a wrong number of ranks is no reason to lose progress */
        rc = sk_group_verdict(s->g, fatal ? mine : 0, &why);
        if (err)
            *err = why;
        return rc;
    }
    s->resume.unread |= v[4] != 0;
    if (s->g->rank == 0)
        sk_log(SK_LOG_WARN, "generation of iteration %lld %s%s", (long long)g.iteration,
               v[4] ? "cannot be read" : v[0] ? "is damaged" : "is a mixture of two runs",
               s->resume.chosen.is_set ? "" : ": trying the next older one");
    return 0;
}

/* What cannot be read now is found again, and handled, when it is restored. */
static void look_into(struct sk_session *s, const char *root, const char *path, struct sk_container **c)
{
    if (strcmp(root, s->place.local_root) != 0)
        sk_patient_io(s->place.patience, s->place.prefix_root);
    sk_container_open(path, c, NULL);
    sk_patient_io(NULL, NULL);
}

/* A job with more ranks than wrote the generations finds nothing on some of them: say that, not "incomplete". */
static int check_rank_count(struct sk_session *s, const struct offer *o, struct saikai_error *err)
{
    int rc = 0;
    if (s->resume.reshapable)
        return 0;
    if (s->g->rank == 0 && o->count) {
        struct sk_container *c = NULL;
        char path[PATH_MAX];
        struct sk_gen g = sk_gen_of_key(o->key[0]);
        for (int i = 0; i < 2 && !c; i++) {
            const char *root = i ? s->place.prefix_root : s->place.local_root;
            if (*root && !sk_gen_file(root, g, 0, path, sizeof path, NULL))
                look_into(s, root, path, &c);
        }
        if (c)
            rc = sk_own_part_check(s, c, g, err);
        if (rc == SAIKAI_EDAMAGED)
            rc = 0; /* found again, and handled, when it is read */
        sk_container_close(c);
    }
    return sk_group_verdict(s->g, rc, err);
}

/* ---- what the nodes can give together ---- */

static int begin_recovery(struct sk_session *s, struct sk_recovery **r, struct saikai_error *err)
{
    struct sk_recovery_setup setup = {.g = s->g,
                                      .root = s->place.local_root,
                                      .host = s->place.host,
                                      .store = s->who.job.store,
                                      .first_incarnation = s->who.first_incarnation,
                                      .form = sk_config_text(s->config, "redundancy.form")};
    return s->g->size > 1 && sk_session_has_local(s) ? sk_recovery_new(&setup, r, err) : 0;
}

/* A protected generation in (above, most] is made whole in the local directories: *key, 0: there is none. */
static int make_whole(struct sk_session *s, struct offer *o, struct sk_recovery *r, int64_t above, int64_t most,
                      int64_t *key, struct saikai_error *err)
{
    struct sk_recovery_result result;
    *key = 0;
    int rc = r ? sk_recovery_make_whole(r, above, most, key, &result, err) : 0;
    if (rc || !*key)
        return rc;
    if (s->g->rank == 0)
        sk_log(SK_LOG_INFO,
               "iteration %lld is whole again: files of %d ranks and %d parity files computed anew, %d moved, in %.3g s",
               (long long)sk_gen_of_key(*key).iteration, result.lost_data, result.lost_parity, result.moved,
               result.seconds);
    struct offer now;
    rc = sk_group_verdict(s->g, list_offers(s, &now, err), err);
    free(o->key);
    *o = rc ? (struct offer){0} : now;
    int64_t newest, seen; /* whole, but on several nodes: another number of ranks cannot read it */
    if (!rc && s->resume.reshapable && !(rc = agree(s, o, *key, &newest, &seen)) && newest != *key)
        *key = 0;
    return rc;
}

static int is_here(const char *root, struct sk_gen g, int rank)
{
    char path[PATH_MAX];
    return *root && !sk_gen_file(root, g, rank, path, sizeof path, NULL) && !access(path, F_OK);
}

/* Sets that protect what is not newer than g stay until a newer one is protected. */
static void adopt_sets(struct sk_session *s, struct sk_gen g)
{
    struct sk_holdings h;
    if (!sk_levels_has(&s->levels, SK_LEVEL_PARITY) || sk_holdings_scan(s->place.local_root, &h, NULL))
        return;
    for (size_t i = h.count; i-- > 0;) {
        const struct sk_holding_entry *e = &h.entry[i];
        int64_t key = sk_gen_key(e->gen);
        if (e->rank != s->g->rank || !e->coder || key > sk_gen_key(g) || e->gen.incarnation < s->who.first_incarnation)
            continue;
        if (key != sk_gen_key(g) && is_here(s->place.local_root, e->gen, s->g->rank))
            sk_level_adopt(&s->levels.at[SK_LEVEL_LOCAL], e->gen, 0);
        sk_level_adopt(&s->levels.at[SK_LEVEL_PARITY], e->gen, e->coder);
    }
    sk_holdings_free(&h);
}

/* The newest ones of this run that are whole in the prefix, in either form, and not newer than g, stay there for now: those
 * that are newer were passed over. Rank 0 looks, for all. */
static int adopt_prefix(struct sk_session *s, struct sk_gen g, struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    int64_t count = 0, most = sk_config_int(s->config, "store.keep_prefix");
    int away = s->g->rank == 0 && *s->place.prefix_root && sk_far_content_scan(s, &l, NULL) == SAIKAI_ETIMEDOUT;
    for (size_t i = 0; i < l.count && count < most && !away; i++) {
        struct sk_content *c = NULL;
        if (l.gen[i].incarnation < s->who.first_incarnation || sk_gen_key(l.gen[i]) > sk_gen_key(g))
            continue;
        away = sk_far_content(s, l.gen[i], &c, NULL) == SAIKAI_ETIMEDOUT;
        if (c && c->complete)
            l.gen[count++] = l.gen[i];
        sk_content_free(c);
    }
    if (away)
        count = -1;
    int rc = sk_group_bcast(s->g, &count, sizeof count, 0), lost = rc;
    if (count < 0) { /* nobody knows what is there: none of it goes */
        s->resume.unread = 1;
        count = 0;
    }
    struct sk_gen *gen = rc ? NULL : calloc((size_t)count + 1, sizeof *gen);
    if (!rc)
        rc = sk_group_verdict(s->g, gen ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %lld generations", (long long)count),
                              err);
    for (int64_t i = 0; !rc && s->g->rank == 0 && i < count; i++)
        gen[count - 1 - i] = l.gen[i];
    if (!rc)
        rc = lost = sk_group_bcast(s->g, gen, (size_t)count * sizeof *gen, 0);
    if (!rc)
        rc = sk_group_verdict(s->g, sk_ledger_adopt(s->levels.ledger, gen, (size_t)count, err), err);
    if (!rc && !strcmp(s->place.prefix_root, s->place.local_root)) /* the engine has them in its own directory */
        for (int64_t i = 0; i < count; i++)
            if (is_here(s->place.local_root, gen[i], s->g->rank))
                sk_level_adopt(&s->levels.at[SK_LEVEL_LOCAL], gen[i], 0);
    free(gen);
    sk_gen_list_free(&l);
    return lost ? sk_fail(err, lost, "the ranks lost contact after the restart") : rc;
}

static int adopt(struct sk_session *s, struct sk_gen g, int made_whole, struct saikai_error *err)
{
    int in_local = is_here(s->place.local_root, g, s->g->rank);
    int64_t v[2] = {in_local, -in_local};
    int rc = sk_group_allreduce(s->g, v, 2, SK_OP_MIN);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact after the restart");
    if ((rc = adopt_prefix(s, g, err)))
        return rc;
    if (in_local)
        sk_level_adopt(&s->levels.at[SK_LEVEL_LOCAL], g, 0);
    if (s->resume.unread || !s->resume.chosen.is_set) /* else what is newer stays until something of this start can take its place */
        sk_engine_set_earlier(s->levels.engine, s->resume.unread ? SK_EARLIER_STAY : SK_EARLIER_RESUMED);
    if (s->resume.unread && s->g->rank == 0)
        sk_log(SK_LOG_NOTICE, "not all that there is could be read, and it may be at another time: this start removes nothing of "
                              "earlier ones");
    if (s->who.unread_before && g.incarnation >= s->who.unread_before)
        sk_engine_spare(s->levels.engine, s->who.unread_before);
    adopt_sets(s, g);
    s->resume.code_from = v[0] && !s->resume.from_others; /* the files of other ranks are nobody's to protect */
    s->resume.from = g;
    sk_ledger_restored(s->levels.ledger, g);
    s->clock.last_iteration = g.iteration;
    if (s->page)
        atomic_store(&s->page->restored_iteration, g.iteration);
    sk_notice_resumed(s,
                      made_whole ? "protected copy"
                      : v[0]     ? "node-local copy"
                      : v[1]     ? "node-local copy, of some ranks the copy in the prefix"
                                 : "copy in the prefix",
                      v[0] || v[1]);
    return 0;
}

/* Generations are there, and none of those that were tried can be used: an error, with what to do about it. */
static int why_none(const struct sk_session *s, int tried, int passed, struct saikai_error *err)
{
    if (passed)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "none of the %d complete generations in %s can be used, %d of them because starts died after reading "
                       "them (restart.tries) or because they are marked bad: 'saikai ls %s' shows them, 'saikai mark --good "
                       "GENERATION %s' lets one be tried again; to begin afresh set restart.mode=never",
                       tried, sk_place_state_root(&s->place), passed, sk_place_state_root(&s->place), sk_place_state_root(&s->place));
    if (s->resume.unread)
        return sk_fail(err, SAIKAI_EIO,
                       "none of the %d complete generations in %s can be used; one or more of them cannot be read now: start again when "
                       "they can be, or afresh with restart.mode=never",
                       tried, *s->place.prefix_root ? s->place.prefix_root : s->place.local_root);
    return sk_fail(err, SAIKAI_EDAMAGED, "none of the %d complete generations in %s can be used; to begin afresh set restart.mode=never",
                   tried, *s->place.prefix_root ? s->place.prefix_root : s->place.local_root);
}

/* Nothing was there to be tried: a fresh start, unless that is only because of what cannot be read now. */
static int begin_afresh(struct sk_session *s, struct sk_recovery *r, int64_t seen, struct saikai_error *err)
{
    int rc = sk_recovery_trouble(r, err);
    if (!rc && s->resume.reshapable)
        rc = sk_reshape_unreachable(s, err);
    if (!rc)
        rc = sk_reach_tell(s, 0, INT64_MAX, &seen, err);
    if (rc)
        return rc;
    sk_notice_fresh(s, seen ? sk_gen_of_key(seen).iteration : -1);
    return 0;
}

/* Collective: from the newest generation that may be given to all ranks downwards, until one is read by all. Before an older one is tried,
 * what is newer and can be computed from the other nodes is made whole. */
static int search(struct sk_session *s, struct offer *o, struct sk_recovery *r, int *restored, struct saikai_error *err)
{
    int64_t bound = INT64_MAX, key, seen, whole = 0, whole_key = 0;
    int tried = 0, passed = 0;
    for (;;) {
        int rc = agree(s, o, bound, &key, &seen);
        if (rc)
            return sk_fail(err, rc, "the ranks could not agree on a generation");
        if ((rc = make_whole(s, o, r, key, bound, &whole, err)))
            return rc;
        key = whole ? whole : key;
        whole_key = whole ? whole : whole_key;
        if (!key)
            break;
        if ((rc = sk_reach_tell(s, key, bound, &seen, err)))
            return rc;
        rc = try_generation(s, sk_gen_of_key(key), &passed, err);
        if (rc < 0)
            return rc;
        if (rc) {
            *restored = 1;
            s->resume.unread |= sk_recovery_trouble(r, NULL) != 0;
            return adopt(s, sk_gen_of_key(key), key == whole_key, err);
        }
        tried++;
        bound = key - 1;
        /* what is damaged may be computed from the others */
        if ((rc = make_whole(s, o, r, key - 1, key, &whole, err)))
            return rc;
        if (!whole)
            continue;
        bound = whole_key = whole;
        if (s->g->rank == 0)
            sk_state_untry(&s->who.state, sk_gen_of_key(whole));
    }
    return tried ? why_none(s, tried, passed, err) : begin_afresh(s, r, seen, err);
}

/* The newest that was chosen and is whole, or can be made so. */
static int search_chosen(struct sk_session *s, struct offer *o, struct sk_recovery *r, int *restored, struct saikai_error *err)
{
    struct sk_chosen_search found = {0};
    int64_t all, seen, whole;
    for (int64_t key, bound = INT64_MAX;; bound = key - 1) {
        int passed = 0, rc;
        key = newest_up_to(o, bound);
        if (sk_group_allreduce(s->g, &key, 1, SK_OP_MAX) || agree(s, o, bound, &all, &seen))
            return sk_fail(err, SAIKAI_EMPI, "the ranks could not agree on a generation");
        if (!key)
            return sk_chosen_missing(s, &found, err);
        if (s->g->rank == 0) /* whoever chooses it takes back what was said against it */
            sk_state_mark(&s->who.state, sk_gen_of_key(key), 0, NULL);
        for (int made = 0; made < 2; made++) {
            if ((made || all != key) && (rc = make_whole(s, o, r, key - 1, key, &whole, err)))
                return rc;
            if ((made || all != key) && whole != key)
                break;
            rc = try_generation(s, sk_gen_of_key(key), &passed, err);
            if (rc > 0 && sk_gen_of_key(key).incarnation < s->resume.chosen.first)
                s->resume.chosen.first = sk_gen_of_key(key).incarnation;
            if (rc > 0) { /* from now on, older runs are none of ours */
                s->who.first_incarnation = s->resume.chosen.first;
                rc = adopt(s, sk_gen_of_key(key), all != key || made, err);
                *restored = !rc;
                return rc;
            }
            if (rc)
                return rc;
            found.damaged++;
        }
        found.partial += all != key;
    }
}

/* What is newer than the one that was chosen. */
static int pass_over_newer(struct sk_session *s, struct saikai_error *err)
{
    struct offer o;
    struct sk_chosen chosen = s->resume.chosen;
    s->resume.chosen.is_set = 0;
    int rc = sk_group_verdict(s->g, list_offers(s, &o, err), err);
    s->resume.chosen = chosen;
    if (!rc)
        rc = sk_chosen_pass_over(s, o.key, o.count, err);
    free(o.key);
    return rc;
}

int sk_restore_newest(struct sk_session *s, int *restored, int64_t *iteration, struct saikai_error *err)
{
    struct offer o = {0};
    int rc = s->resume.called || s->clock.tick ? sk_fail(err, SAIKAI_ESTATE,
                                               "saikai_restart must be called once, before the first candidate")
                                     : 0;
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        rc = sk_reshape_begin(s, err);
    if (rc)
        return rc;
    rc = sk_group_verdict(s->g, list_offers(s, &o, err), err);
    if (!rc)
        tell_hidden(s, &o);
    if (!rc)
        rc = check_rank_count(s, &o, err);
    int found = 0;
    struct sk_recovery *r = NULL;
    if (!rc)
        rc = begin_recovery(s, &r, err);
    if (!rc)
        rc = s->resume.chosen.is_set ? search_chosen(s, &o, r, &found, err) : search(s, &o, r, &found, err);
    if (!rc && s->resume.chosen.is_set)
        rc = pass_over_newer(s, err);
    sk_recovery_free(r);
    free(o.key);
    if (rc) {
        sk_engine_set_earlier(s->levels.engine, SK_EARLIER_STAY); /* whatever the program does now */
        return rc;
    }
    s->resume.called = 1;
    if (found)
        *iteration = s->resume.from.iteration;
    *restored = found;
    return 0;
}

int sk_session_restore_again(struct sk_session *s, struct saikai_error *err)
{
    uint64_t run_id = 0;
    struct saikai_error why = {0};
    struct sk_gen g = s->resume.from;
    int rc = sk_group_verdict(s->g, g.incarnation ? 0 : sk_fail(err, SAIKAI_ESTATE, "nothing was restored"), err);
    if (!rc)
        rc = sk_reshape_begin(s, err);
    if (rc)
        return rc;
    int mine = sk_own_part_read(s, g, &run_id, &why);
    rc = sk_own_part_read_archived(s, g, &mine, &run_id, &why);
    int64_t other = mine == SK_OTHER_TILES;
    if (!rc)
        rc = sk_group_allreduce(s->g, &other, 1, SK_OP_MAX);
    if (!rc && other)
        mine = sk_reshape_read(s, g, &run_id, &why);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on a generation");
    rc = sk_group_verdict(s->g, mine, &why);
    if (rc && err)
        *err = why;
    return rc;
}

int sk_session_restored_file(struct sk_session *s, const char *name, char *out, size_t cap,
                             struct saikai_error *err)
{
    if (!*s->resume.restored_files || !*name || *name == '.' || strchr(name, '/')) /* as in the work directory */
        return sk_fail(err, SAIKAI_ENOENT, "no file '%.60s' was restored", name);
    int rc = sk_io_path(out, cap, err, "%s/%s", s->resume.restored_files, name);
    if (!rc && access(out, R_OK))
        rc = sk_fail(err, SAIKAI_ENOENT, "no file '%.60s' was restored", name);
    return rc;
}

/* Restart: which generation all ranks can give, and reading it. */
#include "lib/session.h"

#include "archive/local/content.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/patient_io.h"
#include "lib/chosen.h"
#include "lib/notice.h"
#include "lib/reach.h"
#include "lib/memo.h"
#include "lib/recover.h"
#include "lib/reshape.h"
#include "lib/tries.h"
#include "store/lineage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keys of this rank's generations in both directories, newest first. */
struct offer {
    int64_t *key;
    size_t count;
};

static int newest_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
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

/* What is archived can be given back to every rank. */
static int add_archived(struct sk_session *s, struct offer *o, struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    int rc = sk_archived_list(s->place.prefix_root, &l, err);
    return rc ? rc : add_offers(s, &l, o, err);
}

static int list_offers(struct sk_session *s, struct offer *o, struct saikai_error *err)
{
    const char *roots[2] = {s->place.local_root, s->place.prefix_root};
    int rc = 0;
    *o = (struct offer){0};
    if (s->resume.reshapable)
        rc = sk_reshape_offers(s, &o->key, &o->count, err);
    for (int i = 0; !rc && !s->resume.reshapable && i < 2; i++) {
        struct sk_gen_list l = {0};
        rc = *roots[i] ? sk_gen_scan(roots[i], s->g->rank, &l, err) : 0;
        if (!rc)
            rc = add_offers(s, &l, o, err);
    }
    if (!rc && *s->place.prefix_root)
        rc = add_archived(s, o, err);
    if (!rc)
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

/* A rank's own file is of another number of ranks or of other tiles: sk_reshape_read is to read the generation. */
enum { OTHER_TILES = 1 };

static int check_identity(struct sk_session *s, const struct sk_container *c, struct sk_gen g,
                          struct saikai_error *err)
{
    const struct sk_skc_header *h = &c->header;
    int foreign = sk_session_check_store(s, h, c->path, err);
    if (foreign)
        return foreign;
    const char *own = sk_reshape_obstacle(&s->vars);
    if ((int)h->nranks != s->g->size && s->resume.reshapable)
        return OTHER_TILES;
    if ((int)h->nranks != s->g->size)
        return sk_fail(err, SAIKAI_ERANKS,
                       "%s was written by %u ranks, this job has %d: start it with %u, or afresh with "
                       "restart.mode=never%s%.60s%s",
                       c->path, h->nranks, s->g->size, h->nranks, own ? " ('" : "", own ? own : "",
                       own ? "' is neither declared global nor replicated)" : "");
    if ((int)h->rank != s->g->rank || h->iteration != g.iteration || h->place != g.place ||
        h->incarnation != g.incarnation)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s holds another generation or another rank's part", c->path);
    return 0;
}

/* Files of the program that were saved with the generation go to a directory of their own. */
static int unpack_files(struct sk_session *s, struct sk_container *c, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        char path[PATH_MAX];
        if (v->kind != SK_SKC_FILE)
            continue;
        if (!*s->resume.restored_files)
            rc = sk_io_path(s->resume.restored_files, sizeof s->resume.restored_files, err, "%s/restored-%04u-%06d", s->place.local_root,
                            s->who.incarnation, s->g->rank);
        if (!rc)
            rc = sk_io_mkdirs(s->resume.restored_files, err);
        void *data = rc ? NULL : malloc(v->raw_bytes ? v->raw_bytes : 1);
        if (!rc && !data)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for file '%.60s' of %s", v->name, c->path);
        if (!rc)
            rc = sk_container_read(c, v, data, err);
        if (!rc && strchr(v->name, '/'))
            rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: '%.60s' is no file name", c->path, v->name);
        if (!rc)
            rc = sk_io_path(path, sizeof path, err, "%s/%s", s->resume.restored_files, v->name);
        if (!rc)
            rc = sk_io_replace(path, data, v->raw_bytes, err);
        free(data);
    }
    return rc;
}

static int read_container(struct sk_session *s, struct sk_container *c, struct sk_gen g,
                          struct saikai_error *err)
{
    int rc = check_identity(s, c, g, err);
    for (size_t i = 0; !rc && s->resume.reshapable && i < s->vars.count; i++) {
        const struct sk_skc_var *v = sk_skc_find(c->index, s->vars.v[i].name);
        rc = v && !sk_var_same_tile(&s->vars.v[i], v) ? OTHER_TILES : 0;
    }
    for (size_t i = 0; !rc && i < s->vars.count; i++)
        rc = sk_var_restore(&s->vars.v[i], c, err);
    if (!rc)
        rc = unpack_files(s, c, err);
    s->resume.restored_bytes = 0;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++)
        s->resume.restored_bytes += c->index->vars[i].raw_bytes;
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++)
        if (c->index->vars[i].kind != SK_SKC_FILE && !sk_vars_find(&s->vars, c->index->vars[i].name))
            sk_log(SK_LOG_WARN, "rank %d: %s has a variable '%s' that this program does not protect",
                   s->g->rank, c->path, c->index->vars[i].name);
    return rc;
}

/* 1: root is a prefix, which may hang: from here on this is waited for with patience; to be ended with NULL. */
static int begin_patience(struct sk_session *s, const char *root)
{
    int far = *s->place.prefix_root && !strcmp(root, s->place.prefix_root);
    if (far)
        sk_patient_io(s->place.patience, s->place.prefix_root);
    return far;
}

static int is_in(struct sk_session *s, const char *root, const char *path)
{
    if (!begin_patience(s, root))
        return !access(path, F_OK);
    int fd = sk_io_open(path, O_RDONLY, 0, NULL);
    sk_patient_io(NULL, NULL);
    if (fd >= 0)
        close(fd);
    return fd != SAIKAI_ENOENT; /* what else is wrong with it, reading tells */
}

static int read_once(struct sk_session *s, const char *path, const char *root, struct sk_gen g, uint64_t *run_id,
                     struct saikai_error *err)
{
    struct sk_container *c = NULL;
    begin_patience(s, root);
    int rc = sk_lineage_open_file(path, root, &c, err);
    if (!rc) {
        rc = read_container(s, c, g, err);
        *run_id = c->header.run_id;
        s->resume.from_created_ms = c->header.created_ms;
    }
    sk_container_close(c);
    sk_patient_io(NULL, NULL);
    return rc;
}

/* The file's content into the variables. An error of the device may pass: it is tried again before it counts. So may the
 * silence of a prefix: it is waited for, but not for ever, since an older generation may be whole on the nodes. */
static int read_file(struct sk_session *s, const char *path, const char *root, struct sk_gen g, uint64_t *run_id,
                     struct saikai_error *err)
{
    enum { WAITS = 3 };
    static const double pause[] = {0.02, 0.1, 0.5};
    for (size_t tries = 0, waits = 0;;) {
        struct saikai_error why = {0};
        int rc = read_once(s, path, root, g, run_id, &why);
        if (rc == SAIKAI_ETIMEDOUT && waits++ < WAITS) {
            sk_log(SK_LOG_WARN, "rank %d: %s; its part of the generation is there alone: waiting", s->g->rank, why.text);
            sk_patience_wait(s->place.patience, sk_config_time(s->config, "store.final_wait"));
        } else if (rc == SAIKAI_EIO && tries < sizeof pause / sizeof *pause) {
            sk_log(SK_LOG_WARN, "rank %d: %s; trying again in %g s", s->g->rank, why.text, pause[tries]);
            sk_sleep(pause[tries++]);
        } else {
            if (rc < 0)
                *err = why;
            return rc;
        }
    }
}

/* This rank's part of g: the local copy, or the one in the prefix. 0, OTHER_TILES or an error. */
static int read_generation(struct sk_session *s, struct sk_gen g, uint64_t *run_id, struct saikai_error *err)
{
    const char *roots[2] = {s->place.local_root, s->place.prefix_root};
    int rc = SAIKAI_ENOENT, apart = strcmp(s->place.local_root, s->place.prefix_root) != 0;
    for (int i = 0; i < 1 + apart && i < 2; i++) {
        char path[PATH_MAX];
        struct saikai_error why = {0};
        if (!*roots[i] || sk_gen_file(roots[i], g, s->g->rank, path, sizeof path, &why) || !is_in(s, roots[i], path))
            continue;
        int r = read_file(s, path, roots[i], g, run_id, &why);
        if (r >= 0)
            return r;
        if (err)
            *err = why;
        rc = r;
        if (r == SAIKAI_ECHANGED || r == SAIKAI_ERANKS)
            break; /* another copy says the same */
        sk_log(SK_LOG_WARN, "rank %d: %s%s", s->g->rank, why.text,
               i == 0 && apart ? "; trying the copy in the prefix" : "");
    }
    return rc;
}

/* Ranks whose part cannot be read get it from the archives, if there are any: collective, every rank
 * with its own *mine, which becomes what reading says then. Fails on the group only. */
static int read_archived(struct sk_session *s, struct sk_gen g, int *mine, uint64_t *run_id,
                         struct saikai_error *err)
{
    int lacks = *mine == OTHER_TILES ||
                (*mine < 0 && *mine != SAIKAI_ECHANGED && *mine != SAIKAI_ERANKS && *mine != SAIKAI_ENOMEM);
    struct saikai_error why = {0};
    int ranks = 0;
    if (*s->place.prefix_root && s->g->rank == 0 && sk_archived(s->place.prefix_root, g))
        sk_archived_ranks(s->place.prefix_root, g, &ranks, &why);
    int64_t v[2] = {lacks, ranks};
    int rc = sk_group_allreduce(s->g, v, 2, SK_OP_MAX);
    if (rc || !v[0] || !v[1])
        return rc;
    /* other numbers of ranks and other tiles read all files from the prefix, each rank what it needs */
    const char *to = s->resume.reshapable || !sk_session_has_local(s) ? s->place.prefix_root : s->place.local_root;
    int back = sk_archived_restore(s->g, s->place.prefix_root, g, to, lacks, s->resume.reshapable, &s->who.job,
                                   sk_config_size(s->config, "far.memory"), &why);
    if (lacks && back && (*mine == SAIKAI_ENOENT || back == SAIKAI_ERANKS)) {
        *mine = back;
        if (err)
            *err = why;
    }
    if (back && s->g->rank == 0)
        sk_log(SK_LOG_WARN, "%s", why.text);
    if (lacks && !back)
        *mine = read_generation(s, g, run_id, err);
    return 0;
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
    int mine = read_generation(s, g, &run_id, &why);
    rc = read_archived(s, g, &mine, &run_id, &why);
    int64_t other = mine == OTHER_TILES;
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
                sk_container_open(path, &c, NULL);
        }
        if (c)
            rc = check_identity(s, c, g, err);
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
    if (!s->levels.protector || sk_holdings_scan(s->place.local_root, &h, NULL))
        return;
    for (size_t i = h.count; i-- > 0;) {
        const struct sk_holding_entry *e = &h.entry[i];
        int64_t key = sk_gen_key(e->gen);
        if (e->rank != s->g->rank || !e->coder || key > sk_gen_key(g) || e->gen.incarnation < s->who.first_incarnation)
            continue;
        if (key != sk_gen_key(g) && is_here(s->place.local_root, e->gen, s->g->rank))
            sk_engine_adopt(s->levels.engine, e->gen);
        sk_protector_adopt(s->levels.protector, (struct sk_parity_set){e->gen, e->coder});
    }
    sk_holdings_free(&h);
}

/* The newest ones of this run that are whole in the prefix, in either form, and not newer than g, stay there for now: those
 * that are newer were passed over. Rank 0 looks, for all. */
static int adopt_prefix(struct sk_session *s, struct sk_gen g, struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    int64_t count = 0, most = sk_config_int(s->config, "store.keep_prefix");
    if (s->g->rank == 0 && *s->place.prefix_root && !sk_content_scan(s->place.prefix_root, &l, NULL))
        for (size_t i = 0; i < l.count && count < most; i++) {
            struct sk_content *c = NULL;
            if (l.gen[i].incarnation >= s->who.first_incarnation && sk_gen_key(l.gen[i]) <= sk_gen_key(g) &&
                !sk_content_load(s->place.prefix_root, l.gen[i], 0, &c, NULL) && c->complete)
                l.gen[count++] = l.gen[i];
            sk_content_free(c);
        }
    int rc = sk_group_bcast(s->g, &count, sizeof count, 0);
    struct sk_gen *gen = rc ? NULL : calloc((size_t)count + 1, sizeof *gen);
    if (!rc)
        rc = sk_group_verdict(s->g, gen ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %lld generations", (long long)count),
                              err);
    for (int64_t i = 0; !rc && s->g->rank == 0 && i < count; i++)
        gen[count - 1 - i] = l.gen[i];
    if (!rc)
        rc = sk_group_bcast(s->g, gen, (size_t)count * sizeof *gen, 0);
    if (!rc)
        rc = sk_group_verdict(s->g, sk_ledger_adopt(s->levels.ledger, gen, (size_t)count, err), err);
    if (!rc && !strcmp(s->place.prefix_root, s->place.local_root)) /* the engine has them in its own directory */
        for (int64_t i = 0; i < count; i++)
            if (is_here(s->place.local_root, gen[i], s->g->rank))
                sk_engine_adopt(s->levels.engine, gen[i]);
    free(gen);
    sk_gen_list_free(&l);
    return rc;
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
        sk_engine_adopt(s->levels.engine, g);
    if (s->resume.unread || !s->resume.chosen.is_set) /* else what is newer stays until something of this start can take its place */
        sk_engine_set_earlier(s->levels.engine, s->resume.unread ? SK_EARLIER_STAY : SK_EARLIER_RESUMED);
    if (s->resume.unread && s->g->rank == 0)
        sk_log(SK_LOG_NOTICE, "a newer generation could not be read, and may be at another time: this start removes nothing of "
                              "earlier ones");
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
    if (passed)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "none of the %d complete generations in %s can be used, %d of them because starts died after reading "
                       "them (restart.tries) or because they are marked bad: 'saikai ls %s' shows them, 'saikai mark --good "
                       "GENERATION %s' lets one be tried again; to begin afresh set restart.mode=never",
                       tried, sk_place_state_root(&s->place), passed, sk_place_state_root(&s->place), sk_place_state_root(&s->place));
    if (tried)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "none of the %d complete generations in %s can be used; to begin afresh set "
                       "restart.mode=never",
                       tried, *s->place.prefix_root ? s->place.prefix_root : s->place.local_root);
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

int sk_session_restored_file(struct sk_session *s, const char *name, char *out, size_t cap,
                             struct saikai_error *err)
{
    if (!*s->resume.restored_files || !*name || *name == '.' || strchr(name, '/')) /* as sk_session_file_path */
        return sk_fail(err, SAIKAI_ENOENT, "no file '%.60s' was restored", name);
    int rc = sk_io_path(out, cap, err, "%s/%s", s->resume.restored_files, name);
    if (!rc && access(out, R_OK))
        rc = sk_fail(err, SAIKAI_ENOENT, "no file '%.60s' was restored", name);
    return rc;
}

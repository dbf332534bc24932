/* The engine's healing: files of this rank in the local directory that are damaged or gone. Somebody has a suspicion (the scrub,
 * a delta that could not be put together with its base, a copy or a coding that failed); the committer looks again, and what is
 * really damaged is written anew from what is still good: the descriptor of a file that lost its name, or the copy in the
 * prefix. Where neither helps, the lineage is closed: the next checkpoint is asked for at once and is full. */
#include "lib/engine/engine_parts.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patient_io.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int same(struct sk_gen a, struct sk_gen b)
{
    return sk_gen_key(a) == sk_gen_key(b);
}

static struct held *find(const struct sk_engine *e, struct sk_gen g)
{
    struct held *h = e->all;
    while (h && !(h->stage == COMMITTED && h->place == HERE && !h->replaced && same(h->gen, g)))
        h = h->next;
    return h;
}

int sk_engine_builds_on(const struct sk_engine *e, const struct held *h, const struct held *base)
{
    while (h && h != base)
        h = h->base.incarnation ? find(e, h->base) : NULL;
    return h != NULL;
}

int sk_engine_is_spoiled(const struct sk_engine *e, const struct held *h)
{
    while (h && !h->damaged && h->base.incarnation)
        h = find(e, h->base);
    return !h || h->damaged;
}

/* ---- looking and writing, without the lock ---- */

/* The whole file, by itself. An error of the device may pass. */
static int look(const char *path, uint64_t *index_hash, struct saikai_error *err)
{
    static const double pause = 0.05;
    for (int tries = 0;; tries++) {
        struct sk_container *c = NULL;
        struct saikai_error why = {0};
        int rc = sk_container_open(path, &c, &why);
        if (!rc) {
            *index_hash = c->trailer.index_hash;
            rc = sk_container_verify(c, &why); /* without what it builds on */
        }
        sk_container_close(c);
        if (rc != SAIKAI_EIO || tries == 3) {
            if (rc && err)
                *err = why;
            return rc;
        }
        sk_sleep(pause);
    }
}

/* What is to be healed. */
struct patient {
    struct held *h;
    char path[PATH_MAX], tmp[PATH_MAX];
};

/* A copy of from, which must be the same container, takes the file's place: 1 when it does. */
static int write_anew(struct sk_engine *e, const struct patient *p, const char *from)
{
    struct sk_container *c = NULL;
    if (sk_container_open(from, &c, NULL))
        return 0;
    const struct sk_skc_header *h = &c->header;
    int good = h->iteration == p->h->gen.iteration && h->place == p->h->gen.place &&
               h->incarnation == p->h->gen.incarnation && (int)h->rank == e->rank &&
               c->trailer.index_hash == p->h->index_hash && !sk_container_copy(c, p->tmp, e->sync_local, NULL);
    sk_container_close(c);
    if (good && sk_gen_commit(e->local_root, p->h->gen, e->rank, p->tmp, e->sync_local, NULL)) {
        sk_io_unlink(p->tmp, NULL);
        good = 0;
    }
    return good;
}

/* Where the good bytes came from, NULL: there are none. */
static const char *heal(struct sk_engine *e, const struct patient *p)
{
    char from[PATH_MAX];
    if (!p->h->index_hash)
        return NULL;
    if (p->h->slot && !sk_slot_is_named(p->h->slot, p->path) &&
        !sk_io_path(from, sizeof from, NULL, "/proc/self/fd/%d", p->h->slot->fd) && write_anew(e, p, from))
        return "from memory";
    if (!e->prefix_root || p->h->base.incarnation || sk_gen_file(e->prefix_root, p->h->gen, e->rank, from, sizeof from, NULL))
        return NULL;
    sk_patient_io(e->patience, e->prefix_root); /* the program may wait for the committer: a prefix that hangs heals nothing */
    int good = write_anew(e, p, from);
    sk_patient_io(NULL, NULL);
    return good ? "from the copy in the prefix" : NULL;
}

/* ---- with the lock ---- */

/* The file under the name is not the slot's any more. */
static void let_slot_go(struct held *h)
{
    if (!h->slot || h->lent) /* a coding may read the mapping; the slot is found broken when it is free */
        return;
    sk_slot_free(h->slot, 0);
    h->slot = NULL;
}

static struct held *newest(struct sk_engine *e)
{
    struct held *best = NULL;
    for (struct held *h = e->all; h; h = h->next)
        if (h->stage == COMMITTED && h->place == HERE && !h->replaced && (!best || sk_gen_key(h->gen) > sk_gen_key(best->gen)))
            best = h;
    return best;
}

void sk_engine_close_lineage(struct sk_engine *e)
{
    e->breaks++;
    e->damages++;
    e->tip.spoiled = 1;
}

static void tell(struct sk_engine *e, struct held *h, const char *what, const char *why)
{
    char name[48];
    sk_log(SK_LOG_WARN, "rank %d: generation %s is damaged in memory: %s: %s", e->rank, sk_gen_name(h->gen, name), why, what);
}

static void examine(struct sk_engine *e, struct held *h)
{
    struct patient *p = malloc(sizeof *p);
    struct saikai_error err = {0};
    const char *source = NULL;
    uint64_t index_hash = 0;
    if (!p)
        return;
    p->h = h;
    h->holds++;
    pthread_mutex_unlock(&e->lock);
    int rc = sk_gen_file(e->local_root, h->gen, e->rank, p->path, sizeof p->path, &err);
    if (!rc)
        rc = sk_io_path(p->tmp, sizeof p->tmp, &err, "%s/slot-%04u-%06d-%d.tmp", e->local_root, e->incarnation, e->rank,
                        INT_MAX - 2);
    if (!rc)
        rc = look(p->path, &index_hash, &err);
    if (rc && rc != SAIKAI_ENOMEM && (source = heal(e, p)))
        rc = look(p->path, &index_hash, &err);
    pthread_mutex_lock(&e->lock);
    h->holds--;
    e->retired_seq = -1;
    if (source && !rc) {
        char done[64];
        let_slot_go(h);
        snprintf(done, sizeof done, "it is written anew %s", source);
        tell(e, h, done, err.text);
    } else if (rc && rc != SAIKAI_ENOMEM) {
        h->damaged = 1;
        if (sk_engine_builds_on(e, newest(e), h)) {
            sk_engine_close_lineage(e);
            tell(e, h, "the next checkpoint is made soon and in full", err.text);
        } else {
            tell(e, h, "newer ones do not need it", err.text);
        }
    }
    free(p);
}

static void examine_all(struct sk_engine *e, struct sk_gen only)
{
    for (struct held *h = e->all; h; h = h->next)
        h->looked = 0;
    for (struct held *h = e->all; h && !e->stopping;) { /* the list changes while the lock is away: begin again after each */
        int wanted = h->stage == COMMITTED && h->place == HERE && !h->replaced && !h->damaged && !h->looked &&
                     (!only.incarnation || same(only, h->gen));
        if (!wanted) {
            h = h->next;
            continue;
        }
        h->looked = 1;
        examine(e, h);
        h = e->all;
    }
}

/* A parity file cannot be made again by one rank alone: the next generation is protected soon, with all that it builds on, and
 * what was coded before is no longer needed. */
static void note_parity(struct sk_engine *e)
{
    if (!e->doubt.parity.incarnation || same(e->doubt.parity, e->doubt.parity_told))
        return;
    e->doubt.parity_told = e->doubt.parity;
    e->damages++;
    sk_log(SK_LOG_WARN, "rank %d: %s: a checkpoint is made soon, and protected anew", e->rank, e->doubt.why);
}

void sk_engine_examine(struct sk_engine *e)
{
    struct sk_gen only = e->doubt.all ? (struct sk_gen){0} : e->doubt.gen;
    int any = e->doubt.all || e->doubt.gen.incarnation;
    note_parity(e);
    e->doubt.any = e->doubt.all = 0;
    e->doubt.gen = e->doubt.parity = (struct sk_gen){0};
    e->busy_commit = e->list_stale = 1;
    if (any)
        examine_all(e, only);
    e->busy_commit = 0;
    pthread_cond_broadcast(&e->changed);
}

/* ---- suspicions ---- */

void sk_engine_suspect(struct sk_engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->doubt.any = e->doubt.all = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

/* One that no longer protects anything loses its name, and its pages have another use. */
static int is_protecting(const struct sk_engine *e, struct sk_gen gen)
{
    for (size_t i = 0; i < e->sets; i++)
        if (same(e->set[i].gen, gen) && e->set[i].coder == e->incarnation)
            return 1;
    return 0;
}

void sk_engine_scrub_suspects(void *engine, struct sk_gen gen, int parity, const char *why)
{
    struct sk_engine *e = engine;
    pthread_mutex_lock(&e->lock);
    if (parity && !is_protecting(e, gen)) {
        pthread_mutex_unlock(&e->lock);
        return;
    }
    if (parity) {
        e->doubt.parity = gen;
        snprintf(e->doubt.why, sizeof e->doubt.why, "%s", why);
    } else if (e->doubt.gen.incarnation && !same(e->doubt.gen, gen)) {
        e->doubt.all = 1;
    } else {
        e->doubt.gen = gen;
    }
    e->doubt.any = 1;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

/* Without the lock: the scrub has the lowest priority of all, and whoever waits for it must not be waited for. */
void sk_engine_list_for_scrub(struct sk_engine *e)
{
    size_t n = 0, sets = e->sets;
    e->list_stale = 0;
    for (const struct held *h = e->all; h; h = h->next)
        n += h->stage == COMMITTED;
    struct sk_gen *gen = malloc((n + 1) * sizeof *gen);
    struct sk_parity_set *set = malloc((sets + 1) * sizeof *set);
    n = 0;
    for (const struct held *h = e->all; gen && h; h = h->next)
        if (h->stage == COMMITTED && h->place == HERE && !h->replaced && !h->damaged)
            gen[n++] = h->gen;
    if (set && sets)
        memcpy(set, e->set, sets * sizeof *set);
    pthread_mutex_unlock(&e->lock);
    if (gen && set)
        sk_scrub_set(e->scrub, gen, n, set, sets);
    free(gen);
    free(set);
    pthread_mutex_lock(&e->lock);
}

/* The engine's healing: files of this rank in the local directory that are damaged or gone. Somebody has a suspicion (the scrub,
 * a delta that could not be put together with its base, a copy or a coding that failed); the committer looks again, and what is
 * really damaged is written anew from what is still good: the descriptor of a file that lost its name, or the copy in the
 * prefix. Where neither helps, the lineage is closed: the next checkpoint is asked for at once and is full. */
#include "lib/engine/heal/heal.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patient_io.h"
#include "base/own/own.h"
#include "lib/engine/engine_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    struct sk_held *h;
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
               h->incarnation == p->h->gen.incarnation && (int)h->rank == e->where.rank &&
               c->trailer.index_hash == p->h->index_hash && !sk_container_copy(c, p->tmp, e->where.sync_local, NULL);
    sk_container_close(c);
    if (good && sk_gen_commit(e->where.local_root, p->h->gen, e->where.rank, p->tmp, e->where.sync_local, NULL)) {
        sk_io_unlink(p->tmp, NULL);
        good = 0;
    }
    return good;
}

/* Where the good bytes came from, NULL: there are none. */
static const char *heal(struct sk_engine *e, const struct patient *p)
{
    const struct sk_where *w = &e->where;
    char from[PATH_MAX];
    if (!p->h->index_hash)
        return NULL;
    if (p->h->slot && sk_own_is(p->h->slot->fd) && !sk_slot_is_named(p->h->slot, p->path) &&
        !sk_io_path(from, sizeof from, NULL, "/proc/self/fd/%d", p->h->slot->fd) && write_anew(e, p, from))
        return "from memory";
    if (!w->prefix_root || p->h->base.incarnation || sk_gen_file(w->prefix_root, p->h->gen, w->rank, from, sizeof from, NULL))
        return NULL;
    sk_patient_io(e->healing.patience, w->prefix_root); /* the program may wait for the committer: a prefix that hangs heals nothing */
    int good = write_anew(e, p, from);
    sk_patient_io(NULL, NULL);
    return good ? "from the copy in the prefix" : NULL;
}

/* ---- with the lock ---- */

/* The file under the name is not the slot's any more. */
static void let_slot_go(struct sk_held *h)
{
    if (!h->slot || h->users.lent) /* a coding may read the mapping; the slot is found broken when it is free */
        return;
    sk_slot_free(h->slot, 0);
    h->slot = NULL;
}

void sk_engine_close_lineage(struct sk_engine *e)
{
    e->trouble.breaks++;
    e->trouble.damages++;
    e->sealing.tip.spoiled = 1;
}

static void tell(struct sk_engine *e, struct sk_held *h, const char *what, const char *why)
{
    char name[48];
    sk_log(SK_LOG_WARN, "rank %d: generation %s is damaged in memory: %s: %s", e->where.rank, sk_gen_name(h->gen, name), why, what);
}

/* One file that is suspected: look, heal, look again, and say what came of it. Held meanwhile, and without the lock. */
static void examine(struct sk_engine *e, struct sk_held *h)
{
    struct patient *p = malloc(sizeof *p);
    struct saikai_error err = {0};
    const char *source = NULL;
    uint64_t index_hash = 0;
    if (!p)
        return;
    p->h = h;
    h->users.holds++;
    sk_threads_unlock(&e->threads);
    int rc = sk_gen_file(e->where.local_root, h->gen, e->where.rank, p->path, sizeof p->path, &err);
    if (!rc)
        rc = sk_where_tmp(&e->where, e->where.local_root, 2, p->tmp, &err);
    if (!rc)
        rc = look(p->path, &index_hash, &err);
    if (rc && rc != SAIKAI_ENOMEM && (source = heal(e, p)))
        rc = look(p->path, &index_hash, &err);
    sk_threads_lock(&e->threads);
    h->users.holds--;
    sk_keep_again(&e->keep);
    if (source && !rc) {
        char done[64];
        let_slot_go(h);
        snprintf(done, sizeof done, "it is written anew %s", source);
        tell(e, h, done, err.text);
    } else if (rc && rc != SAIKAI_ENOMEM) {
        h->health.damaged = 1;
        if (sk_stock_builds_on(&e->stock, sk_stock_newest(&e->stock), h)) {
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
    for (struct sk_held *h = e->stock.all; h; h = h->next)
        h->health.looked = 0;
    for (struct sk_held *h = e->stock.all; h && !e->threads.stopping;) { /* it changes while the lock is away: begin again after each */
        int wanted = h->stage == COMMITTED && h->place == HERE && !h->replaced && !h->health.damaged && !h->health.looked &&
                     (!only.incarnation || sk_same_gen(only, h->gen));
        if (!wanted) {
            h = h->next;
            continue;
        }
        h->health.looked = 1;
        examine(e, h);
        h = e->stock.all;
    }
}

/* A parity file cannot be made again by one rank alone: the next generation is protected soon, with all that it builds on, and
 * what was coded before is no longer needed. */
static void note_parity(struct sk_engine *e)
{
    struct sk_doubt *d = &e->healing.doubt;
    if (!d->parity.incarnation || sk_same_gen(d->parity, d->parity_told))
        return;
    d->parity_told = d->parity;
    e->trouble.damages++;
    sk_log(SK_LOG_WARN, "rank %d: %s: a checkpoint is made soon, and protected anew", e->where.rank, d->why);
}

void sk_engine_examine(struct sk_engine *e)
{
    struct sk_doubt *d = &e->healing.doubt;
    struct sk_gen only = d->all ? (struct sk_gen){0} : d->gen;
    int any = d->all || d->gen.incarnation;
    note_parity(e);
    d->any = d->all = 0;
    d->gen = d->parity = (struct sk_gen){0};
    e->sealing.busy = e->healing.list_stale = 1;
    if (any)
        examine_all(e, only);
    e->sealing.busy = 0;
    sk_threads_tell(&e->threads);
}

/* ---- suspicions ---- */

void sk_engine_suspect(struct sk_engine *e)
{
    sk_threads_lock(&e->threads);
    sk_doubt_all(&e->healing.doubt);
    sk_threads_tell_and_unlock(&e->threads);
}

/* One that no longer protects anything loses its name, and its pages have another use. */
static int is_protecting(const struct sk_healing *l, uint32_t incarnation, struct sk_gen gen)
{
    for (size_t i = 0; i < l->sets; i++)
        if (sk_same_gen(l->set[i].gen, gen) && l->set[i].coder == incarnation)
            return 1;
    return 0;
}

void sk_engine_scrub_suspects(void *engine, struct sk_gen gen, int parity, const char *why)
{
    struct sk_engine *e = engine;
    struct sk_doubt *d = &e->healing.doubt;
    sk_threads_lock(&e->threads);
    if (parity && !is_protecting(&e->healing, e->where.incarnation, gen)) {
        sk_threads_unlock(&e->threads);
        return;
    }
    if (parity) {
        d->parity = gen;
        snprintf(d->why, sizeof d->why, "%s", why);
    } else if (d->gen.incarnation && !sk_same_gen(d->gen, gen)) {
        d->all = 1;
    } else {
        d->gen = gen;
    }
    d->any = 1;
    sk_threads_tell_and_unlock(&e->threads);
}

/* Without the lock: the scrub has a lower priority, and whoever waits for it must not be waited for. */
void sk_engine_list_for_scrub(struct sk_engine *e)
{
    size_t n = 0, sets = e->healing.sets;
    e->healing.list_stale = 0;
    for (const struct sk_held *h = e->stock.all; h; h = h->next)
        n += h->stage == COMMITTED;
    struct sk_gen *gen = malloc((n + 1) * sizeof *gen);
    struct sk_parity_set *set = malloc((sets + 1) * sizeof *set);
    n = 0;
    for (const struct sk_held *h = e->stock.all; gen && h; h = h->next)
        if (h->stage == COMMITTED && h->place == HERE && !h->replaced && !h->health.damaged)
            gen[n++] = h->gen;
    if (set && sets)
        memcpy(set, e->healing.set, sets * sizeof *set);
    sk_threads_unlock(&e->threads);
    if (gen && set)
        sk_scrub_set(e->healing.scrub, gen, n, set, sets);
    free(gen);
    free(set);
    sk_threads_lock(&e->threads);
}

/* The course of a coding, from the list of its files to the set that replaces older ones, and what
 * is removed then. */
#include "lib/levels/protect/protector.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/heal/heal.h"
#include "lib/levels/neighbours.h"
#include "lib/levels/offpath.h"
#include "lib/levels/protect/protection.h"
#include "redundancy/code/cost.h"
#include "redundancy/set/encode.h"
#include "redundancy/set/parity_file.h"
#include "redundancy/set/kept_maps.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets that are kept at most; a longer chain of generations is coded whole again. And files of one
 * rank in a set. */
enum { MOST_SETS = 32, MOST_FILES = SK_LINEAGE_MAX };

/* A coding: what is written by the program's thread before it is submitted, by the one that works
 * while it is under way, and read again when its end is known. */
struct coding {
    struct sk_parity_set set;
    int64_t seq, number; /* number 0: none is under way */
    int held;            /* the engine holds our file */
    int anew;            /* what older sets have is coded again */
    struct sk_encode *encode;
    struct sk_encode_result result;
    int64_t oldest; /* key of the oldest generation that any rank's file builds on through older
                       sets; all are needed */
    char **path, **name;
    struct sk_source *source; /* lent by the engine */
    int files;
    int rc; /* of the last one */
    struct saikai_error err;
};

/* Where this rank's files are, and whose they are. */
struct home {
    char *root, *host;
    struct sk_id store;
    uint32_t incarnation;
    int rank, sync;
};

/* What is protected. */
struct safe {
    struct sk_parity_set set[MOST_SETS]; /* oldest first */
    int held[MOST_SETS];
    int count;
    int clean; /* 1: what is older than the sets is to be removed before the next coding */
};

struct sk_protector {
    struct sk_engine *engine;
    struct sk_offpath *off;
    struct sk_group *job; /* that works use */
    struct sk_protection protection;
    struct sk_encoding coding;
    struct sk_link_costs costs;
    int costs_known;
    struct home home;
    int *leader; /* of each rank: the lowest one on its node */
    struct safe safe;
    int room_told; /* the last coding failed since there was no room */
    struct coding now;
    int64_t begun; /* codings */
    _Atomic int64_t coded;
    double sliced_at;
    struct sk_kept_maps *kept; /* used by whoever codes */
    struct sk_protector_status status;
};

/* ---- which files ---- */

/* An older set of this start has the generation in it. Sets of earlier starts may have lost pieces
 * since. */
static int covered(const struct sk_protector *p, struct sk_gen gen)
{
    for (int i = 0; i < p->safe.count; i++) {
        int64_t key = sk_gen_key(p->safe.set[i].gen);
        if (p->safe.set[i].coder == p->home.incarnation && key >= sk_gen_key(gen) &&
            key < sk_gen_key(p->now.set.gen))
            return 1;
    }
    return 0;
}

/* abandoned 1: what was lent may be read for ever. */
static void free_files(struct sk_protector *p, int abandoned)
{
    struct coding *c = &p->now;
    for (int i = 0; i < c->files; i++) {
        free(c->path[i]);
        free(c->name[i]);
        if (!abandoned)
            sk_engine_take_back(p->engine, &c->source[i]);
    }
    free(c->path);
    free(c->name);
    free(c->source);
    c->path = c->name = NULL;
    c->source = NULL;
    c->files = 0;
}

static int add_file(struct sk_protector *p, struct sk_gen gen, struct saikai_error *err)
{
    struct coding *c = &p->now;
    char path[PATH_MAX];
    char **paths = realloc(c->path, ((size_t)c->files + 1) * sizeof *paths);
    if (paths)
        c->path = paths;
    char **names = realloc(c->name, ((size_t)c->files + 1) * sizeof *names);
    if (names)
        c->name = names;
    struct sk_source *sources = realloc(c->source, ((size_t)c->files + 1) * sizeof *sources);
    if (sources)
        c->source = sources;
    int rc = paths && names && sources
                 ? sk_gen_file(p->home.root, gen, p->home.rank, path, sizeof path, err)
                 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of files");
    if (rc)
        return rc;
    c->path[c->files] = strdup(path);
    c->name[c->files] = strdup(path + strlen(p->home.root) + 1);
    sk_engine_lend(p->engine, gen, &c->source[c->files]);
    c->files++;
    return c->path[c->files - 1] && c->name[c->files - 1]
               ? 0
               : sk_fail(err, SAIKAI_ENOMEM, "no memory for a file's name");
}

/* The generation's file, and those it builds on that no set has; *oldest as in struct coding, for
 * this rank. */
static int list_files(struct sk_protector *p, struct saikai_error *err)
{
    struct sk_gen gen = p->now.set.gen, base = {0};
    int whole = p->now.anew || p->safe.count == MOST_SETS;
    int rc = add_file(p, gen, err);
    p->now.oldest = sk_gen_key(gen);
    while (!rc && !(rc = sk_lineage_base(p->home.root, gen, p->home.rank, &base, err)) && base.incarnation) {
        if (p->now.files >= MOST_FILES || sk_gen_key(base) >= sk_gen_key(gen))
            return sk_fail(err, SAIKAI_EDAMAGED, "rank %d: a generation builds on a newer one",
                           p->home.rank);
        if (whole || !covered(p, base))
            rc = add_file(p, base, err);
        else
            p->now.oldest = sk_gen_key(base);
        gen = base;
    }
    return rc;
}

/* ---- the work; by a thread, or in slices ---- */

/* 1: this rank removes the entry when it is no longer needed: its own, and as the lowest rank of
 * the node what is of ranks that run elsewhere now. */
static int in_charge(const struct sk_protector *p, const struct sk_holding_entry *e)
{
    if (e->rank == p->home.rank)
        return e->coder > 0; /* our own generations are the engine's */
    if (p->leader[p->home.rank] != p->home.rank)
        return 0;
    return e->rank >= p->job->size || p->leader[e->rank] != p->home.rank;
}

static int is_needed(const struct sk_protector *p, const struct sk_holding_entry *e)
{
    if (e->gen.incarnation < p->home.incarnation && !sk_engine_may_remove_earlier(p->engine))
        return 1;
    for (int i = 0; e->coder && i < p->safe.count; i++)
        if (!sk_parity_set_compare(p->safe.set[i], (struct sk_parity_set){e->gen, e->coder}))
            return 1;
    return 0;
}

/* Remove what older starts and older sets left. The newest parity file of ours that is not needed
 * becomes the spare one: its pages are there already. */
static void clean_up(struct sk_protector *p)
{
    struct sk_holdings h;
    char spare[PATH_MAX], path[PATH_MAX];
    p->safe.clean = 0;
    if (!p->safe.count || sk_parity_spare_path(p->home.root, p->home.rank, spare, sizeof spare, NULL) ||
        sk_holdings_scan(p->home.root, &h, NULL))
        return;
    int64_t newest = sk_gen_key(p->safe.set[p->safe.count - 1].gen);
    int have = !access(spare, F_OK);
    for (size_t i = 0; i < h.count; i++) {
        const struct sk_holding_entry *e = &h.entry[i];
        struct sk_parity_set set = {e->gen, e->coder};
        if (sk_gen_key(e->gen) > newest || !in_charge(p, e) || is_needed(p, e))
            continue;
        if (!have && e->rank == p->home.rank &&
            !sk_parity_set_path(p->home.root, set, p->home.rank, path, sizeof path, NULL))
            have = !sk_io_rename(path, spare, NULL);
        sk_holdings_remove(p->home.root, e, NULL);
    }
    sk_holdings_free(&h);
    sk_kept_maps_trim(p->kept);
}

/* Parity takes about as much of each member as the code says, unless a file that is no longer needed gives its pages. */
static int check_room(const struct sk_protector *p, const char *spare, struct saikai_error *err)
{
    uint64_t data = 0, had = 0;
    struct stat sb;
    for (int i = 0; i < p->now.files; i++)
        data += stat(p->now.path[i], &sb) ? 0 : (uint64_t)sb.st_size;
    if (!stat(spare, &sb))
        had = (uint64_t)sb.st_blocks * 512;
    int columns = p->protection.group->size - p->protection.parity;
    uint64_t parity = data / (uint64_t)(columns > 0 ? columns : 1) * (uint64_t)p->protection.parity;
    return parity <= had ? 0 : sk_engine_has_room(p->engine, parity - had, err);
}

static int measure(struct sk_protector *p, struct saikai_error *err)
{
    if (p->costs_known || !sk_is_auto(p->coding.form))
        return 0;
    int rc = sk_link_costs_measure(p->protection.group, &p->costs, err);
    p->costs_known = !rc;
    p->coding.costs = &p->costs;
    return rc;
}

/* Collective: the coding of the set begins on all ranks, or on none. */
static int begin(void *arg, struct saikai_error *err)
{
    struct sk_protector *p = arg;
    struct coding *c = &p->now;
    char parity[PATH_MAX], spare[PATH_MAX];
    if (p->safe.clean)
        clean_up(p);
    int rc = c->held ? list_files(p, err) : c->rc;
    if (!c->held && err)
        *err = c->err;
    if (!rc)
        rc = sk_parity_set_path(p->home.root, c->set, p->home.rank, parity, sizeof parity, err);
    if (!rc)
        rc = sk_parity_spare_path(p->home.root, p->home.rank, spare, sizeof spare, err);
    if (!rc)
        rc = check_room(p, spare, err);
    /* whoever has nothing to give tells it to all before they begin */
    rc = sk_group_verdict(p->job, rc, err);
    if (!rc)
        rc = measure(p, err);
    if (rc)
        return rc;
    struct sk_encode_params e = {.coding = p->coding,
                                 .generation = (uint64_t)sk_gen_key(c->set.gen),
                                 .store = p->home.store,
                                 .group = (uint64_t)p->protection.number,
                                 .rank = (uint32_t)p->home.rank,
                                 .host = p->home.host,
                                 .files = c->files,
                                 .path = (const char *const *)c->path,
                                 .name = (const char *const *)c->name,
                                 .source = c->source,
                                 .mode = SK_FILES_MAP,
                                 .parity_path = parity,
                                 .recycle_path = spare,
                                 .kept = p->kept,
                                 .no_sync = !p->home.sync};
    rc = sk_encode_begin(p->protection.group, &e, &c->encode, err);
    return sk_group_verdict(p->job, rc, err);
}

static int step(void *arg, int *done, struct saikai_error *err)
{
    enum { STRIPES = 8 }; /* then the caller looks at the clock */
    struct sk_protector *p = arg;
    int rc = sk_encode_step(p->now.encode, STRIPES, done);
    return rc ? sk_fail(err, rc, "the ranks of a redundancy group lost contact") : 0;
}

static int finish(void *arg, struct saikai_error *err)
{
    struct sk_protector *p = arg;
    struct coding *c = &p->now;
    int mine = sk_encode_finish(c->encode, &c->result, err);
    int rc = sk_group_verdict(p->job, mine, err);
    if (rc) { /* whoever failed: half a job that is protected is none */
        struct sk_holding_entry e = {c->set.gen, p->home.rank, c->set.coder};
        sk_holdings_remove(p->home.root, &e, NULL);
    }
    if (!rc && (rc = sk_group_allreduce(p->job, &c->oldest, 1, SK_OP_MIN)))
        sk_fail(err, rc, "the ranks lost contact after coding");
    return rc;
}

static void end(void *arg, int rc, const struct saikai_error *err)
{
    struct sk_protector *p = arg;
    struct coding *c = &p->now;
    int abandoned = sk_encode_abandoned(c->encode);
    sk_encode_free(c->encode);
    c->encode = NULL;
    free_files(p, abandoned);
    c->rc = rc;
    c->err = *err;
    if (!rc)
        atomic_store(&p->coded, c->number);
}

static const struct sk_offwork_ops coding_work = {"the coding of a checkpoint", begin, step, finish,
                                                  end};

/* ---- by the program's thread ---- */

static int read_settings(struct sk_protector *p, const struct sk_config *c,
                         struct saikai_error *err)
{
    uint64_t block = sk_config_size(c, "redundancy.block");
    if (block % 64 || block > SK_MAX_BLOCK)
        return sk_fail(err, SAIKAI_ECONFIG, "redundancy.block: a multiple of 64 bytes up to %u MiB",
                       SK_MAX_BLOCK >> 20);
    p->coding = (struct sk_encoding){.scheme = p->protection.scheme,
                                     .parity = p->protection.parity,
                                     .placement = SK_SPREAD,
                                     .form = sk_config_text(c, "redundancy.form"),
                                     .block = (uint32_t)block};
    return 0;
}

static int set_up(struct sk_protector *p, const struct sk_protector_setup *s,
                  struct saikai_error *err)
{
    int slices = !strcmp(sk_config_text(s->config, "redundancy.helper"), "slices");
    int rc = sk_offpath_new(s->g, slices, &p->off, err);
    if (!rc) {
        p->job = sk_offpath_group(p->off);
        rc = sk_protection_form(p->job, s->config, s->host, &p->protection, err);
    }
    if (rc || !p->protection.scheme)
        return rc;
    p->status.members = p->protection.group->size;
    p->status.tolerated = p->protection.parity;
    p->status.groups = p->protection.groups;
    rc = sk_neighbours(p->job, s->host, s->root, &p->leader, err);
    return rc ? rc : sk_group_verdict(p->job, read_settings(p, s->config, err), err);
}

int sk_protector_new(const struct sk_protector_setup *s, struct sk_protector **out,
                     struct saikai_error *err)
{
    *out = NULL;
    if (s->g->size < 2 || !strcmp(sk_config_text(s->config, "redundancy.scheme"), "none"))
        return 0;
    struct sk_protector *p = calloc(1, sizeof *p);
    int rc = p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to protect checkpoints");
    if (p) {
        p->engine = s->engine;
        p->home.rank = s->g->rank;
        p->home.incarnation = s->incarnation;
        p->home.store = s->store;
        p->home.sync = s->sync;
        p->safe.clean = 1;
        p->home.root = strdup(s->root);
        p->home.host = strdup(s->host);
        p->kept = sk_kept_maps_new();
        if (!p->home.root || !p->home.host || !p->kept)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to protect checkpoints");
    }
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        rc = set_up(p, s, err);
    if (rc || !p->protection.scheme) {
        sk_protector_free(p);
        return rc;
    }
    sk_engine_hash_files(p->engine);
    *out = p;
    return 0;
}

void sk_protector_free(struct sk_protector *p)
{
    if (!p)
        return;
    sk_offpath_stop(p->off); /* the thread ends first: it uses the groups */
    sk_group_free(p->protection.group);
    sk_offpath_free(p->off);
    sk_kept_maps_free(p->kept);
    free(p->leader);
    free(p->home.root);
    free(p->home.host);
    free(p);
}

static void append(struct sk_protector *p, struct sk_parity_set set, int held)
{
    if (p->safe.count == MOST_SETS) { /* only when this many were adopted: the oldest has been replaced by
                                   newer ones long ago */
        if (p->safe.held[0])
            sk_engine_release(p->engine, p->safe.set[0].gen);
        memmove(p->safe.set, p->safe.set + 1, (MOST_SETS - 1) * sizeof *p->safe.set);
        memmove(p->safe.held, p->safe.held + 1, (MOST_SETS - 1) * sizeof *p->safe.held);
        p->safe.count--;
    }
    p->safe.set[p->safe.count] = set;
    p->safe.held[p->safe.count++] = held;
}

void sk_protector_adopt(struct sk_protector *p, struct sk_parity_set set)
{
    if (p)
        append(p, set, !sk_engine_hold(p->engine, set.gen, NULL));
}

int sk_protector_busy(const struct sk_protector *p)
{
    return p && p->now.number != 0;
}

void sk_protector_begin(struct sk_protector *p, struct sk_gen gen, int64_t seq, int anew)
{
    struct coding *c = &p->now;
    *c = (struct coding){.set = {gen, p->home.incarnation}, .seq = seq, .number = ++p->begun, .anew = anew};
    c->rc = sk_engine_hold(p->engine, gen, &c->err);
    c->held = !c->rc;
    sk_offpath_submit(p->off, &coding_work, p);
}

int sk_protector_wants_slices(const struct sk_protector *p)
{
    return p && sk_offpath_wants_slices(p->off);
}

void sk_protector_slice(struct sk_protector *p)
{
    /* a twentieth of the time; the ranks reach a candidate at about the same time, so that blocks
     * flow between them */
    const double part = 0.05, least = 0.2e-3, most = 50e-3;
    double begun = sk_now(), budget = (begun - p->sliced_at) * part;
    sk_offpath_slice(p->off, budget < least ? least : budget > most ? most : budget);
    p->sliced_at = sk_now();
}

void sk_protector_tell(struct sk_protector *p, struct sk_protector_news *out)
{
    *out = (struct sk_protector_news){0};
    if (!p)
        return;
    /* in this order: what has ended here has told its result */
    out->ended = sk_offpath_ended(p->off);
    out->ready = sk_offpath_ready(p->off);
    out->coded = atomic_load(&p->coded);
}

/* A parity file that no longer protects anything, so that nobody tries it at a restart; renaming is
 * all that is done here. */
static void set_aside(const struct sk_protector *p, struct sk_parity_set set)
{
    char path[PATH_MAX], spare[PATH_MAX];
    if (set.gen.incarnation < p->home.incarnation && !sk_engine_may_remove_earlier(p->engine))
        return;
    if (sk_parity_set_path(p->home.root, set, p->home.rank, path, sizeof path, NULL) ||
        sk_parity_spare_path(p->home.root, p->home.rank, spare, sizeof spare, NULL) || !access(spare, F_OK) ||
        sk_io_rename(path, spare, NULL))
        return; /* the cleaning before the next coding finds it */
    struct sk_holding_entry e = {set.gen, p->home.rank, set.coder};
    sk_holdings_remove(p->home.root, &e, NULL); /* with its directory */
}

/* The set just coded replaces those that nothing in it builds on. */
static void replace_sets(struct sk_protector *p)
{
    struct coding *c = &p->now;
    struct sk_parity_set gone[MOST_SETS];
    int kept = 0, count = 0;
    for (int i = 0; i < p->safe.count; i++) {
        int64_t key = sk_gen_key(p->safe.set[i].gen);
        if (p->safe.set[i].coder == p->home.incarnation && key >= c->oldest && key < sk_gen_key(c->set.gen)) {
            p->safe.set[kept] = p->safe.set[i];
            p->safe.held[kept++] = p->safe.held[i];
        } else {
            gone[count++] = p->safe.set[i];
            if (p->safe.held[i])
                sk_engine_release(p->engine, p->safe.set[i].gen);
        }
    }
    p->safe.count = kept;
    append(p, c->set, c->held);
    sk_engine_protecting(p->engine, p->safe.set, (size_t)p->safe.count);
    for (int i = 0; i < count; i++)
        set_aside(p, gone[i]);
    p->safe.clean = 1;
}

static void note_failure(struct sk_protector *p)
{
    struct coding *c = &p->now;
    char name[48];
    if (c->held)
        sk_engine_release(p->engine, c->set.gen);
    p->status.failures++;
    if (c->rc == SAIKAI_EDAMAGED || c->rc == SAIKAI_ENOENT)
        sk_engine_suspect(p->engine);
    if (!c->rc) /* nothing failed here */
        sk_fail(&c->err, SAIKAI_EPEER, "the ranks lost contact");
    sk_error_prefix(&c->err, "generation %s is not protected (the one before stays so)",
                    sk_gen_name(c->set.gen, name));
    p->status.last_error = c->err;
    int again = c->err.code == SAIKAI_ENOSPC && p->room_told;
    p->room_told = c->err.code == SAIKAI_ENOSPC;
    if (c->err.code != SAIKAI_EPEER || !p->home.rank)
        sk_log(again ? SK_LOG_INFO : SK_LOG_WARN, "rank %d: %s", p->home.rank, c->err.text);
}

int sk_protector_hear(struct sk_protector *p, const struct sk_protector_news *least,
                      struct sk_gen *gen, int64_t *seq)
{
    struct coding *c = p ? &p->now : NULL;
    if (!p)
        return 0;
    sk_offpath_agree(p->off, least->ready);
    if (!c->number || least->ended < c->number)
        return 0;
    int good = least->coded >= c->number;
    if (good) {
        *gen = c->set.gen;
        *seq = c->seq;
        p->status.seconds = c->result.seconds;
        p->status.parity_bytes = c->result.parity_bytes;
        replace_sets(p);
    } else {
        note_failure(p);
    }
    c->number = 0;
    return good;
}

int sk_protector_drain(struct sk_protector *p, struct sk_gen *gen, int64_t *seq)
{
    if (!p)
        return 0;
    sk_offpath_drain(p->off);
    int64_t coded = atomic_load(&p->coded);
    if (sk_protector_busy(p) && sk_group_allreduce(p->job, &coded, 1, SK_OP_MIN))
        coded = 0;
    int good =
        sk_protector_hear(p, &(struct sk_protector_news){INT64_MAX, INT64_MAX, coded}, gen, seq);
    if (p->safe.clean)
        clean_up(p);
    return good;
}

void sk_protector_status(const struct sk_protector *p, struct sk_protector_status *out)
{
    *out = p ? p->status : (struct sk_protector_status){0};
}

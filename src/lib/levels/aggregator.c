/* Puts a generation's whole containers into archives, and reads such a generation at a restart. */
#include "lib/levels/aggregator.h"

#include "archive/ranks/collect.h"
#include "archive/ranks/deliver.h"
#include "archive/ranks/writers.h"
#include "base/file/io.h"
#include "base/log.h"
#include "lib/engine/heal/heal.h"
#include "lib/levels/level.h"
#include "lib/levels/offpath.h"
#include "store/gen.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sk_aggregator {
    struct sk_engine *engine;
    struct sk_offpath *off;
    struct sk_group *job; /* that works use */
    char *local, *prefix, *host;
    struct sk_collect_options options;
    struct sk_writers writers;
    int rank, nranks;
    uint32_t incarnation;
    struct sk_id lease;
    /* the work under way: written by the program's thread before it is submitted */
    struct sk_gen gen;
    int64_t seq, begun;
    int held;
    struct saikai_error hold_err;
    pthread_mutex_t lock; /* of what follows */
    int64_t archived_seq;
};

/* ---- the work, by the thread of the offpath ---- */

/* This rank's whole container, verified: its file, or what it and those it builds on give together,
 * written to tmp. A damaged one must not take the place of an older one in the prefix. */
static int whole_file(struct sk_aggregator *a, char *path, size_t cap, char *tmp, size_t tmp_cap,
                      struct saikai_error *err)
{
    struct sk_container *c = NULL;
    *tmp = 0;
    int rc = sk_gen_file(a->local, a->gen, a->rank, path, cap, err);
    if (!rc)
        rc = sk_lineage_open(a->local, a->gen, a->rank, &c, err);
    if (!rc && !sk_lineage_length(c)) {
        rc = sk_container_verify(c, err);
    } else if (!rc) {
        rc = sk_io_path(tmp, tmp_cap, err, "%s/full-%04u-%06d.tmp", a->local, a->incarnation,
                        a->rank);
        if (!rc)
            rc = sk_io_path(path, cap, err, "%s", tmp);
        if (!rc)
            rc = sk_container_copy(c, tmp, 0, err);
    }
    sk_container_close(c);
    return rc;
}

static int finish(void *arg, struct saikai_error *err)
{
    struct sk_aggregator *a = arg;
    char path[PATH_MAX], tmp[PATH_MAX] = "", dir[PATH_MAX], name[32];
    int rc = a->held ? whole_file(a, path, sizeof path, tmp, sizeof tmp, err) : a->hold_err.code;
    if (!a->held && err)
        *err = a->hold_err;
    if (!rc)
        rc = sk_gen_dir(a->prefix, a->gen, dir, sizeof dir, err);
    if (!rc)
        rc = sk_lease_check(a->prefix, a->lease, 1, err);
    rc = sk_group_verdict(a->job, rc, err);
    sk_gen_file_name(a->rank, name);
    struct sk_archive_input in = {.path = path, .name = name};
    if (!rc)
        rc = sk_collect_create(a->job, dir, &in, 1, &a->options, NULL, NULL, err);
    if (*tmp)
        sk_io_unlink(tmp, NULL);
    return rc;
}

static void end(void *arg, int rc, const struct saikai_error *err)
{
    struct sk_aggregator *a = arg;
    char name[48];
    if (a->held)
        sk_engine_release(a->engine, a->gen);
    if (!rc)
        sk_engine_note_archived(a->engine, a->seq);
    if (rc) {
        if (rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOENT)
            sk_engine_suspect(a->engine);
        if (rc != SAIKAI_EPEER || !a->rank)
            sk_log(SK_LOG_WARN, "rank %d: generation %s is not archived: %s", a->rank, sk_gen_name(a->gen, name), err->text);
        return;
    }
    pthread_mutex_lock(&a->lock);
    a->archived_seq = a->seq;
    pthread_mutex_unlock(&a->lock);
}

static const struct sk_offwork_ops work = {"the archiving of a checkpoint", NULL, NULL, finish,
                                           end};

/* ---- by the program's thread ---- */

static int set_up(struct sk_aggregator *a, const struct sk_level_setup *s,
                  struct saikai_error *err)
{
    const struct sk_config *c = s->config;
    a->engine = s->engine;
    a->rank = s->g->rank;
    a->nranks = s->g->size;
    a->incarnation = s->incarnation;
    a->lease = s->lease;
    a->local = strdup(s->local_root);
    a->prefix = strdup(s->prefix_root);
    a->host = strdup(s->host);
    if (!a->local || !a->prefix || !a->host)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to archive checkpoints");
    struct sk_collect_options *o = &a->options;
    o->writers = (int)sk_config_int(c, "far.writers");
    o->group = (int)sk_config_int(c, "far.group");
    o->order = strcmp(sk_config_text(c, "far.order"), "node") ? SK_ORDER_RANK : SK_ORDER_NODE;
    o->host = a->host;
    o->archive.memory_bytes = sk_config_size(c, "far.memory");
    o->archive.threads = (int)sk_config_int(c, "codec.threads");
    o->archive.store = s->store;
    o->archive.quick = 1; /* beside the program: every byte travels and is compressed once */
    o->archive.no_sync = !sk_config_bool(c, "store.fsync");
    if (o->writers && o->group)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "far.writers and far.group say the same in two ways: set one of them");
    if (o->writers > a->nranks) /* a job that is started again on fewer ranks must run */
        o->writers = a->nranks;
    return 0;
}

static void close_aggregator(void *f);

static int open_aggregator(const struct sk_level_setup *s, void **out, struct saikai_error *err)
{
    int64_t threads = s->g->threads;
    *out = NULL;
    int rc = sk_group_allreduce(s->g, &threads, 1, SK_OP_MIN);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact");
    if (!threads) {
        if (!s->g->rank)
            sk_log(SK_LOG_WARN, "store.archive=aggregate needs MPI_THREAD_MULTIPLE: each rank's "
                                "file is copied to the prefix instead");
        return 0;
    }
    struct sk_aggregator *a = calloc(1, sizeof *a);
    if (a) {
        pthread_mutex_init(&a->lock, NULL);
        rc = set_up(a, s, err);
    } else {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to archive checkpoints");
    }
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        rc = sk_offpath_new(s->g, 0, &a->off, err);
    if (rc) {
        close_aggregator(a);
        return rc;
    }
    a->job = sk_offpath_group(a->off);
    /* here, and not for each archive: to form groups blocks, and the thread must be able to stop */
    rc = sk_writers_form(a->job, &a->options, &a->writers, err);
    if (rc) {
        close_aggregator(a);
        return rc;
    }
    a->options.formed = &a->writers;
    *out = a;
    return 0;
}

static void free_parts(struct sk_aggregator *a)
{
    pthread_mutex_destroy(&a->lock);
    free(a->local);
    free(a->prefix);
    free(a->host);
    free(a);
}

static void close_aggregator(void *f)
{
    struct sk_aggregator *a = f;
    if (!a)
        return;
    sk_offpath_stop(a->off); /* the thread ends first: it uses the groups */
    sk_writers_free(&a->writers);
    sk_offpath_free(a->off);
    free_parts(a);
}

static int give_up(void *f)
{
    struct sk_aggregator *a = f;
    return sk_offpath_give_up(a->off, a);
}

static void bring(void *f, struct sk_gen gen, int64_t seq, int anew)
{
    struct sk_aggregator *a = f;
    (void)anew; /* archives build on no generation */
    a->gen = gen;
    a->seq = seq;
    a->hold_err = (struct saikai_error){0};
    a->held = !sk_engine_hold(a->engine, gen, &a->hold_err);
    a->begun = sk_offpath_submit(a->off, &work, a);
}

static void tell(void *f, int64_t word[SK_LEVEL_WORDS])
{
    struct sk_aggregator *a = f;
    int64_t ended = sk_offpath_ended(a->off); /* before the result is read */
    pthread_mutex_lock(&a->lock);
    int64_t seq = a->archived_seq;
    pthread_mutex_unlock(&a->lock);
    sk_level_tell_newest(word, seq, ended >= a->begun);
}

static void hear(void *f, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    (void)f;
    sk_level_hear_newest(least, h);
}

static int list(const char *root, int rank, struct sk_gen_list *out, struct saikai_error *err)
{
    (void)rank; /* what is archived can be given to any */
    return sk_archived_list(root, out, err);
}

/* The engine removes older archives, too: which of both forms a generation has in the prefix does not matter there. */
static void retire(void *f, int64_t seq)
{
    struct sk_aggregator *a = f;
    sk_engine_archived(a->engine, seq);
}

static int wait_a_while(void *f, double seconds)
{
    struct sk_aggregator *a = f;
    return sk_offpath_wait(a->off, seconds);
}

const struct sk_level_ops sk_level_archives = {
    .name = "aggregate",
    .about = "few ranks write archives of all ranks' variables, merged and compressed (needs MPI_THREAD_MULTIPLE, else files)",
    .open = open_aggregator,
    .close = close_aggregator,
    .give_up = give_up,
    .bring = bring,
    .wait = wait_a_while,
    .tell = tell,
    .hear = hear,
    .list = list,
    .to_any = 1,
    .retire = retire,
};

/* ---- restart ---- */

int sk_archived(const char *prefix_root, struct sk_gen gen)
{
    char dir[PATH_MAX];
    struct sk_ska_set set;
    return !sk_gen_dir(prefix_root, gen, dir, sizeof dir, NULL) &&
           !sk_ska_set_newest(dir, &set, NULL);
}

static int is_archived(void *arg, const char *root, struct sk_gen gen)
{
    (void)arg;
    return sk_archived(root, gen);
}

int sk_archived_list(const char *prefix_root, struct sk_gen_list *out, struct saikai_error *err)
{
    return sk_gen_scan_if(prefix_root, is_archived, NULL, out, err);
}

int sk_archived_ranks(const char *prefix_root, struct sk_gen gen, int *ranks,
                      struct saikai_error *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct sk_ska_set set;
    size_t n = 0;
    int rc = sk_gen_dir(prefix_root, gen, dir, sizeof dir, err);
    if (!rc)
        rc = sk_ska_set_newest(dir, &set, err);
    for (int k = 1; !rc && k <= set.parts; k++) {
        struct sk_ska a = {0};
        rc = sk_ska_set_path(&set, dir, k, path, sizeof path, err);
        if (!rc)
            rc = sk_archive_open(path, &a, err);
        n += a.file_count;
        sk_ska_free(&a);
    }
    if (!rc)
        *ranks = (int)n;
    return rc;
}

struct wishes {
    const uint8_t *wants; /* per rank */
    size_t files;         /* in the archives */
};

static int owner(void *arg, const struct sk_ska_file *f, size_t index, size_t files, int ranks)
{
    struct wishes *w = arg;
    int rank = (int)f->origin - 1;
    w->files = files;
    if (!w->wants) /* all: whoever */
        return (int)(index * (size_t)ranks / files);
    return rank >= 0 && rank < ranks && w->wants[rank] ? rank : -1;
}

int sk_archived_restore(struct sk_group *g, const char *prefix_root, struct sk_gen gen,
                        const char *to_root, int mine, int all, const struct sk_job *of, uint64_t memory_bytes,
                        struct saikai_error *err)
{
    struct sk_id stores[1 + SK_JOB_FORMER] = {of->store};
    memcpy(stores + 1, of->former, sizeof of->former);
    char from[PATH_MAX], to[PATH_MAX];
    uint8_t want = mine != 0, *wants = calloc((size_t)g->size, 1);
    int rc = wants ? sk_gen_dir(prefix_root, gen, from, sizeof from, err)
                   : sk_fail(err, SAIKAI_ENOMEM, "no memory to restore an archive");
    if (!rc)
        rc = sk_gen_dir(to_root, gen, to, sizeof to, err);
    rc = sk_group_verdict(g, rc, err);
    if (!rc && (rc = sk_group_allgather(g, &want, wants, 1)))
        sk_fail(err, rc, "the ranks lost contact");
    struct wishes w = {all ? NULL : wants, 0};
    struct sk_deliver_options o = {.owner = owner, .arg = &w};
    o.extract.threads = 1;
    o.extract.no_sync = 1;
    o.extract.memory_bytes = memory_bytes;
    o.extract.stores = stores;
    o.extract.store_count = 1 + of->former_count;
    if (!rc)
        rc = sk_collect_extract(g, from, to, &o, NULL, err);
    if (!all && w.files && w.files != (size_t)g->size)
        rc = sk_fail(err, SAIKAI_ERANKS,
                     "%s was written by %zu ranks, this job has %d: start it with %zu, or afresh "
                     "with restart.mode=never",
                     from, w.files, g->size, w.files);
    free(wants);
    return rc;
}

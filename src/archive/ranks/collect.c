/* N ranks → M writers: one archive per writer, one verdict. */
#include "archive/ranks/collect.h"
#include "archive/plan/listing.h"
#include "archive/ranks/serve.h"
#include "archive/write/delta.h"
#include "archive/write/schemes.h"

#include "archive/ranks/owners.h"
#include "archive/ranks/pull.h"
#include "archive/ranks/wire/messages.h"
#include "archive/file/target.h"
#include "archive/ranks/wire/wire.h"
#include "archive/ranks/writers.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { LEAST_PIECE = 16 << 10, MOST_PIECE = 1 << 20 };

/* ---- one archive ---- */

struct collection {
    struct sk_group *g;   /* all ranks */
    struct sk_group *sub; /* those who share a writer; rank 0 of it writes */
    struct sk_writers own; /* formed for this archive */
    const struct sk_collect_options *o;
    struct sk_archive_input *inputs; /* those this rank gives */
    size_t count;
    struct sk_feed_local feed;
    struct sk_listed *list; /* this rank's, until a plan has taken them */
    size_t listed;
    size_t piece_bytes;
    struct sk_ska_plan plan;
    struct sk_target target;
    struct sk_archive_stats st;
    struct sk_ska_set set, before; /* before: that this one builds on, parts 0: none */
    int part;                      /* 1 … M */
    int lock;                      /* rank 0: the directory, locked while a set is made; -1 */
    char out[4096];
};

static int choose_inputs(struct collection *c, const struct sk_archive_input *inputs, size_t count,
                         struct saikai_error *err)
{
    struct sk_feed_local all = {0};
    uint8_t *keep = calloc(count, 1);
    c->inputs = calloc(count, sizeof *c->inputs);
    int rc = keep && c->inputs ? sk_feed_local_init(&all, inputs, count, err)
                               : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    rc = sk_group_verdict(c->g, rc, err);
    if (!rc)
        rc = sk_group_verdict(c->g, sk_owners_settle(c->g, &all, keep, err), err);
    for (size_t i = 0; i < count && !rc; i++)
        if (keep[i])
            c->inputs[c->count++] = inputs[i];
    free(keep);
    sk_feed_local_free(&all);
    return rc;
}

/* How coarsely those who share a writer cut their files into chunks: its memory decides. -1: not at all. */
static int agree_on_chunks(struct collection *c, int *coarse, struct saikai_error *err)
{
    int64_t all = 0, chosen = -1;
    const struct sk_archive_options *o = &c->o->archive;
    for (size_t i = 0; i < c->feed.count; i++)
        all += c->feed.seen[i].st_size;
    int rc = sk_group_allreduce(c->sub, &all, 1, SK_OP_SUM);
    if (!c->sub->rank && o->scheme == SK_SCHEME_AUTO)
        chosen = sk_chunks_coarse((uint64_t)all, sk_memory_of(o));
    if (!rc)
        rc = sk_group_bcast(c->sub, &chosen, sizeof chosen, 0);
    *coarse = (int)chosen;
    return rc ? sk_fail(err, rc, "the ranks lost touch") : 0;
}

/* Each rank cuts its own files, all at the same time: what is there twice need not travel to be found. */
static int cut_files(struct collection *c, int coarse, struct saikai_error *err)
{
    uint8_t *window = NULL;
    int rc = 0;
    for (uint32_t i = 0; i < c->listed && !rc && coarse >= 0; i++)
        rc = sk_chunks_cut(&c->feed.feed, i, c->list[i].size_bytes, coarse, &c->list[i].chunks, NULL, &window, err);
    free(window);
    return rc;
}

/* Each rank looks into its own files. */
static int list_files(struct collection *c, struct saikai_error *err)
{
    int rc = sk_feed_local_init(&c->feed, c->inputs, c->count, err);
    c->list = rc ? NULL : calloc(c->count, sizeof *c->list);
    if (!rc && !c->list)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    sk_raw_describe_shipped();
    for (size_t i = 0; i < c->count && !rc; i++) {
        rc = sk_list_input(&c->inputs[i], &c->feed.seen[i], sk_scheme_looks(c->o->archive.scheme),
                           &c->list[i], err);
        c->listed += !rc;
        if (!rc)
            c->list[i].origin = (uint32_t)c->g->rank + 1;
    }
    return rc;
}

static int list_and_cut(struct collection *c, struct saikai_error *err)
{
    int coarse = -1, rc = sk_group_verdict(c->g, list_files(c, err), err);
    rc = rc ? rc : agree_on_chunks(c, &coarse, err);
    rc = rc ? rc : sk_group_verdict(c->g, cut_files(c, coarse, err), err);
    return rc;
}

static int plan_add(struct collection *c, struct sk_listed *l, size_t n, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = sk_ska_plan_add(&c->plan, &l[i], err);
    return rc;
}

/* Members tell the writer their lists; first: where each member's files begin. Fails on the group
 * only; *own: what went wrong here. */
static int tell_lists(struct collection *c, uint32_t *first, int *own, struct saikai_error *err)
{
    struct sk_buf mine = {0};
    int rc = 0;
    *own = 0;
    if (c->sub->rank) {
        sk_wire_put_list(&mine, c->list, c->listed);
        /* without memory an empty list goes, and the verdict tells */
        if (!sk_buf_ok(&mine)) {
            *own = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of variables");
            mine.len = 0;
        }
        rc = sk_message_send(c->sub, 0, mine.data, mine.len);
        sk_buf_free(&mine);
        return rc;
    }
    *own = plan_add(c, c->list, c->listed, err);
    for (int m = 1; m < c->sub->size && !rc; m++) {
        void *data = NULL;
        size_t n = 0, count = 0;
        struct sk_listed *list = NULL;
        first[m] = (uint32_t)c->plan.a.file_count;
        rc = sk_message_recv(c->sub, m, &data, &n);
        if (!rc && !*own) {
            int got = data ? sk_wire_get_list(data, n, &list, &count) : SAIKAI_ENOMEM;
            *own = got ? sk_fail(err, got, got == SAIKAI_ENOMEM ? "no memory for the list of files of another rank"
                                                                : "cannot take up the list of files of another rank")
                       : plan_add(c, list, count, err);
        }
        for (size_t i = 0; i < count; i++)
            sk_listed_free(&list[i]);
        free(list);
        free(data);
    }
    first[c->sub->size] = (uint32_t)c->plan.a.file_count;
    return rc;
}

static int write_part(void *arg, struct saikai_error *err)
{
    struct collection *c = arg;
    return sk_ska_plan_write(&c->plan, c->target.fd, c->target.tmp, &c->st, err);
}

/* The archive of the set before whose place in the row is that of ours. */
static int open_before(struct collection *c, struct saikai_error *err)
{
    char path[4096];
    const char *slash = strrchr(c->out, '/');
    int64_t k = (int64_t)(c->part - 1) * c->before.parts / c->set.parts;
    char *dir = strndup(c->out, (size_t)(slash - c->out));
    int rc = dir ? sk_ska_set_path(&c->before, dir, (int)k + 1, path, sizeof path, err)
                 : sk_fail(err, SAIKAI_ENOMEM, "no memory to build on the set before");
    if (!rc)
        rc = sk_ska_plan_previous(&c->plan, c->out, path, err);
    free(dir);
    return rc;
}

/* The writer's side: a plan, a feed that pulls, an archive under a temporary name. */
static int write_archive(struct collection *c, const uint32_t *first, struct saikai_error *err)
{
    struct sk_pull *p = NULL;
    int rc = sk_pull_new(c->sub, &c->feed, first, c->piece_bytes, &p, err);
    if (!rc && c->before.parts)
        rc = open_before(c, err);
    if (!rc)
        rc = sk_target_open(&c->target, c->out, err);
    rc = sk_group_verdict(c->sub, rc, err);
    if (!rc) {
        c->plan.feed = sk_pull_feed(p);
        rc = sk_pull_run(p, write_part, c, err);
    }
    sk_pull_free(p);
    return rc;
}

/* Pieces for all members at once take an eighth of the memory. */
static size_t choose_piece(const struct sk_archive_options *o, int members)
{
    uint64_t fits = sk_memory_of(o) / 8 / (2 * (uint64_t)members);
    return fits < LEAST_PIECE ? LEAST_PIECE : fits > MOST_PIECE ? MOST_PIECE : (size_t)fits;
}

static int make_part(struct collection *c, struct saikai_error *err)
{
    int own = 0;
    struct sk_archive_options o = c->o->archive;
    int64_t piece = (int64_t)choose_piece(&o, c->sub->size);
    uint32_t *first = calloc((size_t)c->sub->size + 1, sizeof *first);
    /* the writer's memory counts, and the buffers of the messages are part of it */
    int rc = sk_group_bcast(c->sub, &piece, sizeof piece, 0);
    c->piece_bytes = (size_t)piece;
    o.memory_bytes = sk_memory_of(&o);
    if (c->sub->size > 1)
        o.memory_bytes -= o.memory_bytes / 8;
    sk_ska_plan_options(&c->plan, &o);
    c->plan.chunked = 1;
    if (!rc && !first)
        own = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of ranks");
    rc = rc ? sk_fail(err, rc, "the ranks lost touch") : sk_group_verdict(c->sub, own, err);
    if (!rc && (rc = tell_lists(c, first, &own, err)))
        sk_fail(err, rc, "the ranks lost touch while they told the writer their files");
    if (!rc)
        rc = sk_group_verdict(c->sub, own, err);
    if (!rc && !c->sub->rank) {
        rc = write_archive(c, first, err);
    } else if (!rc) {
        rc = sk_group_verdict(c->sub, 0, err);
        if (!rc)
            rc = sk_serve(c->sub, &c->feed, c->piece_bytes, err);
    }
    if (!rc)
        rc = sk_feed_local_check(&c->feed, err);
    free(first);
    return rc;
}

/* ---- the set ---- */

/* Rank 0: the newest whole set, if this one is to build on it and there is one. */
static int find_before(struct collection *c, const char *dir, struct saikai_error *err)
{
    struct saikai_error why = {0};
    int rc = c->o->previous ? sk_ska_set_newest(dir, &c->before, &why) : 0;
    if (rc && rc != SAIKAI_ENOENT) {
        if (err)
            *err = why;
        return rc;
    }
    return 0;
}

/* Rank 0: one set at a time is made in a directory, where its file system has locks: two would mix
 * their archives. */
static int lock_dir(struct collection *c, const char *dir, struct saikai_error *err)
{
    c->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c->lock >= 0 && flock(c->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        return sk_fail(err, SAIKAI_EEXIST, "another program is making a set in %s: wait for it",
                       dir);
    return 0;
}

/* Rank 0 makes the directory and chooses the number. */
static int begin_set(struct collection *c, const char *dir, struct saikai_error *err)
{
    int rc = 0;
    if (!c->g->rank) {
        rc = c->o->archive.no_sync ? sk_io_mkdirs(dir, err) : sk_io_mkdirs_lasting(dir, err);
        if (!rc)
            rc = lock_dir(c, dir, err);
        if (!rc)
            rc = sk_ska_set_clean(dir, NULL, 0, err);
        if (!rc)
            rc = sk_ska_set_next(dir, &c->set.number, err);
        if (!rc)
            rc = find_before(c, dir, err);
    }
    rc = sk_group_verdict(c->g, rc, err);
    if (rc)
        return rc;
    rc = sk_group_bcast(c->g, &c->set.number, sizeof c->set.number, 0);
    if (!rc)
        rc = sk_group_bcast(c->g, &c->before, sizeof c->before, 0);
    if (rc)
        return sk_fail(err, rc, "the ranks lost touch");
    return sk_group_verdict(
        c->g, sk_ska_set_path(&c->set, dir, c->part, c->out, sizeof c->out, err), err);
}

/* All archives are complete, or none gets its name. What the new ones build on stays. */
static int end_set(struct collection *c, const char *dir, int rc, struct saikai_error *err)
{
    int writes = c->sub && !c->sub->rank, named = 0;
    int64_t depth = c->st.depth;
    rc = sk_group_verdict(c->g, rc, err);
    if (!rc && (rc = sk_group_allreduce(c->g, &depth, 1, SK_OP_MAX)))
        return sk_fail(err, rc, "the ranks lost touch");
    if (!rc && writes) {
        rc = sk_target_commit(&c->target, c->out, !c->o->archive.no_sync, err);
        named = c->target.fd < 0;
    }
    if (!rc && !c->g->rank && !c->o->archive.no_sync)
        rc = sk_io_fsync_parent(dir, err); /* whoever made it may not have come to that */
    rc = sk_group_verdict(c->g, rc, err);
    if (rc && named)
        sk_io_unlink(c->out, NULL);
    if (!rc && !c->g->rank) /* what cannot be removed now is by the next run */
        sk_ska_set_clean(dir, &c->set, depth > 0, NULL);
    return rc;
}

static int sum_stats(struct collection *c, struct saikai_error *err)
{
    struct sk_archive_stats *s = &c->st;
    int64_t v[] = {(int64_t)s->files, (int64_t)s->raw_bytes, (int64_t)s->stored_bytes,
                   (int64_t)s->variables, (int64_t)s->skeleton_bytes};
    int64_t most = (int64_t)s->classes;
    int rc = sk_group_allreduce(c->g, v, 5, SK_OP_SUM);
    if (!rc)
        rc = sk_group_allreduce(c->g, &most, 1, SK_OP_MAX);
    s->files = (uint64_t)v[0];
    s->raw_bytes = (uint64_t)v[1];
    s->stored_bytes = (uint64_t)v[2];
    s->variables = (uint64_t)v[3];
    s->skeleton_bytes = (uint64_t)v[4];
    s->classes = (uint64_t)most;
    return rc ? sk_fail(err, rc, "the ranks lost touch") : 0;
}

static void collection_free(struct collection *c)
{
    sk_target_drop(&c->target);
    if (c->lock >= 0)
        close(c->lock);
    sk_ska_plan_free(&c->plan);
    for (size_t i = 0; i < c->listed; i++)
        sk_listed_free(&c->list[i]);
    free(c->list);
    free(c->inputs);
    sk_feed_local_free(&c->feed);
    sk_writers_free(&c->own);
    free(c);
}

int sk_collect_create(struct sk_group *g, const char *dir, const struct sk_archive_input *inputs,
                      size_t count, const struct sk_collect_options *o,
                      struct sk_archive_stats *stats, struct sk_ska_set *made,
                      struct saikai_error *err)
{
    double t0 = sk_now();
    struct collection *c = calloc(1, sizeof *c);
    int rc = sk_group_verdict(
        g, c ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to make an archive"), err);
    if (rc) {
        free(c);
        return rc;
    }
    c->g = g;
    c->o = o;
    c->target.fd = c->lock = -1;
    if (!o->formed)
        rc = sk_writers_form(g, o, &c->own, err);
    const struct sk_writers *w = o->formed ? o->formed : &c->own;
    c->set.parts = w->count;
    c->part = w->writer + 1;
    c->sub = w->group;
    if (!rc)
        rc = choose_inputs(c, inputs, count, err);
    if (!rc)
        rc = begin_set(c, dir, err);
    if (!rc)
        rc = list_and_cut(c, err);
    c->st.scan_seconds = sk_now() - t0;
    if (!rc)
        rc = end_set(c, dir, make_part(c, err), err);
    if (!rc)
        rc = sum_stats(c, err);
    c->st.seconds = sk_now() - t0;
    if (!rc && stats)
        *stats = c->st;
    if (!rc && made)
        *made = c->set;
    collection_free(c);
    return rc;
}

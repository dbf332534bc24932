/* Restoring by many ranks: every block is decoded once, by one rank, and each segment goes to the
 * rank that wants its file. */
#include "archive/ranks/deliver.h"

#include "archive/file/set.h"
#include "archive/ranks/deliver_run.h"
#include "archive/ranks/wire/messages.h"
#include "base/clock.h"
#include "base/file/io.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_PIECE = 4 << 10, MOST_PIECE = 1 << 20 };

/* ---- who gets what ---- */

int sk_collect_by_origin(void *arg, const struct sk_ska_file *f, size_t index, size_t files,
                         int ranks)
{
    int givers = *(const int *)arg;
    if (f->origin && givers)
        return (int)((int64_t)(f->origin - 1) * ranks / givers);
    return (int)((uint64_t)index * (uint64_t)ranks / (files ? files : 1));
}

/* Whose each file is: all ranks know it of all files, so that nobody has to ask. */
static int assign(struct sk_delivery *d, const struct sk_deliver_options *o,
                  struct saikai_error *err)
{
    sk_collect_owner *owner = o->owner ? o->owner : sk_collect_by_origin;
    int givers = 0;
    size_t files = 0, index = 0, found = 0;
    for (int k = 0; k < d->part_count; k++)
        for (size_t i = 0; i < d->parts[k].a.file_count; i++, files++)
            if ((int)d->parts[k].a.files[i].origin > givers)
                givers = (int)d->parts[k].a.files[i].origin;
    for (int k = 0; k < d->part_count; k++) {
        struct sk_delivery_part *p = &d->parts[k];
        size_t n = p->a.file_count;
        p->owner = calloc(n, sizeof *p->owner);
        p->wanted = calloc(n, 1);
        p->anyone = calloc(n, 1);
        if (!p->owner || !p->wanted || !p->anyone)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
        for (size_t i = 0; i < n; i++, index++) {
            const struct sk_ska_file *f = &p->a.files[i];
            int r = o->extract.only && fnmatch(o->extract.only, f->name, 0)
                        ? -1
                        : owner(o->owner ? o->arg : &givers, f, index, files, d->g->size);
            p->owner[i] = r;
            p->anyone[i] = r >= 0;
            p->wanted[i] = r == d->g->rank;
            found += r >= 0;
            d->st.files += r == d->g->rank;
            d->st.raw_bytes += r == d->g->rank ? f->size_bytes : 0;
        }
    }
    return found ? 0
                 : sk_fail(err, SAIKAI_ENOENT, "%s holds none of the files that are wanted%s%s",
                           d->parts[0].path, o->extract.only ? ": " : "",
                           o->extract.only ? o->extract.only : "");
}

static int wants(const struct sk_delivery_part *p, size_t block, const uint8_t *wanted)
{
    const struct sk_ska_block *b = &p->a.blocks[block];
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *part = &p->a.parts[b->first + i];
        for (uint32_t s = 0; s < part->count; s++)
            if (wanted[p->a.segments[part->first + s].file])
                return 1;
    }
    return 0;
}

/* Blocks in order, in as many runs of about equal bytes as there are ranks. */
static int divide(struct sk_delivery *d, struct saikai_error *err)
{
    size_t all = 0;
    uint64_t total = 0, before = 0;
    for (int k = 0; k < d->part_count; k++)
        all += d->parts[k].a.block_count;
    d->places = calloc(all, sizeof *d->places);
    d->mine = calloc(all, sizeof *d->mine);
    if (!d->places || !d->mine)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of blocks");
    for (int k = 0; k < d->part_count; k++)
        for (size_t b = 0; b < d->parts[k].a.block_count; b++)
            if (wants(&d->parts[k], b, d->parts[k].anyone)) {
                d->places[d->place_count++] = (struct sk_delivery_place){&d->parts[k], b, 0};
                total += d->parts[k].a.blocks[b].size_bytes;
            }
    for (size_t i = 0; i < d->place_count; i++) {
        struct sk_delivery_place *p = &d->places[i];
        p->rank = (int)((double)before / (double)(total + 1) * d->g->size);
        before += p->part->a.blocks[p->block].size_bytes;
        if (p->rank == d->g->rank) {
            d->mine[d->mine_count++] = i;
            d->st.stored_bytes += p->part->a.blocks[p->block].stored_bytes;
        }
    }
    return 0;
}

/* ---- in and out ---- */

void sk_delivery_fit(struct sk_delivery *d, const struct sk_unpack_need *each, int threads, uint64_t memory)
{
    memory = memory * 3 / 4;
    d->threads = sk_unpack_threads(threads, SK_DELIVER_THREADS, each, memory);
    d->depth = (size_t)d->threads + 1;
    if ((uint64_t)d->threads * each->work_bytes + d->depth * each->raw_bytes > memory)
        d->depth--;
}

static int choose_depth(struct sk_delivery *d, const struct sk_extract_options *o,
                        struct saikai_error *err)
{
    struct sk_unpack_need most = {0, 0}, need;
    for (size_t k = 0; k < d->mine_count; k++) {
        const struct sk_delivery_place *p = &d->places[d->mine[k]];
        int rc = sk_unpack_need(&p->part->opened, p->block, &need, err);
        if (rc)
            return rc;
        sk_unpack_most(&most, &need);
    }
    sk_delivery_fit(d, &most, o->threads, o->memory_bytes ? o->memory_bytes : (uint64_t)1 << 30);
    return 0;
}

static int set_buffers(struct sk_delivery *d, const struct sk_extract_options *o,
                       struct saikai_error *err)
{
    int rc = choose_depth(d, o, err);
    if (rc)
        return rc;
    d->ring = calloc(d->depth, sizeof *d->ring);
    d->sources = calloc((size_t)d->g->size, sizeof *d->sources);
    rc = d->ring && d->sources ? 0 : SAIKAI_ENOMEM;
    for (size_t i = 0; i < d->depth && !rc; i++)
        d->ring[i].turn = i;
    for (int i = 0; i < SK_DELIVER_SENDS && !rc; i++)
        rc = (d->send[i].data = malloc(d->piece_bytes + 1)) ? 0 : SAIKAI_ENOMEM;
    for (int r = 0; r < d->g->size && !rc; r++) {
        struct sk_delivery_source *s = &d->sources[r];
        s->place = r == d->g->rank ? d->place_count : sk_delivery_next(d, r, 0);
        s->to_place = s->place;
        if (s->place == d->place_count)
            continue;
        s->left = sk_delivery_bytes(&d->places[s->place], d->g->rank);
        rc = (s->data = malloc(d->piece_bytes + 1)) ? 0 : SAIKAI_ENOMEM;
    }
    return rc ? sk_fail(err, rc, "no memory to restore files") : 0;
}

/* Each index is read by one rank and told to the others. */
static int open_part(struct sk_delivery *d, int k, const struct sk_extract_options *o, struct saikai_error *err)
{
    struct sk_delivery_part *p = &d->parts[k];
    struct sk_buf raw = {0};
    int reader = k % d->g->size, reads = d->g->rank == reader, rc = 0;
    p->fd = sk_io_open(p->path, O_RDONLY, 0, err);
    if (p->fd < 0)
        rc = p->fd;
    else if (reads && !(rc = sk_ska_read(p->fd, p->path, &p->a, err)) &&
             !(rc = sk_ska_check_store(&p->a, p->path, o->stores, o->store_count, err))) {
        sk_ska_put_raw_index(&raw, &p->a);
        sk_buf_put_u8(&raw, (uint8_t)sk_ska_version(&p->a)); /* by which it is told what memory its forms take */
    }
    if (!rc && !sk_buf_ok(&raw))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %s", p->path);
    rc = sk_group_verdict(d->g, rc, err);
    void *data = raw.data;
    size_t n = raw.len;
    if (!rc)
        rc = sk_message_bcast(d->g, reader, &data, &n, err);
    if (!rc && !reads) {
        rc = sk_ska_parse(data, n - 1, SK_SKA_VERSION, INT64_MAX, &p->a, err);
        p->a.needs = ((uint8_t *)data)[n - 1];
    }
    sk_opened_init(&p->opened, p->fd, p->path, &p->a);
    if (!reads && data != raw.data)
        free(data);
    sk_buf_free(&raw);
    return sk_group_verdict(d->g, rc, err);
}

/* A look which archives there are, for a thread that may hang there. */
struct finding {
    char path[4096];
    struct sk_ska_set set;
};

static int look(void *arg, struct saikai_error *err)
{
    struct finding *f = arg;
    return sk_ska_set_find(f->path, &f->set, err);
}

static int find_set(const char *path, struct sk_ska_set *set, struct saikai_error *err)
{
    struct finding *f = calloc(1, sizeof *f);
    int rc = f ? sk_io_path(f->path, sizeof f->path, err, "%s", path) : sk_fail(err, SAIKAI_ENOMEM, "no memory to look at %s", path);
    if (!rc && (rc = sk_patient_call(path, look, free, f, err)) == SAIKAI_ETIMEDOUT)
        return rc;
    if (!rc)
        *set = f->set;
    free(f);
    return rc;
}

/* Rank 0 looks which archives there are. */
static int open_parts(struct sk_delivery *d, const char *path, const struct sk_extract_options *o, struct saikai_error *err)
{
    struct sk_ska_set set = {0};
    int rc = d->g->rank ? 0 : find_set(path, &set, err);
    rc = sk_group_verdict(d->g, rc, err);
    if (!rc && (rc = sk_group_bcast(d->g, &set, sizeof set, 0)))
        sk_fail(err, rc, "the ranks lost touch");
    if (rc)
        return rc;
    int n = set.parts ? set.parts : 1;
    d->parts = calloc((size_t)n, sizeof *d->parts);
    if (!d->parts)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for %d archives", n);
    for (int k = 0; k < n && !rc; k++) {
        struct sk_delivery_part *p = &d->parts[k];
        p->fd = -1;
        d->part_count++;
        rc = set.parts ? sk_ska_set_path(&set, path, k + 1, p->path, sizeof p->path, err)
                       : sk_io_path(p->path, sizeof p->path, err, "%s", path);
    }
    rc = sk_group_verdict(d->g, rc, err);
    for (int k = 0; k < n && !rc; k++)
        rc = open_part(d, k, o, err);
    return rc;
}

static void delivery_free(struct sk_delivery *d)
{
    for (int k = 0; k < d->part_count; k++) {
        struct sk_delivery_part *p = &d->parts[k];
        sk_opened_done(&p->opened);
        if (p->fd >= 0)
            close(p->fd);
        sk_ska_free(&p->a);
        free(p->owner);
        free(p->wanted);
        free(p->anyone);
    }
    for (size_t i = 0; d->ring && i < d->depth; i++) {
        sk_unpacked_free(&d->ring[i].block);
        free(d->ring[i].items);
    }
    for (int r = 0; d->sources && r < d->g->size; r++)
        free(d->sources[r].data);
    for (int i = 0; i < SK_DELIVER_SENDS; i++)
        free(d->send[i].data);
    free(d->sources);
    free(d->ring);
    free(d->places);
    free(d->mine);
    free(d->parts);
    pthread_cond_destroy(&d->moved);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static int each_sink(struct sk_delivery *d, int (*fn)(struct sk_sink *s, struct saikai_error *err),
                     struct saikai_error *err)
{
    int rc = 0;
    for (int k = 0; k < d->part_count && !rc; k++)
        rc = fn(&d->parts[k].sink, err);
    return rc;
}

static int prepare(struct sk_delivery *d, const char *dir, const struct sk_deliver_options *o,
                   struct saikai_error *err)
{
    int64_t memory = o->extract.memory_bytes ? (int64_t)o->extract.memory_bytes : 1 << 30;
    int rc = assign(d, o, err);
    if (!rc)
        rc = divide(d, err);
    rc = sk_group_verdict(d->g, rc, err);
    if (!rc && (rc = sk_group_allreduce(d->g, &memory, 1, SK_OP_MIN)))
        sk_fail(err, rc, "the ranks lost touch");
    if (rc)
        return rc;
    int64_t fits = memory / 4 / (d->g->size + SK_DELIVER_SENDS);
    d->piece_bytes = fits < LEAST_PIECE  ? LEAST_PIECE
                     : fits > MOST_PIECE ? MOST_PIECE
                                         : (size_t)fits;
    rc = set_buffers(d, &o->extract, err);
    for (int k = 0; k < d->part_count; k++)
        d->parts[k].sink =
            (struct sk_sink){.dir = dir, .a = &d->parts[k].a, .wanted = d->parts[k].wanted, .sweeps = o->extract.sweeps};
    if (!rc)
        rc = each_sink(d, sk_sink_make, err);
    return sk_group_verdict(d->g, rc, err);
}

static int sum_stats(struct sk_delivery *d, struct saikai_error *err)
{
    int64_t v[] = {(int64_t)d->st.files, (int64_t)d->st.raw_bytes, (int64_t)d->st.stored_bytes};
    int rc = sk_group_allreduce(d->g, v, 3, SK_OP_SUM);
    d->st.files = (uint64_t)v[0];
    d->st.raw_bytes = (uint64_t)v[1];
    d->st.stored_bytes = (uint64_t)v[2];
    return rc ? sk_fail(err, rc, "the ranks lost touch") : 0;
}

int sk_collect_extract(struct sk_group *g, const char *path, const char *dir,
                       const struct sk_deliver_options *opt, struct sk_archive_stats *stats,
                       struct saikai_error *err)
{
    static const struct sk_deliver_options defaults;
    const struct sk_deliver_options *o = opt ? opt : &defaults;
    double t0 = sk_now();
    struct sk_delivery *d = calloc(1, sizeof *d);
    int rc =
        sk_group_verdict(g, d ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to restore files"), err);
    if (rc) {
        free(d);
        return rc;
    }
    d->g = g;
    d->patient = sk_patient_now();
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->moved, NULL);
    rc = open_parts(d, path, &o->extract, err);
    if (!rc)
        rc = prepare(d, dir, o, err);
    if (!rc)
        rc = sk_group_verdict(g, sk_delivery_run(d, err), err);
    for (int k = 0; k < d->part_count && !rc; k++)
        rc = sk_sink_finish(&d->parts[k].sink, !o->extract.no_sync, err);
    rc = sk_group_verdict(g, rc, err);
    for (int k = 0; rc && k < d->part_count; k++)
        sk_sink_drop(&d->parts[k].sink);
    if (!rc)
        rc = sum_stats(d, err);
    d->st.seconds = sk_now() - t0;
    if (!rc && stats)
        *stats = d->st;
    delivery_free(d);
    return rc;
}

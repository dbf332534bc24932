/* Creating an archive: a pipeline of loaders, compressors and one writer over a ring of blocks.
 *
 * A loader gathers a block's segments from the files (merging), a compressor encodes it, the
 * writer appends it; each works on another block, so that reading, computing and writing overlap,
 * and the ring bounds the memory. Blocks are written in the order of the plan: the archive does not
 * depend on the number of threads. */
#include "archive/local/delta.h"
#include "archive/local/create.h"
#include "archive/coding/part.h"
#include "archive/plan/plan.h"
#include "archive/file/set.h"
#include "archive/file/target.h"
#include "archive/coding/unpack.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64, MAX_LOADERS = 2 };
enum state { EMPTY, LOADED, DONE };

struct slot {
    enum state state;
    size_t block; /* whose turn the slot is: a slow block must not be taken for the next one of its
                     slot */
    struct sk_buf raw, out;
};

struct pipe {
    struct sk_ska_plan *plan;
    const char *tmp;
    int fd;
    int threads, depth;
    struct sk_archive_delta *delta; /* NULL: no block builds on others */
    struct slot ring[MAX_THREADS + MAX_LOADERS + 1];
    pthread_mutex_t lock;
    pthread_cond_t moved;
    size_t asked, taken; /* next block for a loader, and for a compressor */
    int rc;              /* first failure; all threads stop */
    struct saikai_error err;
    uint64_t offset; /* bytes written */
};

/* A thread that failed says so; the first one is heard. */
static void give_up(struct pipe *q, int rc, const struct saikai_error *err)
{
    pthread_mutex_lock(&q->lock);
    if (!q->rc) {
        q->rc = rc;
        q->err = *err;
    }
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
}

/* Wait until block i's slot is in a state; NULL: the pipeline stops. */
static struct slot *wait_for(struct pipe *q, size_t i, enum state s)
{
    struct slot *slot = &q->ring[i % (size_t)q->depth];
    pthread_mutex_lock(&q->lock);
    while ((slot->state != s || slot->block != i) && !q->rc)
        pthread_cond_wait(&q->moved, &q->lock);
    int rc = q->rc;
    pthread_mutex_unlock(&q->lock);
    return rc ? NULL : slot;
}

static void move_to(struct pipe *q, struct slot *slot, enum state s)
{
    pthread_mutex_lock(&q->lock);
    slot->state = s;
    if (s == EMPTY)
        slot->block += (size_t)q->depth;
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->lock);
}

/* ---- reading ---- */

static size_t aligned(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

static size_t block_room(const struct sk_ska *a, const struct sk_ska_block *b)
{
    size_t n = 0;
    for (uint32_t i = 0; i < b->count; i++)
        n += aligned(a->parts[b->first + i].size_bytes);
    return n;
}

/* Where each segment of a block is and goes: parts begin at multiples of 64 bytes. */
static size_t block_ranges(const struct sk_ska *a, const struct sk_ska_block *b, uint8_t *to,
                           struct sk_ska_range *out)
{
    size_t n = 0;
    for (uint32_t k = 0; k < b->count; k++) {
        const struct sk_ska_part *part = &a->parts[b->first + k];
        uint8_t *at = to;
        for (uint32_t s = 0; s < part->count; s++) {
            const struct sk_ska_segment *seg = &a->segments[part->first + s];
            size_t bytes = (size_t)sk_ska_segment_bytes(a, part, seg);
            out[n++] = (struct sk_ska_range){seg->file, seg->offset, bytes, at};
            at += bytes;
        }
        to += aligned(part->size_bytes);
    }
    return n;
}

static int load_block(struct sk_ska_plan *p, size_t i, struct slot *slot, struct saikai_error *err)
{
    const struct sk_ska *a = &p->a;
    const struct sk_ska_block *b = &a->blocks[i];
    size_t segments = 0;
    for (uint32_t k = 0; k < b->count; k++)
        segments += a->parts[b->first + k].count;
    struct sk_ska_range *ranges = malloc((segments + 1) * sizeof *ranges);
    uint8_t *to = ranges ? sk_coder_room(&slot->raw, block_room(a, b) + 64) : NULL;
    int rc = to ? sk_feed_fetch(p->feed, ranges, block_ranges(a, b, to, ranges), err)
                : sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                          (unsigned long long)b->size_bytes);
    free(ranges);
    return rc;
}

static void *loader(void *arg)
{
    struct pipe *q = arg;
    for (;;) {
        struct saikai_error err = {0};
        pthread_mutex_lock(&q->lock);
        size_t i = q->asked++;
        pthread_mutex_unlock(&q->lock);
        if (i >= q->plan->a.block_count)
            break;
        struct slot *slot = wait_for(q, i, EMPTY);
        if (!slot)
            break;
        int rc = load_block(q->plan, i, slot, &err);
        if (rc) {
            give_up(q, rc, &err);
            break;
        }
        move_to(q, slot, LOADED);
    }
    return NULL;
}

/* ---- compressing ---- */

/* Hashes are taken before encoding, which may swap bytes in place. */
static int encode_block(struct pipe *q, size_t i, struct slot *slot, struct sk_coder *c,
                        struct sk_part *parts, struct saikai_error *err)
{
    struct sk_ska_plan *p = q->plan;
    struct sk_ska *a = &p->a;
    struct sk_ska_block *b = &a->blocks[i];
    uint8_t *at = slot->raw.data;
    for (uint32_t k = 0; k < b->count; k++) {
        const struct sk_ska_part *part = &a->parts[b->first + k];
        const struct sk_ska_class *class = &a->classes[part->class];
        parts[k] = (struct sk_part){class->type,      class->big_endian,
                                    class->fields,    &a->segments[part->first],
                                    part->count,      at,
                                    part->size_bytes, 0};
        const uint8_t *from = at;
        for (uint32_t s = 0; s < part->count; s++) {
            struct sk_ska_segment *seg = &a->segments[part->first + s];
            size_t n = (size_t)sk_ska_segment_bytes(a, part, seg);
            seg->hash = sk_hash64(from, n);
            from += n;
        }
        at += aligned(part->size_bytes);
    }
    if (!sk_coder_room(&slot->out, b->size_bytes / 2))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block of %llu bytes",
                       (unsigned long long)b->size_bytes);
    slot->out.len = 0;
    int rc = sk_block_encode(c, parts, (int)b->count, &p->recipes[b->first], &slot->out, err);
    if (!rc && b->previous)
        rc = sk_archive_delta_encode(q->delta, i, parts, &slot->out, err);
    if (rc)
        return rc;
    b->stored_bytes = slot->out.len;
    b->hash = sk_hash64(slot->out.data, slot->out.len);
    return 0;
}

static void *compressor(void *arg)
{
    struct pipe *q = arg;
    struct sk_coder c = {0};
    struct sk_part *parts = NULL;
    for (;;) {
        struct saikai_error err = {0};
        pthread_mutex_lock(&q->lock);
        size_t i = q->taken++;
        pthread_mutex_unlock(&q->lock);
        if (i >= q->plan->a.block_count)
            break;
        struct slot *slot = wait_for(q, i, LOADED);
        if (!slot)
            break;
        struct sk_part *more = realloc(parts, (q->plan->a.blocks[i].count + 1) * sizeof *parts);
        int rc = more ? 0 : sk_fail(&err, SAIKAI_ENOMEM, "no memory for a block's parts");
        if (more)
            parts = more;
        if (!rc)
            rc = encode_block(q, i, slot, &c, parts, &err);
        if (rc) {
            give_up(q, rc, &err);
            break;
        }
        move_to(q, slot, DONE);
    }
    free(parts);
    sk_coder_free(&c);
    return NULL;
}

/* ---- writing ---- */

/* fd -1: it is only counted. */
static int put(int fd, const char *name, const void *data, size_t n, struct saikai_error *err)
{
    return fd < 0 ? 0 : sk_io_write(fd, name, data, n, err);
}

static void *writer(void *arg)
{
    struct pipe *q = arg;
    for (size_t i = 0; i < q->plan->a.block_count; i++) {
        struct saikai_error err = {0};
        struct slot *slot = wait_for(q, i, DONE);
        if (!slot)
            break;
        int rc = put(q->fd, q->tmp, slot->out.data, slot->out.len, &err);
        if (rc) {
            give_up(q, rc, &err);
            break;
        }
        q->plan->a.blocks[i].offset = q->offset;
        q->offset += slot->out.len;
        if (q->plan->opt.progress)
            q->plan->opt.progress(q->plan->opt.progress_arg,
                                  q->plan->worked_bytes += q->plan->a.blocks[i].size_bytes,
                                  q->plan->work_bytes);
        move_to(q, slot, EMPTY);
    }
    return NULL;
}

static int run_pipe(struct pipe *q, struct saikai_error *err)
{
    pthread_t t[MAX_THREADS + MAX_LOADERS + 1];
    int loaders = q->plan->feed->loaders;
    int n = 0, rc = 0;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->moved, NULL);
    for (int i = 0; i < q->threads + loaders + 1 && !rc; i++) {
        rc = pthread_create(&t[n], NULL, i == 0 ? writer : i <= loaders ? loader : compressor, q);
        n += !rc;
    }
    if (rc) {
        struct saikai_error e = {0};
        give_up(q, sk_fail_errno(&e, rc, "cannot start a thread"), &e);
    }
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    pthread_cond_destroy(&q->moved);
    pthread_mutex_destroy(&q->lock);
    for (int i = 0; i < q->depth; i++) {
        sk_buf_free(&q->ring[i].raw);
        sk_buf_free(&q->ring[i].out);
    }
    if (q->rc && err)
        *err = q->err;
    return q->rc;
}

/* An archive of which no block builds on the previous one does not need it. */
static void forget_unused(struct sk_ska *a)
{
    size_t i = 0;
    while (i < a->block_count && !a->blocks[i].previous)
        i++;
    if (i < a->block_count)
        return;
    free(a->previous);
    a->previous = NULL;
    a->depth = 0;
}

static int write_blocks(struct sk_ska_plan *p, const char *name, int fd, uint64_t *stored,
                        struct saikai_error *err)
{
    struct pipe *q = calloc(1, sizeof *q);
    struct sk_buf head = {0}, index = {0};
    if (!q)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the pipeline");
    q->plan = p;
    q->tmp = name;
    q->fd = fd;
    q->threads = p->threads;
    q->depth = p->threads + 1 + p->feed->loaders;
    for (int i = 0; i < q->depth; i++)
        q->ring[i].block = (size_t)i;
    sk_ska_put_header(&head);
    int rc = p->a.previous ? sk_archive_delta_new(p, p->comparing, &q->delta, err) : 0;
    if (!rc)
        rc = put(fd, name, head.data, head.len, err);
    q->offset = head.len;
    if (!rc)
        rc = run_pipe(q, err);
    sk_archive_delta_free(q->delta);
    forget_unused(&p->a);
    if (!rc)
        rc = sk_ska_put_index(&index, &p->a, q->offset, err);
    if (!rc)
        rc = put(fd, name, index.data, index.len, err);
    *stored = q->offset + index.len;
    sk_buf_free(&head);
    sk_buf_free(&index);
    free(q);
    return rc;
}

/* Bytes of a block: what the memory allows (fits), what gives every thread some blocks, and no less
 * than a class needs to be compressed well. */
static uint64_t choose_unit(const struct sk_archive_options *o, int threads, uint64_t fits,
                            uint64_t total, uint64_t good, uint64_t most)
{
    const uint64_t least = 256 << 10;
    uint64_t unit = total / (uint64_t)(threads * 6);
    unit = unit < good ? good : unit > most ? most : unit;
    if (o->scheme != SK_SCHEME_AUTO)
        unit = 32 << 20; /* the paper's schemes know no blocks: as near to one stream as the memory
                            allows */
    if (o->level & SK_PACK_LONG)
        unit = SK_SKA_MAX_BLOCK / 2;
    if (o->unit_bytes)
        unit = o->unit_bytes;
    unit = unit > fits ? fits : unit;
    unit = unit > SK_SKA_MAX_BLOCK / 2 ? SK_SKA_MAX_BLOCK / 2 : unit;
    return unit < least ? least : unit;
}

void sk_ska_plan_options(struct sk_ska_plan *p, const struct sk_archive_options *opt)
{
    struct sk_archive_options o = opt ? *opt : (struct sk_archive_options){0};
    if (!o.memory_bytes)
        o.memory_bytes = (uint64_t)1 << 30;
    if (!o.merge_bytes)
        o.merge_bytes = 64 << 10;
    if (!o.first_bytes)
        o.first_bytes = 100;
    o.backend = o.backend < 0 ? SK_BACKEND_STORE : o.backend ? o.backend : SK_BACKEND_ZSTD;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = o.threads > 0 ? o.threads : cpus > 0 ? (int)cpus : 1;
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    /* a block per thread must fit: rather fewer threads than tiny blocks */
    while (threads > 1 && o.memory_bytes / (uint64_t)(4 * threads + 6) < (1 << 20))
        threads--;
    p->opt = o;
    p->threads = threads;
}

/* Largest unit that the memory allows. With a previous archive, part of it is for comparing with
 * its blocks; where there is not enough for that, this archive stands alone. */
static int share_memory(struct sk_ska_plan *p, uint64_t *fits, struct saikai_error *err)
{
    struct sk_unpack_need most = {0}, need;
    *fits = p->opt.memory_bytes / (uint64_t)(4 * p->threads + 6);
    for (size_t i = 0; p->previous && i < p->previous->a->block_count; i++) {
        if (!sk_previous_usable(p->previous->a, i))
            continue;
        int rc = sk_unpack_need(p->previous, i, &need, err);
        if (rc)
            return rc;
        most.work_bytes = need.work_bytes > most.work_bytes ? need.work_bytes : most.work_bytes;
        most.raw_bytes = need.raw_bytes > most.raw_bytes ? need.raw_bytes : most.raw_bytes;
    }
    if (!p->previous ||
        (p->comparing = sk_archive_delta_share(p->opt.memory_bytes, p->threads, &most, fits)))
        return 0;
    sk_log(
        SK_LOG_WARN,
        "too little memory to build on %s, whose blocks have %llu bytes: this archive stands alone",
        p->previous->path, (unsigned long long)most.raw_bytes);
    sk_opened_free(p->previous);
    p->previous = NULL;
    return 0;
}

static int name_previous(struct sk_ska_plan *p, struct saikai_error *err)
{
    const char *path = p->previous->path, *slash = strrchr(path, '/');
    p->a.previous = strdup(slash ? slash + 1 : path);
    if (!p->a.previous || sk_previous_match(&p->a, p->previous->a))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to build on %s", path);
    p->a.previous_hash = p->previous->a->hash;
    p->a.depth = p->previous->a->depth + 1;
    return 0;
}

/* Where in a file an archive is written; fd -1: nowhere, to see how long it would be. */
struct place {
    int fd;
    const char *name;
    uint64_t at;
};

/* Cut and write by one scheme, in place of what the file held from there on. */
static int write_as(struct sk_ska_plan *p, int scheme, int backend, const struct place *to,
                    struct sk_archive_stats *st, struct saikai_error *err)
{
    struct sk_archive_options asked = p->opt;
    uint64_t fits = 0;
    int rc = share_memory(p, &fits, err);
    if (rc)
        return rc;
    if (to->fd >= 0 && lseek(to->fd, (off_t)to->at, SEEK_SET) < 0)
        return sk_fail_errno(err, errno, "cannot write %s", to->name);
    if (to->fd >= 0 && (rc = sk_io_truncate(to->fd, to->name, (off_t)to->at, err)))
        return rc;
    sk_ska_plan_uncut(p);
    p->opt.scheme = scheme;
    p->opt.backend = backend;
    p->opt.level = scheme == asked.scheme || p->whole ? asked.level : 0;
    if (p->whole)
        p->opt.level |= SK_PACK_LONG;
    p->unit_bytes = choose_unit(&p->opt, p->threads, fits, st->raw_bytes, 4 << 20, 8 << 20);
    p->bytes_unit = choose_unit(&p->opt, p->threads, fits, st->raw_bytes, 16 << 20, 16 << 20);
    rc = sk_ska_plan_cut(p, err);
    if (!rc && p->previous && asked.scheme == SK_SCHEME_AUTO)
        rc = name_previous(p, err);
    if (!rc)
        rc = write_blocks(p, to->name, to->fd, &st->stored_bytes, err);
    st->classes = p->a.class_count;
    st->depth = p->a.depth;
    st->skeleton_bytes = p->skeleton_bytes;
    p->opt = asked;
    return rc;
}

/* Where samples do not tell that `auto` leaves less than plain files through gzip -6, both are
 * made, and the shorter one stays. Those of a small set say little, and its index and the models of
 * its variables weigh more than what they save. */
static int write_auto(struct sk_ska_plan *p, const struct place *to, struct sk_archive_stats *st,
                      struct saikai_error *err)
{
    enum { SMALL_SET = 1 << 20 };
    struct sk_archive_stats plain = *st;
    int gzip = sk_backend_parse("gzip"), backend = gzip < 0 ? SK_BACKEND_ZSTD : gzip;
    int rc = write_as(p, SK_SCHEME_AUTO, p->opt.backend, to, st, err);
    if (rc || (st->raw_bytes > SMALL_SET && p->near_bytes < st->raw_bytes / 2))
        return rc;
    if (p->dense_bytes > st->raw_bytes / 2) /* gzip would need long to find that out */
        backend = SK_BACKEND_STORE;
    rc = write_as(p, SK_SCHEME_AGNOSTIC, backend, &(struct place){-1, to->name, 0}, &plain, err);
    if (!rc && plain.stored_bytes < st->stored_bytes)
        rc = write_as(p, SK_SCHEME_AGNOSTIC, backend, to, st, err);
    return rc;
}

/* n bytes of a file from `from` to its beginning, where it ends then. */
static int move_down(const struct place *from, uint64_t n, struct saikai_error *err)
{
    enum { PIECE = 1 << 20 };
    uint8_t *buf = malloc(PIECE);
    int rc = buf ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to write %s", from->name);
    for (uint64_t done = 0; done < n && !rc;) {
        size_t k = n - done < PIECE ? (size_t)(n - done) : PIECE;
        rc = sk_io_pread(from->fd, from->name, buf, k, (off_t)(from->at + done), err);
        if (!rc)
            rc = sk_io_pwrite(from->fd, from->name, buf, k, (off_t)done, err);
        done += k;
    }
    free(buf);
    return rc ? rc : sk_io_truncate(from->fd, from->name, (off_t)n, err);
}

/* Samples do not see what repeats far away: all files as one stream, with zstd looking for repeats
 * at any distance, is written behind what there is, and the shorter one stays. It stands alone. */
static int try_whole(struct sk_ska_plan *p, const struct place *to, struct sk_archive_stats *st,
                     struct saikai_error *err)
{
    struct sk_archive_stats whole = *st;
    struct place behind = {to->fd, to->name, st->stored_bytes};
    struct sk_opened *previous = p->previous;
    int threads = p->threads;
    p->previous = NULL;
    p->whole = 1;
    if (st->raw_bytes <= SK_SKA_MAX_BLOCK) /* rather larger blocks than several at a time */
        p->threads = 1;
    int rc = write_as(p, SK_SCHEME_AGNOSTIC, SK_BACKEND_ZSTD, &behind, &whole, err);
    p->previous = previous;
    p->whole = 0;
    p->threads = threads;
    if (!rc && whole.stored_bytes < st->stored_bytes) {
        rc = move_down(&behind, whole.stored_bytes, err);
        *st = whole;
    } else if (!rc) {
        rc = sk_io_truncate(to->fd, to->name, (off_t)st->stored_bytes, err);
    }
    return rc;
}

int sk_ska_plan_write(struct sk_ska_plan *p, int fd, const char *name, struct sk_archive_stats *st,
                      struct saikai_error *err)
{
    for (size_t i = 0; i < p->a.file_count; i++)
        st->raw_bytes += p->a.files[i].size_bytes;
    int twice = p->opt.scheme == SK_SCHEME_AUTO && !p->opt.quick;
    struct place to = {fd, name, 0};
    p->work_bytes = st->raw_bytes * (twice ? 2 : 1);
    int rc = p->opt.scheme == SK_SCHEME_AUTO
                 ? write_auto(p, &to, st, err)
                 : write_as(p, p->opt.scheme, p->opt.backend, &to, st, err);
    if (!rc && twice && sk_backend_parse("zstd") >= 0)
        rc = try_whole(p, &to, st, err);
    if (!rc && !p->opt.no_sync)
        rc = sk_io_fsync(fd, name, err);
    st->files = p->a.file_count;
    st->variables = p->variables;
    st->sample_seconds = p->sample_seconds;
    return rc;
}

/* An archive that others build on is not replaced: they could not be read without it. */
static int may_replace(const char *out, struct saikai_error *err)
{
    char other[256];
    int rc = access(out, F_OK) ? 0 : sk_ska_builds_on(out, other, sizeof other, err);
    return rc <= 0 ? rc
                   : sk_fail(err, SAIKAI_EEXIST,
                             "%s is not replaced: %s beside it builds on it; take another name, or "
                             "remove that one first",
                             out, other);
}

int sk_archive_create(const char *out, const struct sk_archive_input *inputs, size_t count,
                      const struct sk_archive_options *opt, struct sk_archive_stats *stats,
                      struct saikai_error *err)
{
    struct sk_ska_plan p = {0};
    struct sk_feed_local feed = {0};
    struct sk_archive_stats st = {0};
    struct sk_target t = {.fd = -1};
    double t0 = sk_now();
    sk_ska_plan_options(&p, opt);
    int rc = may_replace(out, err);
    if (!rc)
        rc = sk_feed_local_init(&feed, inputs, count, err);
    p.feed = &feed.feed;
    if (!rc)
        rc = sk_ska_plan_list(&p, &feed, err);
    for (size_t i = 0; i < p.opt.entry_count && !rc; i++)
        if (sk_ska_add_entry(&p.a, &p.opt.entries[i]) < 0)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    st.scan_seconds = sk_now() - t0;
    if (!rc && p.opt.previous)
        rc = sk_ska_plan_previous(&p, out, p.opt.previous, err);
    if (!rc)
        rc = sk_target_open(&t, out, err);
    if (!rc)
        rc = sk_ska_plan_write(&p, t.fd, t.tmp, &st, err);
    if (!rc)
        rc = sk_feed_local_check(&feed, err);
    if (!rc)
        rc = sk_target_commit(&t, out, !p.opt.no_sync, err);
    sk_target_drop(&t);
    st.seconds = sk_now() - t0;
    if (!rc && stats)
        *stats = st;
    sk_ska_plan_free(&p);
    sk_feed_local_free(&feed);
    return rc;
}

/* Creating an archive: a pipeline of loaders, compressors and one writer over a ring of blocks.
 *
 * A loader gathers a block's segments from the files (merging), a compressor encodes it, the
 * writer appends it; each works on another block, so that reading, computing and writing overlap,
 * and the ring bounds the memory. Blocks are written in the order of the plan: the archive does not
 * depend on the number of threads. */
#include "archive/write/delta.h"
#include "archive/coding/block.h"
#include "archive/write/pipeline.h"
#include "archive/coding/part.h"
#include "archive/plan/plan.h"
#include "archive/coding/unpack.h"
#include "archive/write/schemes.h"

#include "base/hash.h"
#include "base/file/io.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = SK_ARCHIVE_THREADS, MAX_LOADERS = 2 };
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
    struct sk_ska_range *ranges = calloc(segments, sizeof *ranges);
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
    int takes = p->recipes[b->first].form == SK_FORM_TAKE && b->previous;
    int rc = takes         ? sk_archive_delta_take(q->delta, i, parts, &slot->out, err)
             : b->previous ? sk_archive_delta_encode(q->delta, i, c, parts, &slot->out, err)
                           : sk_block_encode(c, parts, (int)b->count, &p->recipes[b->first], &slot->out, err);
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
        c.packer.most = q->plan->limit;
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
        int longer = q->plan->limit && q->offset + slot->out.len >= q->plan->limit;
        int rc = longer ? sk_fail(&err, SAIKAI_ENOSPC, "%s: longer than what there is", q->tmp)
                        : put(q->fd, q->tmp, slot->out.data, slot->out.len, &err);
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

/* Index and trailers; the header said a version before blocks and index were known. start: where the archive begins in the file. */
static int put_ends(struct sk_ska_plan *p, int fd, const char *name, off_t start, int said, uint64_t at, uint64_t *stored, struct saikai_error *err)
{
    struct sk_buf head = {0}, index = {0};
    int rc = sk_ska_put_index(&index, &p->a, at, p->previous ? p->previous->path : NULL, err);
    if (!rc)
        rc = put(fd, name, index.data, index.len, err);
    sk_ska_put_header(&head, sk_ska_version(&p->a));
    if (!rc && fd >= 0 && said != sk_ska_version(&p->a))
        rc = sk_buf_ok(&head) ? sk_io_pwrite(fd, name, head.data, head.len, start, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for the archive's header");
    *stored = at + index.len;
    sk_buf_free(&head);
    sk_buf_free(&index);
    return rc;
}

int sk_ska_plan_run(struct sk_ska_plan *p, int fd, const char *name, uint64_t *stored,
                    struct saikai_error *err)
{
    struct pipe *q = calloc(1, sizeof *q);
    struct sk_buf head = {0};
    off_t start = fd < 0 ? 0 : lseek(fd, 0, SEEK_CUR);
    if (!q)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the pipeline");
    q->plan = p;
    q->tmp = name;
    q->fd = fd;
    q->threads = p->threads;
    q->depth = p->threads + 1 + p->feed->loaders;
    for (int i = 0; i < q->depth; i++)
        q->ring[i].block = (size_t)i;
    p->a.store = p->opt.store;
    p->a.needs = p->a.previous && sk_archive_delta_numbers(p) ? SK_SKA_AFTER : 0; /* its blocks may turn out to come after others */
    for (size_t i = 0; i < p->a.part_count; i++) {
        int needs = sk_form_version(p->recipes[i].form);
        p->a.needs = needs > p->a.needs ? needs : p->a.needs;
    }
    int said = sk_ska_version(&p->a);
    sk_ska_put_header(&head, said);
    int rc = sk_buf_ok(&head) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the archive's header");
    if (!rc && p->a.previous)
        rc = sk_archive_delta_new(p, p->comparing, &q->delta, err);
    if (!rc)
        rc = put(fd, name, head.data, head.len, err);
    q->offset = head.len;
    if (!rc)
        rc = run_pipe(q, err);
    if (sk_archive_delta_needs(q->delta) > p->a.needs)
        p->a.needs = sk_archive_delta_needs(q->delta);
    sk_archive_delta_free(q->delta);
    forget_unused(&p->a);
    if (!rc)
        rc = put_ends(p, fd, name, start, said, q->offset, stored, err);
    sk_buf_free(&head);
    free(q);
    return rc;
}

/* Restoring by many ranks: every block is decoded once, by one rank, and each segment goes to the
 * rank that wants its file. */
#include "archive/collect.h"

#include "archive/sink.h"
#include "archive/talk.h"
#include "archive/unpack.h"

#include "base/clock.h"
#include "base/io.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64, SENDS = 8, LEAST_PIECE = 4 << 10, MOST_PIECE = 1 << 20 };

/* One archive of the set. */
struct part {
    char path[4096];
    int fd;
    struct sk_ska a;
    int *owner;      /* per file */
    uint8_t *wanted; /* per file: by this rank */
    uint8_t *anyone; /* per file: by some rank */
    struct sk_sink sink;
};

/* One block that somebody wants something of. */
struct place {
    struct part *part;
    size_t block;
    int rank; /* that decodes it */
};

/* A segment on its way. */
struct item {
    int dest;
    const struct sk_ska_segment *s;
    const uint8_t *data;
    size_t n;
};

enum { EMPTY, DECODED };
struct slot {
    int state;
    size_t turn; /* among this rank's blocks */
    struct sk_unpacked block;
    struct item *items; /* for other ranks, by rank */
    size_t count, cap;
};

enum { FREE, RECEIVING, FILLED };
/* What comes from one rank. */
struct source {
    size_t place;  /* its block whose bytes are received */
    uint64_t left; /* bytes of it that are not yet asked of the group */
    int state, failed;
    size_t bytes;
    uint8_t *data; /* status byte, then bytes */
    struct sk_request *in;
    /* where the bytes go: the writer's own */
    size_t to_place;
    uint32_t to_part, to_segment;
    uint64_t within;
};

struct sending {
    uint8_t *data;
    struct sk_request *out;
    int busy;
};

struct delivery {
    struct sk_group *g;
    struct part *parts;
    int part_count;
    struct place *places;
    size_t place_count;
    size_t *mine; /* places that this rank decodes */
    size_t mine_count, taken;
    struct slot *ring;
    size_t depth;
    int threads;
    size_t piece_bytes;
    struct source *sources; /* per rank */
    struct sending send[SENDS];
    size_t at, item, within; /* of the sender: block, item, bytes of it that are sent */
    int sent_all;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int stop;      /* the group failed: threads end */
    int decode_rc; /* of this rank's blocks: what follows is not delivered */
    int write_rc;  /* of this rank's files: what comes is dropped */
    struct saikai_error decode_err, write_err;
    struct sk_archive_stats st;
};

/* ---- who gets what ---- */

int sk_collect_by_origin(const void *arg, const struct sk_ska_file *f, size_t index, size_t files,
                         int ranks)
{
    int givers = *(const int *)arg;
    if (f->origin && givers)
        return (int)((int64_t)(f->origin - 1) * ranks / givers);
    return (int)((uint64_t)index * (uint64_t)ranks / (files ? files : 1));
}

static int assign(struct delivery *d, const struct sk_deliver_options *o, struct saikai_error *err)
{
    sk_collect_owner *owner = o->owner ? o->owner : sk_collect_by_origin;
    int givers = 0;
    size_t files = 0, index = 0, found = 0;
    for (int k = 0; k < d->part_count; k++)
        for (size_t i = 0; i < d->parts[k].a.file_count; i++, files++)
            if ((int)d->parts[k].a.files[i].origin > givers)
                givers = (int)d->parts[k].a.files[i].origin;
    for (int k = 0; k < d->part_count; k++) {
        struct part *p = &d->parts[k];
        size_t n = p->a.file_count;
        p->owner = malloc((n + 1) * sizeof *p->owner);
        p->wanted = calloc(n + 1, 1);
        p->anyone = calloc(n + 1, 1);
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

static int wants(const struct part *p, size_t block, const uint8_t *wanted)
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
static int divide(struct delivery *d, struct saikai_error *err)
{
    size_t all = 0;
    uint64_t total = 0, before = 0;
    for (int k = 0; k < d->part_count; k++)
        all += d->parts[k].a.block_count;
    d->places = malloc((all + 1) * sizeof *d->places);
    d->mine = malloc((all + 1) * sizeof *d->mine);
    if (!d->places || !d->mine)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of blocks");
    for (int k = 0; k < d->part_count; k++)
        for (size_t b = 0; b < d->parts[k].a.block_count; b++)
            if (wants(&d->parts[k], b, d->parts[k].anyone)) {
                d->places[d->place_count++] = (struct place){&d->parts[k], b, 0};
                total += d->parts[k].a.blocks[b].size_bytes;
            }
    for (size_t i = 0; i < d->place_count; i++) {
        struct place *p = &d->places[i];
        p->rank = (int)((double)before / (double)(total + 1) * d->g->size);
        before += p->part->a.blocks[p->block].size_bytes;
        if (p->rank == d->g->rank) {
            d->mine[d->mine_count++] = i;
            d->st.stored_bytes += p->part->a.blocks[p->block].stored_bytes;
        }
    }
    return 0;
}

/* ---- decoding ---- */

struct taking {
    struct delivery *d;
    struct slot *slot;
    struct part *part;
    struct sk_sink_file *out;
};

static void failed_to_write(struct delivery *d, int rc, const struct saikai_error *err)
{
    pthread_mutex_lock(&d->lock);
    if (!d->write_rc) {
        d->write_rc = rc;
        d->write_err = *err;
    }
    pthread_mutex_unlock(&d->lock);
}

static int write_failed(struct delivery *d)
{
    pthread_mutex_lock(&d->lock);
    int rc = d->write_rc;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

/* Our own files' segments are written at once, the others' listed. */
static int take(void *arg, const struct sk_ska_segment *s, const uint8_t *data, size_t n,
                struct saikai_error *err)
{
    struct taking *t = arg;
    struct delivery *d = t->d;
    struct slot *slot = t->slot;
    struct saikai_error why = {0};
    int dest = t->part->owner[s->file];
    if (dest == d->g->rank) {
        int rc = write_failed(d)
                     ? 0
                     : sk_sink_put(&t->part->sink, t->out, s->file, s->offset, data, n, &why);
        if (rc)
            failed_to_write(d, rc, &why);
        return 0;
    }
    if (slot->count == slot->cap) {
        size_t cap = slot->cap ? 2 * slot->cap : 64;
        struct item *more = realloc(slot->items, cap * sizeof *more);
        if (!more)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory to deliver a block");
        slot->items = more;
        slot->cap = cap;
    }
    slot->items[slot->count++] = (struct item){dest, s, data, n};
    return 0;
}

/* By rank; of one rank in the order of the block. */
static int by_dest(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    if (a->dest != b->dest)
        return a->dest - b->dest;
    return a->s < b->s ? -1 : a->s > b->s;
}

static int decode(struct delivery *d, size_t turn, struct slot *slot, struct sk_sink_file *out,
                  struct part **last, struct saikai_error *err)
{
    struct place *p = &d->places[d->mine[turn]];
    struct taking t = {d, slot, p->part, out};
    if (*last != p->part)
        sk_sink_close(out); /* file numbers are those of the archive */
    *last = p->part;
    slot->count = 0;
    int rc = sk_unpack_block(&slot->block, p->part->fd, p->part->path, &p->part->a, p->block, err);
    if (!rc)
        rc = sk_unpack_each(&slot->block, p->part->path, &p->part->a, p->block, p->part->anyone,
                            take, &t, err);
    if (!rc && slot->count)
        qsort(slot->items, slot->count, sizeof *slot->items, by_dest);
    return rc;
}

static void *decoder(void *arg)
{
    struct delivery *d = arg;
    struct sk_sink_file out = {-1, 0};
    struct part *last = NULL;
    pthread_mutex_lock(&d->lock);
    while (!d->stop && !d->decode_rc && d->taken < d->mine_count) {
        size_t turn = d->taken++;
        struct slot *slot = &d->ring[turn % d->depth];
        struct saikai_error err = {0};
        while ((slot->state != EMPTY || slot->turn != turn) && !d->stop && !d->decode_rc)
            pthread_cond_wait(&d->moved, &d->lock);
        if (d->stop || d->decode_rc)
            break;
        pthread_mutex_unlock(&d->lock);
        int rc = decode(d, turn, slot, &out, &last, &err);
        pthread_mutex_lock(&d->lock);
        if (rc && !d->decode_rc) {
            d->decode_rc = rc;
            d->decode_err = err;
        }
        if (!rc)
            slot->state = DECODED;
        pthread_cond_broadcast(&d->moved);
    }
    pthread_mutex_unlock(&d->lock);
    sk_sink_close(&out);
    return NULL;
}

/* ---- sending: with the lock held ---- */

/* Send the next piece of the block at hand: bytes of items of one rank. */
static int send_piece(struct delivery *d, struct slot *slot, struct sending *to)
{
    int dest = slot->items[d->item].dest;
    size_t n = 0;
    to->data[0] = 0;
    while (n < d->piece_bytes && d->item < slot->count && slot->items[d->item].dest == dest) {
        const struct item *it = &slot->items[d->item];
        size_t left = it->n - d->within, k = left < d->piece_bytes - n ? left : d->piece_bytes - n;
        memcpy(to->data + 1 + n, it->data + d->within, k);
        n += k;
        d->within += k;
        if (d->within == it->n) {
            d->item++;
            d->within = 0;
        }
    }
    to->busy = 1;
    return sk_group_isend(d->g, to->data, n + 1, dest, SK_TAG_PIECE, &to->out);
}

static uint64_t bytes_for(const struct place *p, int rank)
{
    const struct sk_ska *a = &p->part->a;
    const struct sk_ska_block *b = &a->blocks[p->block];
    uint64_t n = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *part = &a->parts[b->first + i];
        for (uint32_t s = 0; s < part->count; s++)
            if (p->part->owner[a->segments[part->first + s].file] == rank)
                n += sk_ska_segment_bytes(a, part, &a->segments[part->first + s]);
    }
    return n;
}

/* Between two blocks: tell every rank that waits for more of ours that none will come. */
static int give_up(struct delivery *d)
{
    static const uint8_t failed = 1;
    int rc = 0;
    for (int r = 0; r < d->g->size && !rc; r++) {
        int owed = 0;
        for (size_t k = d->at; k < d->mine_count && r != d->g->rank && !owed; k++)
            owed = bytes_for(&d->places[d->mine[k]], r) > 0;
        struct sk_request *out = NULL;
        if (owed)
            rc = sk_group_isend(d->g, &failed, 1, r, SK_TAG_PIECE, &out);
        if (owed && !rc)
            rc = sk_group_wait(d->g, &out);
    }
    d->at = d->mine_count;
    return rc;
}

static int post(struct delivery *d, int *moved)
{
    int rc = 0, busy = 0;
    for (int i = 0; i < SENDS && !rc; i++) {
        struct sending *s = &d->send[i];
        int done = 0;
        if (s->busy)
            rc = sk_group_test(d->g, &s->out, &done);
        if (done) {
            s->busy = 0;
            *moved = 1;
        }
        struct slot *slot = d->at < d->mine_count ? &d->ring[d->at % d->depth] : NULL;
        int ready = slot && slot->state == DECODED && slot->turn == d->at;
        if (!rc && !s->busy && ready && d->item < slot->count) {
            rc = send_piece(d, slot, s);
            *moved = 1;
        }
        if (ready && d->item == slot->count) {
            d->at++;
            d->item = 0;
            slot->state = EMPTY;
            slot->turn += d->depth;
            *moved = 1;
        }
        busy += s->busy;
    }
    if (!rc && d->decode_rc && d->at < d->mine_count) {
        const struct slot *slot = &d->ring[d->at % d->depth];
        if (slot->state != DECODED || slot->turn != d->at)
            rc = give_up(d);
    }
    d->sent_all = d->at == d->mine_count && !busy;
    return rc;
}

/* ---- receiving ---- */

/* The next block of a rank that holds something for us; place_count: none. */
static size_t next_place(const struct delivery *d, int rank, size_t from)
{
    while (from < d->place_count &&
           (d->places[from].rank != rank || !bytes_for(&d->places[from], d->g->rank)))
        from++;
    return from;
}

/* With the lock held. */
static int receive(struct delivery *d, int rank, int *moved)
{
    struct source *s = &d->sources[rank];
    int done = 0, rc = 0;
    if (s->state == RECEIVING) {
        rc = sk_group_test(d->g, &s->in, &done);
        if (rc || !done)
            return rc;
        *moved = 1;
        s->failed = s->data[0] != 0;
        s->state = s->failed ? FREE : FILLED;
        if (s->failed)
            s->place = d->place_count;
    }
    if (s->state == FREE && s->place < d->place_count && !s->left) {
        s->place = next_place(d, rank, s->place + 1);
        s->left = s->place < d->place_count ? bytes_for(&d->places[s->place], d->g->rank) : 0;
    }
    if (s->state == FREE && s->place < d->place_count) {
        s->bytes = s->left < d->piece_bytes ? (size_t)s->left : d->piece_bytes;
        s->left -= s->bytes;
        s->state = RECEIVING;
        *moved = 1;
        rc = sk_group_irecv(d->g, s->data, s->bytes + 1, rank, SK_TAG_PIECE, &s->in);
    }
    return rc;
}

/* The segment that the next bytes of a source belong to. */
static const struct sk_ska_segment *next_segment(struct delivery *d, struct source *s, int rank,
                                                 uint64_t *bytes)
{
    for (;;) {
        const struct place *p = &d->places[s->to_place];
        const struct sk_ska *a = &p->part->a;
        const struct sk_ska_block *b = &a->blocks[p->block];
        for (; s->to_part < b->count; s->to_part++, s->to_segment = 0) {
            const struct sk_ska_part *part = &a->parts[b->first + s->to_part];
            for (; s->to_segment < part->count; s->to_segment++) {
                const struct sk_ska_segment *seg = &a->segments[part->first + s->to_segment];
                *bytes = sk_ska_segment_bytes(a, part, seg);
                if (p->part->wanted[seg->file])
                    return seg;
            }
        }
        s->to_place = next_place(d, rank, s->to_place + 1);
        s->to_part = s->to_segment = 0;
        if (s->to_place == d->place_count)
            return NULL;
    }
}

static int write_piece(struct delivery *d, int rank, struct sk_sink_file *out, struct part **last,
                       struct saikai_error *err)
{
    struct source *s = &d->sources[rank];
    const uint8_t *from = s->data + 1;
    size_t n = s->bytes;
    int rc = write_failed(d);
    if (rc) /* told already */
        return 0;
    while (n && !rc) {
        uint64_t bytes = 0;
        const struct sk_ska_segment *seg = next_segment(d, s, rank, &bytes);
        if (!seg)
            return sk_fail(err, SAIKAI_EINTERNAL, "more came from rank %d than was asked for",
                           rank);
        struct part *p = d->places[s->to_place].part;
        size_t k = bytes - s->within < n ? (size_t)(bytes - s->within) : n;
        if (*last != p)
            sk_sink_close(out);
        *last = p;
        rc = sk_sink_put(&p->sink, out, seg->file, seg->offset + s->within, from, k, err);
        from += k;
        n -= k;
        s->within += k;
        if (s->within == bytes) {
            s->within = 0;
            s->to_segment++;
        }
    }
    return rc;
}

/* 1: everything that was to come has come and is written. With the lock held. */
static int received_all(const struct delivery *d)
{
    for (int r = 0; r < d->g->size; r++)
        if (d->sources[r].state != FREE || d->sources[r].place < d->place_count)
            return 0;
    return 1;
}

static void *writer(void *arg)
{
    struct delivery *d = arg;
    struct sk_sink_file out = {-1, 0};
    struct part *last = NULL;
    pthread_mutex_lock(&d->lock);
    while (!d->stop && !received_all(d)) {
        int rank = 0;
        while (rank < d->g->size && d->sources[rank].state != FILLED)
            rank++;
        if (rank == d->g->size) {
            pthread_cond_wait(&d->moved, &d->lock);
            continue;
        }
        struct saikai_error err = {0};
        pthread_mutex_unlock(&d->lock);
        int rc = write_piece(d, rank, &out, &last, &err);
        if (rc)
            failed_to_write(d, rc, &err);
        pthread_mutex_lock(&d->lock);
        d->sources[rank].state = FREE;
    }
    pthread_mutex_unlock(&d->lock);
    sk_sink_close(&out);
    return NULL;
}

/* ---- the messenger ---- */

static int carry(struct delivery *d)
{
    unsigned idle = 0;
    int done = 0, rc = 0;
    while (!done && !rc) {
        int moved = 0;
        pthread_mutex_lock(&d->lock);
        rc = post(d, &moved);
        for (int r = 0; r < d->g->size && !rc; r++)
            if (r != d->g->rank)
                rc = receive(d, r, &moved);
        done = d->sent_all && received_all(d);
        d->stop = rc != 0;
        if (moved || done || rc)
            pthread_cond_broadcast(&d->moved);
        pthread_mutex_unlock(&d->lock);
        if (moved)
            idle = 0;
        else
            sk_talk_relax(&idle);
    }
    return rc;
}

static int run(struct delivery *d, struct saikai_error *err)
{
    pthread_t t[MAX_THREADS + 1];
    int n = 0, rc = 0;
    while (n < d->threads + 1 && !rc) {
        rc = pthread_create(&t[n], NULL, n ? decoder : writer, d);
        n += !rc;
    }
    if (rc)
        sk_fail_errno(err, rc, "cannot start a thread");
    rc = sk_group_verdict(d->g, rc ? SAIKAI_ENOMEM : 0, err);
    if (rc) {
        pthread_mutex_lock(&d->lock);
        d->stop = 1;
        pthread_cond_broadcast(&d->moved);
        pthread_mutex_unlock(&d->lock);
    } else if ((rc = carry(d))) {
        sk_fail(err, rc, "the ranks lost touch while they restored files");
    }
    while (n)
        pthread_join(t[--n], NULL);
    if (rc)
        return rc;
    rc = d->decode_rc ? d->decode_rc : d->write_rc;
    if (rc && err)
        *err = d->decode_rc ? d->decode_err : d->write_err;
    return rc;
}

/* ---- in and out ---- */

static int set_buffers(struct delivery *d, const struct sk_extract_options *o,
                       struct saikai_error *err)
{
    uint64_t memory = o->memory_bytes ? o->memory_bytes : (uint64_t)1 << 30, largest = 1;
    for (size_t k = 0; k < d->mine_count; k++) {
        const struct place *p = &d->places[d->mine[k]];
        const struct sk_ska_block *b = &p->part->a.blocks[p->block];
        uint64_t need = b->stored_bytes + 2 * b->size_bytes;
        largest = need > largest ? need : largest;
    }
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = o->threads > 0 ? o->threads : cpus > 0 ? (int)cpus : 1;
    d->threads = threads > MAX_THREADS ? MAX_THREADS : threads;
    d->depth = (size_t)d->threads + 1;
    while (d->depth > 1 && d->depth > memory * 3 / 4 / largest)
        d->depth--;
    if ((size_t)d->threads > d->depth)
        d->threads = (int)d->depth;
    d->ring = calloc(d->depth, sizeof *d->ring);
    d->sources = calloc((size_t)d->g->size, sizeof *d->sources);
    int rc = d->ring && d->sources ? 0 : SAIKAI_ENOMEM;
    for (size_t i = 0; i < d->depth && !rc; i++)
        d->ring[i].turn = i;
    for (int i = 0; i < SENDS && !rc; i++)
        rc = (d->send[i].data = malloc(d->piece_bytes + 1)) ? 0 : SAIKAI_ENOMEM;
    for (int r = 0; r < d->g->size && !rc; r++) {
        struct source *s = &d->sources[r];
        s->place = r == d->g->rank ? d->place_count : next_place(d, r, 0);
        s->to_place = s->place;
        if (s->place == d->place_count)
            continue;
        s->left = bytes_for(&d->places[s->place], d->g->rank);
        rc = (s->data = malloc(d->piece_bytes + 1)) ? 0 : SAIKAI_ENOMEM;
    }
    return rc ? sk_fail(err, rc, "no memory to restore files") : 0;
}

/* Each index is read by one rank and told to the others. */
static int open_part(struct delivery *d, int k, struct saikai_error *err)
{
    struct part *p = &d->parts[k];
    struct sk_buf raw = {0};
    int reader = k % d->g->size, reads = d->g->rank == reader, rc = 0;
    p->fd = sk_io_open(p->path, O_RDONLY, 0, err);
    if (p->fd < 0)
        rc = p->fd;
    else if (reads && !(rc = sk_ska_read(p->fd, p->path, &p->a, err)))
        sk_ska_put_raw_index(&raw, &p->a);
    if (!rc && !sk_buf_ok(&raw))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %s", p->path);
    rc = sk_group_verdict(d->g, rc, err);
    void *data = raw.data;
    size_t n = raw.len;
    if (!rc && (rc = sk_talk_bcast(d->g, reader, &data, &n)))
        sk_fail(err, rc, "the ranks lost touch");
    else if (!rc && !reads)
        rc = sk_ska_parse(data, n, INT64_MAX, &p->a, err);
    if (!reads && data != raw.data)
        free(data);
    sk_buf_free(&raw);
    return sk_group_verdict(d->g, rc, err);
}

/* Rank 0 looks which archives there are. */
static int open_parts(struct delivery *d, const char *path, struct saikai_error *err)
{
    struct sk_set set = {0};
    int rc = d->g->rank ? 0 : sk_set_find(path, &set, err);
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
        struct part *p = &d->parts[k];
        p->fd = -1;
        d->part_count++;
        rc = set.parts ? sk_set_path(&set, path, k + 1, p->path, sizeof p->path, err)
                       : sk_io_path(p->path, sizeof p->path, err, "%s", path);
    }
    rc = sk_group_verdict(d->g, rc, err);
    for (int k = 0; k < n && !rc; k++)
        rc = open_part(d, k, err);
    return rc;
}

static void delivery_free(struct delivery *d)
{
    for (int k = 0; k < d->part_count; k++) {
        struct part *p = &d->parts[k];
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
    for (int i = 0; i < SENDS; i++)
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

static int each_sink(struct delivery *d, int (*fn)(struct sk_sink *s, struct saikai_error *err),
                     struct saikai_error *err)
{
    int rc = 0;
    for (int k = 0; k < d->part_count && !rc; k++)
        rc = fn(&d->parts[k].sink, err);
    return rc;
}

static int prepare(struct delivery *d, const char *dir, const struct sk_deliver_options *o,
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
    int64_t fits = memory / 4 / (d->g->size + SENDS);
    d->piece_bytes = fits < LEAST_PIECE  ? LEAST_PIECE
                     : fits > MOST_PIECE ? MOST_PIECE
                                         : (size_t)fits;
    rc = set_buffers(d, &o->extract, err);
    for (int k = 0; k < d->part_count; k++)
        d->parts[k].sink =
            (struct sk_sink){.dir = dir, .a = &d->parts[k].a, .wanted = d->parts[k].wanted};
    if (!rc)
        rc = each_sink(d, sk_sink_make, err);
    return sk_group_verdict(d->g, rc, err);
}

static int sum_stats(struct delivery *d, struct saikai_error *err)
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
    struct delivery *d = calloc(1, sizeof *d);
    int rc =
        sk_group_verdict(g, d ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to restore files"), err);
    if (rc) {
        free(d);
        return rc;
    }
    d->g = g;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->moved, NULL);
    rc = open_parts(d, path, err);
    if (!rc)
        rc = prepare(d, dir, o, err);
    if (!rc)
        rc = sk_group_verdict(g, run(d, err), err);
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

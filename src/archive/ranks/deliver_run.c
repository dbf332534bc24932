/* The moving parts of a delivery: decoders, one writer, and the messenger, which is the calling
 * thread and alone speaks over the group. */
#include "archive/ranks/deliver_run.h"

#include "archive/ranks/wire/messages.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { EMPTY, DECODED };
enum { FREE, RECEIVING, FILLED };

/* ---- decoding ---- */

struct taking {
    struct sk_delivery *d;
    struct sk_delivery_slot *slot;
    struct sk_delivery_part *part;
    struct sk_sink_file *out;
};

static void failed_to_write(struct sk_delivery *d, int rc, const struct saikai_error *err)
{
    pthread_mutex_lock(&d->lock);
    if (!d->write_rc) {
        d->write_rc = rc;
        d->write_err = *err;
    }
    pthread_mutex_unlock(&d->lock);
}

static int write_failed(struct sk_delivery *d)
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
    struct sk_delivery *d = t->d;
    struct sk_delivery_slot *slot = t->slot;
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
        struct sk_delivery_item *more = realloc(slot->items, cap * sizeof *more);
        if (!more)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory to deliver a block");
        slot->items = more;
        slot->cap = cap;
    }
    slot->items[slot->count++] = (struct sk_delivery_item){dest, s, data, n};
    return 0;
}

/* By rank; of one rank in the order of the block. */
static int by_dest(const void *x, const void *y)
{
    const struct sk_delivery_item *a = x, *b = y;
    return SK_ORDER_BY(a->dest, b->dest, a->s, b->s);
}

struct decoding { /* of one thread */
    struct sk_unpacker unpacker;
    struct sk_sink_file out;
    struct sk_delivery_part *last;
};

static int decode(struct sk_delivery *d, size_t turn, struct sk_delivery_slot *slot,
                  struct decoding *w, struct saikai_error *err)
{
    struct sk_delivery_place *p = &d->places[d->mine[turn]];
    struct taking t = {d, slot, p->part, &w->out};
    if (w->last != p->part)
        sk_sink_close(&w->out); /* file numbers are those of the archive */
    w->last = p->part;
    slot->count = 0;
    int rc = sk_unpack_block(&w->unpacker, &slot->block, &p->part->opened, p->block, err);
    if (!rc)
        rc = sk_unpack_each(&slot->block, p->part->path, &p->part->a, p->block, p->part->anyone,
                            NULL, take, &t, err);
    if (!rc && slot->count)
        qsort(slot->items, slot->count, sizeof *slot->items, by_dest);
    return rc;
}

static void *decoder(void *arg)
{
    struct sk_delivery *d = arg;
    struct decoding w = {.out = {-1, 0}};
    sk_patient_io(d->patient.p, d->patient.root);
    pthread_mutex_lock(&d->lock);
    while (!d->stop && !d->decode_rc && d->taken < d->mine_count) {
        size_t turn = d->taken++;
        struct sk_delivery_slot *slot = &d->ring[turn % d->depth];
        struct saikai_error err = {0};
        while ((slot->state != EMPTY || slot->turn != turn) && !d->stop && !d->decode_rc)
            pthread_cond_wait(&d->moved, &d->lock);
        if (d->stop || d->decode_rc)
            break;
        pthread_mutex_unlock(&d->lock);
        int rc = decode(d, turn, slot, &w, &err);
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
    sk_sink_close(&w.out);
    sk_unpacker_free(&w.unpacker);
    return NULL;
}

/* ---- sending: with the lock held ---- */

/* Send the next piece of the block at hand: bytes of items of one rank. */
static int send_piece(struct sk_delivery *d, struct sk_delivery_slot *slot,
                      struct sk_delivery_sending *to)
{
    int dest = slot->items[d->item].dest;
    size_t n = 0;
    to->data[0] = 0;
    while (n < d->piece_bytes && d->item < slot->count && slot->items[d->item].dest == dest) {
        const struct sk_delivery_item *it = &slot->items[d->item];
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

uint64_t sk_delivery_bytes(const struct sk_delivery_place *p, int rank)
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
static int give_up(struct sk_delivery *d)
{
    static const uint8_t failed = 1;
    int rc = 0;
    for (int r = 0; r < d->g->size && !rc; r++) {
        int owed = 0;
        for (size_t k = d->at; k < d->mine_count && r != d->g->rank && !owed; k++)
            owed = sk_delivery_bytes(&d->places[d->mine[k]], r) > 0;
        struct sk_request *out = NULL;
        if (owed)
            rc = sk_group_isend(d->g, &failed, 1, r, SK_TAG_PIECE, &out);
        if (owed && !rc)
            rc = sk_group_wait(d->g, &out);
    }
    d->at = d->mine_count;
    return rc;
}

/* Send what is decoded, this rank's blocks in their order, as far as sends are free; nothing here waits. */
static int post(struct sk_delivery *d, int *moved)
{
    int rc = 0, busy = 0;
    for (int i = 0; i < SK_DELIVER_SENDS && !rc; i++) {
        struct sk_delivery_sending *s = &d->send[i];
        int done = 0;
        if (s->busy)
            rc = sk_group_test(d->g, &s->out, &done);
        if (done) {
            s->busy = 0;
            *moved = 1;
        }
        struct sk_delivery_slot *slot = d->at < d->mine_count ? &d->ring[d->at % d->depth] : NULL;
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
        const struct sk_delivery_slot *slot = &d->ring[d->at % d->depth];
        if (slot->state != DECODED || slot->turn != d->at)
            rc = give_up(d);
    }
    d->sent_all = d->at == d->mine_count && !busy;
    return rc;
}

/* ---- receiving ---- */

size_t sk_delivery_next(const struct sk_delivery *d, int rank, size_t from)
{
    while (from < d->place_count &&
           (d->places[from].rank != rank || !sk_delivery_bytes(&d->places[from], d->g->rank)))
        from++;
    return from;
}

/* With the lock held. */
static int receive(struct sk_delivery *d, int rank, int *moved)
{
    struct sk_delivery_source *s = &d->sources[rank];
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
        s->place = sk_delivery_next(d, rank, s->place + 1);
        s->left =
            s->place < d->place_count ? sk_delivery_bytes(&d->places[s->place], d->g->rank) : 0;
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
static const struct sk_ska_segment *
next_segment(struct sk_delivery *d, struct sk_delivery_source *s, int rank, uint64_t *bytes)
{
    for (;;) {
        const struct sk_delivery_place *p = &d->places[s->to_place];
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
        s->to_place = sk_delivery_next(d, rank, s->to_place + 1);
        s->to_part = s->to_segment = 0;
        if (s->to_place == d->place_count)
            return NULL;
    }
}

static int write_piece(struct sk_delivery *d, int rank, struct sk_sink_file *out,
                       struct sk_delivery_part **last, struct saikai_error *err)
{
    struct sk_delivery_source *s = &d->sources[rank];
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
        struct sk_delivery_part *p = d->places[s->to_place].part;
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
static int received_all(const struct sk_delivery *d)
{
    for (int r = 0; r < d->g->size; r++)
        if (d->sources[r].state != FREE || d->sources[r].place < d->place_count)
            return 0;
    return 1;
}

static void *writer(void *arg)
{
    struct sk_delivery *d = arg;
    struct sk_sink_file out = {-1, 0};
    struct sk_delivery_part *last = NULL;
    sk_patient_io(d->patient.p, d->patient.root);
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

static int carry(struct sk_delivery *d)
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
            sk_message_relax(&idle);
    }
    return rc;
}

int sk_delivery_run(struct sk_delivery *d, struct saikai_error *err)
{
    pthread_t t[SK_DELIVER_THREADS + 1];
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

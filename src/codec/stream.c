/* Encodes pieces by several threads and hands them on in order. Decodes a frame, or a part of it,
 * after looking at every header. */
#include "codec/stream.h"

#include "base/hash.h"
#include "base/types.h"
#include "codec/entropy/scratch.h"
#include "codec/quality/exactly.h"
#include "codec/frame.h"
#include "codec/lossless/lossless.h"
#include "codec/lossless/within/reach.h"
#include "codec/quick/quick.h"
#include "codec/quality/measure.h"
#include "codec/team.h"
#include "codec/array.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* An encoded piece on its way to the sink. */
struct slot {
    uint8_t *data;
    size_t cap;
    const void *from; /* data, or the caller's array for a raw piece */
    struct sk_frame_piece head;
    int full;
};

struct encoder {
    struct sk_chain chain;
    struct sk_cut cut;
    struct sk_stream_options opt;
    const uint8_t *in;
    sk_stream_sink *sink;
    void *arg;
    struct sk_stream_info info;
    enum sk_frame_form form;
    struct sk_buf head;   /* of the frame */
    int one;              /* piece, of which the form depends: the head is written with it */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct slot *slot;
    unsigned slots;
    uint64_t next, written;
    int writing, rc;
    struct saikai_error err;
};

static const char *name_of(const char *what)
{
    return what ? what : "array";
}

static int piece_error(struct saikai_error *err, const char *what, uint64_t i, const struct sk_cut_piece *p)
{
    int code = err->code;
    sk_error_prefix(err, "%s, piece %llu (rows %llu to %llu)", name_of(what), (unsigned long long)i,
                    (unsigned long long)p->first_row,
                    (unsigned long long)(p->first_row + p->rows - 1));
    return code;
}

static int decode_mode(const struct sk_chain *chain, int mode, const struct sk_array *a,
                       const void *in, size_t n, void *out, struct saikai_error *err)
{
    if (mode == SK_FRAME_CHAIN)
        return sk_chain_decode(chain, a, in, n, out, err);
    return (mode == SK_FRAME_RAW ? &sk_codec_raw : &sk_codec_predict)->decode(a, in, n, out, err);
}

/* Decode what was just encoded, and hold it against the original. */
static int verify_piece(struct encoder *e, const struct sk_cut_piece *p, struct slot *s,
                        struct saikai_error *err)
{
    const uint8_t *x = e->in + p->offset;
    int lossy = s->head.mode == SK_FRAME_CHAIN && sk_chain_lossy(&e->chain);
    void *y = malloc(p->size);
    if (!y)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to verify %zu bytes", p->size);
    int rc = decode_mode(&e->chain, s->head.mode, &p->array, s->from, (size_t)s->head.size, y, err);
    int exact = !rc && !memcmp(x, y, p->size);
    double most = 0;
    if (!rc && !exact && sk_type_is_float(p->array.type))
        most = sk_measure_error(p->array.type, x, y, p->size);
    const struct sk_bound *b = &e->opt.codec.bound;
    double allowed = b->kind == SK_BOUND_ABS ? b->value : b->value * e->opt.codec.range;
    int limited = b->kind == SK_BOUND_ABS || b->kind == SK_BOUND_REL;
    if (!rc && !exact && (!lossy || (limited && !(most <= allowed))))
        rc = sk_fail(err, SAIKAI_EBOUND, "chain '%s' came back with an error of %g", e->chain.name, most);
    s->head.max_error = most;
    free(y);
    return rc;
}

/* Bytes that the frame has less where its one piece is kept exactly. */
static size_t spared_of(const struct encoder *e)
{
    return e->one ? SK_FRAME_BOUND : 0;
}

/* Keep the piece exactly, where that takes fewer bytes than were made of it; but not where time counts for more, since it would take
 * several times as much. */
static int encode_exact(const struct encoder *e, const struct sk_cut_piece *p, struct slot *s,
                        size_t *size, struct saikai_error *err)
{
    const struct sk_codec_ops *exact = &sk_codec_predict;
    enum { SMALL = 16 << 10 }; /* tried as quickly as thought about */
    size_t room = exact->max_encoded(&p->array), n = 0;
    if (e->opt.bare || !sk_chain_lossy(&e->chain) || e->chain.step[0] == &sk_codec_quick || e->opt.codec.bound.kind == SK_BOUND_NONE ||
        !(exact->types >> p->array.type & 1) || room == (size_t)-1 ||
        (p->size > SMALL && !sk_exactly_may_win(&p->array, e->in + p->offset, *size + spared_of(e))))
        return SK_FRAME_CHAIN;
    uint8_t *out = malloc(room);
    if (!out)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for an encoded piece of %zu bytes", room);
    int rc = exact->encode(&p->array, e->in + p->offset, &(struct sk_codec_options){0}, out, room, &n, err);
    if (!rc && n < *size + spared_of(e) && n < p->size) {
        free(s->data);
        s->data = out;
        s->cap = room;
        *size = n;
        return SK_FRAME_EXACT;
    }
    free(out);
    return rc ? rc : SK_FRAME_CHAIN;
}

/* The frame's header, and what it says. */
static int begin_frame(struct encoder *e, const struct sk_array *a, struct saikai_error *err)
{
    const struct sk_codec_options *c = &e->opt.codec;
    struct sk_frame_head h = {.array = *a, .bound = c->bound, .range = c->range, .piece_bytes = e->opt.piece_bytes, .pieces = e->cut.pieces};
    h.form = e->form = sk_frame_form_of(a, !sk_chain_lossy(&e->chain), &c->bound);
    memcpy(h.chain, e->chain.name, sizeof h.chain);
    e->head.len = 0;
    sk_frame_put_head(&e->head, &h);
    e->info = (struct sk_stream_info){.array = *a, .bound = c->bound, .range = c->range};
    memcpy(e->info.chain, e->chain.name, sizeof h.chain);
    e->info.pieces = e->cut.pieces;
    e->info.raw_bytes = sk_array_size_bytes(a);
    e->info.encoded_bytes = e->opt.bare ? 0 : e->head.len;
    return sk_buf_ok(&e->head) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a frame's header");
}

/* What is all kept exactly bears no bound: the frame is the one that it has without. */
static int without_bound(struct encoder *e, struct saikai_error *err)
{
    int rc = sk_chain_parse(sk_codec_predict.name, &e->chain, err);
    struct sk_cut usual;
    size_t bytes = sk_cut_default_bytes(&e->cut.whole);
    if (bytes < e->opt.piece_bytes && !sk_cut_init(&usual, &e->cut.whole, bytes) && usual.pieces == e->cut.pieces)
        e->opt.piece_bytes = bytes;
    e->opt.codec.bound = (struct sk_bound){0};
    e->opt.codec.range = 0;
    return rc ? rc : begin_frame(e, &e->cut.whole, err);
}

static int encode_piece(struct encoder *e, uint64_t i, struct slot *s, struct saikai_error *err)
{
    struct sk_cut_piece p = sk_cut_piece(&e->cut, i);
    size_t most = sk_chain_max_encoded(&e->chain, &p.array), size = 0;
    if (most == (size_t)-1)
        return sk_fail(err, SAIKAI_ENOTSUP, "chain '%s' does not take this array", e->chain.name);
    if (s->cap < most) {
        free(s->data);
        s->data = malloc(most);
        s->cap = s->data ? most : 0;
        if (!s->data)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for an encoded piece of %zu bytes", most);
    }
    int rc = sk_chain_encode(&e->chain, &p.array, e->in + p.offset, &e->opt.codec, s->data, s->cap,
                             &size, err);
    int raw = !e->opt.bare && (rc == SAIKAI_EBOUND || (!rc && size + spared_of(e) >= p.size));
    size = raw ? p.size : size;
    int mode = rc && !raw ? rc : encode_exact(e, &p, s, &size, err);
    if (mode < 0)
        return piece_error(err, e->opt.what, i, &p);
    raw = raw && mode == SK_FRAME_CHAIN;
    mode = raw ? SK_FRAME_RAW : mode;
    s->from = raw ? e->in + p.offset : s->data;
    s->head = (struct sk_frame_piece){.size = size, .mode = mode};
    s->head.max_error = mode != SK_FRAME_CHAIN || !sk_chain_lossy(&e->chain) ? 0 : NAN;
    if (e->opt.verify && !raw) {
        rc = verify_piece(e, &p, s, err);
        if (rc)
            return piece_error(err, e->opt.what, i, &p);
    }
    if (e->one && mode != SK_FRAME_CHAIN) {
        s->head.mode = mode == SK_FRAME_EXACT ? SK_FRAME_CHAIN : mode;
        rc = without_bound(e, err);
        if (rc)
            return rc;
    }
    s->head.has_content = !raw && !e->opt.bare && (mode == SK_FRAME_EXACT || !sk_chain_lossy(&e->chain));
    s->head.content = s->head.has_content ? sk_hash64(e->in + p.offset, p.size) : 0;
    s->head.hash = sk_frame_piece_hash(&s->head, i, s->from);
    return 0;
}

/* *written: bytes of the frame. */
static int write_slot(struct encoder *e, const struct slot *s, uint64_t *written,
                      struct saikai_error *err)
{
    uint8_t head[SK_FRAME_PIECE_MOST];
    size_t n = e->opt.bare ? 0 : sk_frame_put_piece(head, &s->head, e->form);
    int rc = e->one ? e->sink(e->arg, e->head.data, e->head.len, err) : 0;
    rc = rc || !n ? rc : e->sink(e->arg, head, n, err);
    *written = n + s->head.size;
    return rc ? rc : e->sink(e->arg, s->from, (size_t)s->head.size, err);
}

/* Hand finished pieces to the sink, in order, by whichever thread finds the next one ready. Called
 * with the lock. */
static void flush(struct encoder *e)
{
    while (!e->writing && !e->rc && e->slot[e->written % e->slots].full) {
        struct slot *s = &e->slot[e->written % e->slots];
        struct saikai_error err = {0};
        e->writing = 1;
        pthread_mutex_unlock(&e->lock);
        uint64_t written = 0;
        int rc = write_slot(e, s, &written, &err);
        pthread_mutex_lock(&e->lock);
        e->writing = 0;
        s->full = 0;
        e->written++;
        e->info.raw_pieces += s->head.mode == SK_FRAME_RAW;
        e->info.encoded_bytes += written;
        if (!(s->head.max_error <= e->info.max_error))
            e->info.max_error = s->head.max_error;
        if (rc && !e->rc)
            e->rc = rc, e->err = err;
        pthread_cond_broadcast(&e->moved);
    }
}

static void encode_some(void *arg)
{
    struct encoder *e = arg;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        while (!e->rc && e->next < e->cut.pieces && e->next >= e->written + e->slots)
            pthread_cond_wait(&e->moved, &e->lock);
        if (e->rc || e->next >= e->cut.pieces)
            break;
        uint64_t i = e->next++;
        struct slot *s = &e->slot[i % e->slots];
        struct saikai_error err = {0};
        pthread_mutex_unlock(&e->lock);
        int rc = encode_piece(e, i, s, &err);
        pthread_mutex_lock(&e->lock);
        s->full = !rc;
        if (rc && !e->rc)
            e->rc = rc, e->err = err;
        if (rc)
            pthread_cond_broadcast(&e->moved);
        flush(e);
    }
    pthread_mutex_unlock(&e->lock);
    sk_scratch_rest();
}

/* Where repeats lie farther from each other than a piece is long, or few values want a dictionary that is long, pieces are as large as those of codecs that keep a bound:
 * prediction, which knows what to do with them, sees them then. Where steps hardly differ, pieces have many of them: the first of each is paid for. */
size_t sk_stream_pieces_of(const char *chain, const struct sk_array *a, const void *in, const struct sk_stream_options *opt)
{
    size_t bytes = sk_stream_piece_bytes(chain, a, opt), large = sk_cut_bounded_bytes(a);
    struct sk_chain c;
    if ((opt && opt->piece_bytes) || sk_chain_parse(chain, &c, NULL) || sk_chain_lossy(&c) || c.step[0] != &sk_codec_predict)
        return bytes;
    return sk_repeats_beyond(a, in, bytes, large) ? large : sk_steps_reach(a, in, bytes, large);
}

/* Everything the pieces need to know, and the frame's header. */
static int prepare(struct encoder *e, const char *chain, const struct sk_array *a, struct saikai_error *err)
{
    struct sk_codec_options *c = &e->opt.codec;
    int rc = sk_chain_parse(chain, &e->chain, err);
    if (rc)
        return rc;
    if (!sk_chain_takes(&e->chain, a->type))
        return sk_fail(err, SAIKAI_ENOTSUP, "%s: codec '%s' takes no elements of type %s",
                       name_of(e->opt.what), e->chain.step[0]->name, sk_type_name(a->type));
    e->opt.piece_bytes = sk_array_size_bytes(a) == (size_t)-1 ? 1 : sk_stream_pieces_of(chain, a, e->in, &e->opt);
    if (sk_cut_init(&e->cut, a, e->opt.piece_bytes))
        return sk_fail(err, SAIKAI_EINVAL, "%s: an array of type %d and %d dimensions has no size",
                       name_of(e->opt.what), a->type, a->ndims);
    if (!sk_chain_lossy(&e->chain))
        c->bound = (struct sk_bound){0}, c->range = 0;
    if (c->bound.kind != SK_BOUND_NONE && c->range <= 0 && sk_type_is_float(a->type))
        c->range = sk_measure_range(a->type, e->in, sk_array_size_bytes(a), e->opt.threads);
    if (!e->cut.pieces && c->bound.kind != SK_BOUND_NONE)
        return without_bound(e, err);
    e->one = e->cut.pieces == 1 && c->bound.kind != SK_BOUND_NONE && !e->opt.bare;
    return begin_frame(e, a, err);
}

int sk_stream_encode(const char *chain, const struct sk_array *a, const void *in,
                     const struct sk_stream_options *opt, sk_stream_sink *sink, void *arg,
                     struct sk_stream_info *info, struct saikai_error *err)
{
    struct encoder e = {.in = in, .sink = sink, .arg = arg};
    if (opt)
        e.opt = *opt;
    int rc = prepare(&e, chain, a, err);
    if (rc)
        goto out;
    int threads = sk_team_size(e.opt.threads, e.cut.pieces);
    e.slots = threads > 1 ? (unsigned)threads + 1 : 1;
    e.slot = calloc(e.slots, sizeof *e.slot);
    if (!e.slot) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for %u pieces", e.slots);
        goto out;
    }
    rc = e.opt.bare || e.one ? 0 : sink(arg, e.head.data, e.head.len, err);
    if (rc)
        goto out;
    pthread_mutex_init(&e.lock, NULL);
    pthread_cond_init(&e.moved, NULL);
    sk_team_run(threads, encode_some, &e);
    pthread_cond_destroy(&e.moved);
    pthread_mutex_destroy(&e.lock);
    rc = e.rc;
    if (rc && err)
        *err = e.err;
    if (!rc && info)
        *info = e.info;
out:
    for (unsigned i = 0; e.slot && i < e.slots; i++)
        free(e.slot[i].data);
    free(e.slot);
    sk_buf_free(&e.head);
    return rc;
}

static int into_buf(void *arg, const void *data, size_t n, struct saikai_error *err)
{
    struct sk_buf *b = arg;
    sk_buf_put(b, data, n);
    return sk_buf_ok(b) ? 0
                        : sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu more bytes of a frame", n);
}

int sk_stream_encode_buf(const char *chain, const struct sk_array *a, const void *in,
                         const struct sk_stream_options *opt, struct sk_buf *out,
                         struct sk_stream_info *info, struct saikai_error *err)
{
    size_t old = out->len, most = sk_stream_max_encoded(chain, a, opt);
    /* room for all of it at once: pages that are not written cost nothing */
    int failed = out->failed;
    if (most != (size_t)-1)
        sk_buf_extend(out, most);
    out->len = old;
    out->failed = failed;
    int rc = sk_stream_encode(chain, a, in, opt, into_buf, out, info, err);
    if (rc)
        out->len = old;
    return rc;
}

size_t sk_stream_piece_bytes(const char *chain, const struct sk_array *a,
                             const struct sk_stream_options *opt)
{
    struct sk_chain c;
    if (opt && opt->piece_bytes)
        return opt->piece_bytes;
    int bounded = opt && opt->codec.bound.kind != SK_BOUND_NONE &&
                  !sk_chain_parse(chain, &c, NULL) && sk_chain_lossy(&c);
    return bounded ? sk_cut_bounded_bytes(a) : sk_cut_default_bytes(a);
}

size_t sk_stream_max_encoded(const char *chain, const struct sk_array *a,
                             const struct sk_stream_options *opt)
{
    struct sk_chain c;
    struct sk_cut cut;
    size_t aim = sk_stream_piece_bytes(chain, a, opt);
    if (sk_chain_parse(chain, &c, NULL) || !sk_chain_takes(&c, a->type) ||
        sk_cut_init(&cut, a, aim))
        return (size_t)-1;
    /* a piece never takes more than it holds: the rest is frame */
    size_t n = sk_array_size_bytes(a),
           frame = SK_FRAME_HEAD_MAX + (size_t)cut.pieces * SK_FRAME_PIECE_MOST;
    return n > (size_t)-1 - frame ? (size_t)-1 : n + frame;
}

/* ---- decoding ---- */

struct decoder {
    const uint8_t *mem; /* the frame, when it is in memory */
    sk_stream_source *source;
    void *arg;
    struct sk_chain chain;
    struct sk_cut cut;
    const char *what;
    uint8_t *out;
    const struct sk_stream_parts *parts; /* instead of out */
    struct sk_frame_piece *piece;
    uint64_t *at; /* where each piece's data begins */
    pthread_mutex_t lock;
    uint64_t next;
    int rc;
    uint64_t failed;
    struct saikai_error err;
};

/* Buffers of one thread. */
struct scratch {
    struct sk_buf encoded, decoded;
};

static int decode_piece(struct decoder *d, uint64_t i, struct scratch *scratch,
                        struct saikai_error *err)
{
    struct sk_cut_piece p = sk_cut_piece(&d->cut, i);
    const struct sk_frame_piece *h = &d->piece[i];
    const uint8_t *data = d->mem ? d->mem + d->at[i] : NULL;
    size_t n = (size_t)h->size;
    int rc = 0;
    if (d->parts && !d->parts->wants(d->parts->arg, p.offset, p.size))
        return 0;
    scratch->encoded.len = scratch->decoded.len = 0;
    uint8_t *out = d->parts ? sk_buf_extend(&scratch->decoded, p.size) : d->out + p.offset;
    if (!out)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a piece of %zu bytes", p.size);
    if (!data) {
        data = sk_buf_extend(&scratch->encoded, n);
        if (!data)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for a piece of %zu bytes", n);
        rc = d->source(d->arg, d->at[i], scratch->encoded.data, n, err);
    }
    if (!rc && sk_frame_piece_hash(h, i, data) != h->hash)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the checksum does not fit; use another copy");
    if (!rc)
        rc = decode_mode(&d->chain, h->mode, &p.array, data, n, out, err);
    if (!rc && h->has_content && sk_hash64(out, p.size) != h->content)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "what was kept is whole, and is decoded to other values than were coded: codec '%s' or this machine computes wrongly",
                     h->mode == SK_FRAME_EXACT ? sk_codec_predict.name : d->chain.name);
    if (!rc && d->parts)
        d->parts->take(d->parts->arg, p.offset, out, p.size);
    return rc ? piece_error(err, d->what, i, &p) : 0;
}

static void decode_some(void *arg)
{
    struct decoder *d = arg;
    struct scratch scratch = {0};
    pthread_mutex_lock(&d->lock);
    while (!d->rc && d->next < d->cut.pieces) {
        uint64_t i = d->next++;
        struct saikai_error err = {0};
        pthread_mutex_unlock(&d->lock);
        int rc = decode_piece(d, i, &scratch, &err);
        pthread_mutex_lock(&d->lock);
        if (rc && (!d->rc || i < d->failed))
            d->rc = rc, d->failed = i, d->err = err;
    }
    pthread_mutex_unlock(&d->lock);
    sk_scratch_rest();
    sk_buf_free(&scratch.encoded);
    sk_buf_free(&scratch.decoded);
}

struct memory {
    const uint8_t *data;
};

static int from_memory(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    memcpy(data, ((const struct memory *)arg)->data + at, n);
    return 0;
}

static int same_array(const struct sk_array *a, const struct sk_array *b)
{
    return a->type == b->type && sk_array_size_bytes(a) == sk_array_size_bytes(b);
}

/* Where each piece begins; checks that the frame is cut as its header says. */
static int find_pieces(struct decoder *d, const struct sk_frame_head *h, uint64_t at, uint64_t n,
                       struct saikai_error *err)
{
    if (sk_cut_init(&d->cut, &h->array, (size_t)h->piece_bytes) || d->cut.pieces != h->pieces)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: the frame's header contradicts itself",
                       name_of(d->what));
    if (h->pieces > n / SK_FRAME_PIECE_LEAST)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: the frame is truncated", name_of(d->what));
    d->piece = calloc((size_t)h->pieces + 1, sizeof *d->piece);
    d->at = calloc((size_t)h->pieces + 1, sizeof *d->at);
    if (!d->piece || !d->at)
        return sk_fail(err, SAIKAI_ENOMEM, "%s: no memory for %llu pieces", name_of(d->what),
                       (unsigned long long)h->pieces);
    for (uint64_t i = 0; i < h->pieces; i++) {
        int rc = sk_frame_get_piece(d->source, d->arg, &at, n, h->form, &d->piece[i], err);
        d->at[i] = at;
        if (rc) {
            struct sk_cut_piece p = sk_cut_piece(&d->cut, i);
            return err ? piece_error(err, d->what, i, &p) : rc;
        }
        at += d->piece[i].size;
    }
    return 0;
}

static int decode(struct decoder *d, uint64_t n, const struct sk_array *a, int threads,
                  struct saikai_error *err)
{
    struct sk_frame_head h;
    uint64_t at = 0;
    int rc = sk_frame_get_head(d->source, d->arg, &at, n, &h, err);
    if (rc) {
        if (err)
            sk_error_prefix(err, "%s", name_of(d->what));
        return rc;
    }
    if (!same_array(&h.array, a))
        return sk_fail(err, SAIKAI_ECHANGED,
                       "%s: the frame holds %s elements, %zu bytes of them, not %s and %zu",
                       name_of(d->what), sk_type_name(h.array.type), sk_array_size_bytes(&h.array),
                       sk_type_name(a->type), sk_array_size_bytes(a));
    rc = sk_chain_parse(h.chain, &d->chain, err);
    if (rc)
        return sk_fail(err, SAIKAI_ENOTSUP,
                       "%s: needs the codecs '%s', and this build lacks one of them; if a component has it, name that in "
                       "components.load",
                       name_of(d->what), h.chain);
    rc = find_pieces(d, &h, at, n, err);
    if (!rc) {
        pthread_mutex_init(&d->lock, NULL);
        sk_team_run(sk_team_size(threads, d->cut.pieces), decode_some, d);
        pthread_mutex_destroy(&d->lock);
        rc = d->rc;
        if (rc && err)
            *err = d->err;
    }
    free(d->piece);
    free(d->at);
    return rc;
}

int sk_stream_decode(sk_stream_source *source, void *arg, uint64_t n, const struct sk_array *a,
                     void *out, int threads, const char *what, struct saikai_error *err)
{
    struct decoder d = {.source = source, .arg = arg, .out = out, .what = what};
    return decode(&d, n, a, threads, err);
}

int sk_stream_decode_parts(sk_stream_source *source, void *arg, uint64_t n,
                           const struct sk_array *a, const struct sk_stream_parts *parts,
                           int threads, const char *what, struct saikai_error *err)
{
    struct decoder d = {.source = source, .arg = arg, .parts = parts, .what = what};
    return decode(&d, n, a, threads, err);
}

int sk_stream_decode_buf(const void *in, size_t n, const struct sk_array *a, void *out, int threads,
                         const char *what, struct saikai_error *err)
{
    struct memory m = {in};
    struct decoder d = {.mem = in, .source = from_memory, .arg = &m, .out = out, .what = what};
    return decode(&d, n, a, threads, err);
}

int sk_stream_info(sk_stream_source *source, void *arg, uint64_t n, struct sk_stream_info *info,
                   struct saikai_error *err)
{
    struct sk_frame_head h;
    struct sk_stream_info s;
    uint64_t at = 0;
    int rc = sk_frame_get_head(source, arg, &at, n, &h, err);
    if (rc)
        return rc;
    s = (struct sk_stream_info){
        .array = h.array, .bound = h.bound, .range = h.range, .pieces = h.pieces};
    memcpy(s.chain, h.chain, sizeof s.chain);
    s.raw_bytes = sk_array_size_bytes(&h.array);
    for (uint64_t i = 0; i < h.pieces; i++) {
        struct sk_frame_piece p;
        rc = sk_frame_get_piece(source, arg, &at, n, h.form, &p, err);
        if (rc)
            return rc;
        at += p.size;
        s.raw_pieces += p.mode == SK_FRAME_RAW;
        if (!(p.max_error <= s.max_error))
            s.max_error = p.max_error;
    }
    s.encoded_bytes = at;
    *info = s;
    return 0;
}

int sk_stream_info_buf(const void *in, size_t n, struct sk_stream_info *info,
                       struct saikai_error *err)
{
    struct memory m = {in};
    return sk_stream_info(from_memory, &m, n, info, err);
}

/* The frame of a stream: header and piece headers, as stream.h describes them, to bytes and back.
 */
#ifndef SK_CODEC_FRAME_H
#define SK_CODEC_FRAME_H

#include "base/buf.h"
#include "codec/cut.h"
#include "codec/stream.h"

enum {
    SK_FRAME_PIECE_LEAST = 9, /* bytes of a piece's header */
    SK_FRAME_PIECE_MOST = 32,
    SK_FRAME_HEAD_MAX = 256,
    SK_FRAME_BOUND = 17 /* of it, what tells a bound */
};

enum { SK_FRAME_CHAIN = 0, SK_FRAME_RAW = 1, SK_FRAME_EXACT = 2 /* the codec "predict" */ };

/* The first; a shorter one of chains with a bound, and of those without loss: what is left of an array may be a few hundred bytes. */
enum sk_frame_form { SK_FRAME_LONG, SK_FRAME_BOUNDED, SK_FRAME_LOSSLESS };

struct sk_frame_head {
    struct sk_array array;
    struct sk_bound bound;
    double range;
    char chain[SK_CHAIN_NAME];
    uint64_t piece_bytes, pieces;
    enum sk_frame_form form;
};

/* What is kept exactly has no error; in its place stands what it must decode to. */
struct sk_frame_piece {
    uint64_t size;
    int mode;
    int has_content;
    uint64_t content; /* checksum of the values */
    double max_error;
    uint64_t hash;
};

/* The form that is written of this array by a chain that may lose nothing, or not. */
enum sk_frame_form sk_frame_form_of(const struct sk_array *a, int lossless, const struct sk_bound *b);
void sk_frame_put_head(struct sk_buf *b, const struct sk_frame_head *h);
/* Returns the bytes it took. */
size_t sk_frame_put_piece(uint8_t out[SK_FRAME_PIECE_MOST], const struct sk_frame_piece *p,
                          enum sk_frame_form form);
/* The checksum of a piece with this number and p->size bytes of data. */
uint64_t sk_frame_piece_hash(const struct sk_frame_piece *p, uint64_t number, const void *data);

/* Read at *at of a source of n bytes, and move *at behind what was read (for a piece: to its data).
 * Hostile input gives SAIKAI_EFORMAT or SAIKAI_EDAMAGED; a piece that is returned lies inside the n
 * bytes. */
int sk_frame_get_head(sk_stream_source *source, void *arg, uint64_t *at, uint64_t n,
                      struct sk_frame_head *h, struct saikai_error *err);
int sk_frame_get_piece(sk_stream_source *source, void *arg, uint64_t *at, uint64_t n, enum sk_frame_form form,
                       struct sk_frame_piece *p, struct saikai_error *err);

#endif

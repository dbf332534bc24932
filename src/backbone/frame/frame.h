/* Several messages in one frame: what a node's service and `saikai run` tell each other. Pure.
 *
 * The service of a node (`saikaid node`) stands between the node's keepers and the launcher. It passes on what both say, in the
 * messages of backbone/message.h, and merges: what is the same for ranks with numbers in a row is one entry.
 *
 * Wire form (little-endian): u32 magic "SKN1", u64 serial, then entries to the end: u32 n, u16 length, a message. The entry stands
 * for n messages, of the ranks from the message's own on. Only kinds without a body of the sender's own may stand for several. */
#ifndef SK_BACKBONE_FRAME_H
#define SK_BACKBONE_FRAME_H

#include "backbone/message.h"

/* Most bytes of a frame; and of its beginning, which a frame without entries has alone. */
enum { SK_FRAME_MAX = 32 << 10, SK_FRAME_HEAD = 12 };

/* A frame that is being made. All zero: an empty one. */
struct sk_frame {
    struct sk_buf out;
    struct sk_message last; /* what is not written yet, since more like it may follow */
    uint32_t n;             /* how often; 0: there is none */
};

void sk_frame_free(struct sk_frame *b);
/* Add m after what was added before; serials are as m says, and those of merged messages are lost. */
void sk_frame_add(struct sk_frame *b, const struct sk_message *m);
/* 1: there may be no room for four messages more: it should be sent. */
int sk_frame_is_full(const struct sk_frame *b);
int sk_frame_is_empty(const struct sk_frame *b);
/* The frame, under this serial; it is b's, valid until the next call. NULL: out of memory. */
const void *sk_frame_close(struct sk_frame *b, uint64_t serial, size_t *bytes);
/* Begin again. */
void sk_frame_clear(struct sk_frame *b);

/* Reads a frame, which stays the caller's. */
struct sk_frame_rd {
    struct sk_rd rd;
    uint64_t serial;
    struct sk_message m; /* the newest one */
    uint32_t left;       /* how many like it follow, of the next ranks */
};

/* SAIKAI_EFORMAT: something in it is malformed; then nothing of it is to be believed. */
int sk_frame_open(const void *data, size_t n, struct sk_frame_rd *r, struct saikai_error *err);
/* 1: r->m is the next message; 0: there is none. */
int sk_frame_next(struct sk_frame_rd *r);
/* Pass over what is left of this entry; over the next n ranks of it, at most those that are left. */
void sk_frame_skip(struct sk_frame_rd *r);
void sk_frame_pass(struct sk_frame_rd *r, uint32_t n);

#endif

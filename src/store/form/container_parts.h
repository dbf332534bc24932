/* What laying out a plain container and writing a coded one have in common. For this room alone. */
#ifndef SK_STORE_CONTAINER_PARTS_H
#define SK_STORE_CONTAINER_PARTS_H

#include "base/hash.h"
#include "store/form/container.h"

/* v rounded up to where a chunk may begin. */
uint64_t sk_container_align(uint64_t v);
/* Name, type, dimensions and size of a piece into *v. */
void sk_container_describe(const struct sk_piece *p, struct sk_skc_var *v);
/* Bytes [at, at + n) of the container as it is stored. */
int sk_container_pread(const struct sk_container *c, uint64_t at, void *to, size_t n, struct saikai_error *err);
/* Read and verify the i-th chunk, a plain one. */
int sk_container_read_chunk(struct sk_container *c, uint64_t i, uint8_t *to, struct sk_hasher *hasher,
                            struct saikai_error *err);

/* The frame of a coded variable, as sk_stream_decode asks for it. */
struct sk_container_frame {
    struct sk_container *c;
    const struct sk_skc_chunk *chunk;
    struct sk_array array;
};
int sk_container_frame(struct sk_container *c, const struct sk_skc_var *v, struct sk_container_frame *f,
                       struct saikai_error *err);
sk_stream_source sk_container_from_frame; /* its arg is a struct sk_container_frame */
/* What a failure to decode (code rc, *why) says of the container: *err and the code for it. */
int sk_container_frame_error(struct sk_container *c, int rc, const struct saikai_error *why, struct saikai_error *err);

#endif

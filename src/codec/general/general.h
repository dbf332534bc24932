/* The second pass: general compressors over bytes, and the filters that put bytes in a better order
 * for them. */
#ifndef SK_CODEC_GENERAL_GENERAL_H
#define SK_CODEC_GENERAL_GENERAL_H

#include "base/error.h"
#include "base/config/kind.h"

#include <stddef.h>
#include <stdint.h>

/* Stored in archives: never renumbered. */
enum sk_backend {
    SK_BACKEND_STORE = 0,
    SK_BACKEND_ZSTD = 1,
    SK_BACKEND_GZIP = 2,
    SK_BACKEND_ZSTD_AFTER = 3, /* zstd, with bytes that both sides know before it */
    SK_BACKEND_LZMA = 4,
    SK_BACKENDS
};

/* In a level of zstd: repeats are looked for at any distance, which takes some more memory. */
enum { SK_PACK_LONG = 256 };

/* Levels of zstd end here. From SK_PACK_BEST on, what takes the fewest bytes is looked for. */
enum { SK_PACK_LEVELS = 22, SK_PACK_BEST = 20 };
/* How far back lzma looks: what undoing it needs beside the result, at most. */
#define SK_PACK_STRONG_WINDOW ((uint64_t)64 << 20)

/* Bytes of the tables that compress what comes after other bytes, at most. */
#define SK_PACK_TABLES ((uint64_t)16 << 20)

/* Reusable contexts of one thread; zeroed is empty. */
struct sk_packer {
    void *zstd_out, *zstd_in;
    const void *before; /* what both sides know, for the next call only; NULL: nothing */
    size_t before_bytes;
    size_t most; /* who gets more bytes than that of a call throws them away: it may stop there; 0: as many as it takes */
};
void sk_packer_free(struct sk_packer *p);

extern const struct sk_kind sk_backend_kind;
/* enum sk_backend of a form, -1: none or not built in. */
int sk_backend_parse(const char *name);
/* The backend itself, -1: not built in. */
int sk_backend_here(int backend);

/* Most bytes that n bytes may become. */
size_t sk_pack_bound(size_t n);
/* Compress n bytes into out (sk_pack_bound(n) of room); *size: what it took. level 0: the backend's
 * default (zstd 3, gzip 6). When nothing is gained the bytes are stored: *backend tells what was
 * done, also when that would be more than p->most. zstd takes what stands in p->before as if it had
 * come before. Fails with SAIKAI_ENOMEM. */
int sk_pack(struct sk_packer *p, int *backend, int level, const void *in, size_t n, void *out,
            size_t *size, struct saikai_error *err);
/* How many bytes gzip's form (with 6 around it) takes of n bytes that come after others; 0: no memory, or not built in. */
size_t sk_gzip_leaves(int level, const void *before, size_t n_before, const void *in, size_t n);
/* Undo into out, whose size is exactly n_out. Input is hostile. Fails with SAIKAI_EDAMAGED,
 * SAIKAI_ENOMEM, and SAIKAI_ENOTSUP for a backend that this build lacks. */
int sk_unpack(struct sk_packer *p, int backend, const void *in, size_t n, void *out, size_t n_out,
              struct saikai_error *err);

/* Filters: byte order changes of the same length, exactly undone. Stored in archives: never
 * renumbered. */
enum sk_filter {
    SK_FILTER_NONE = 0,
    SK_FILTER_DELTA4 = 1,   /* little-endian 32-bit words minus the word before */
    SK_FILTER_DELTA8 = 2,   /* the same for 64-bit words */
    SK_FILTER_SHUFFLE2 = 3, /* all first bytes of 2-byte elements, then all second bytes */
    SK_FILTER_SHUFFLE4 = 4,
    SK_FILTER_SHUFFLE8 = 5,
    SK_FILTER_DELTA4_SHUFFLE4 = 6,
    SK_FILTER_DELTA8_SHUFFLE8 = 7,
    SK_FILTERS
};
/* out and in do not overlap; n bytes each; what does not fill a word is copied. */
void sk_filter_do(int filter, const void *in, size_t n, void *out);
void sk_filter_undo(int filter, const void *in, size_t n, void *out);

#endif

/* A whole variable through a chain: cut into pieces, several threads, a frame around them.
 *
 * The array is cut along its slowest dimension (when one step of that is larger than a piece: along
 * the next ones). How it is cut depends on the array and the kind of its chain, so the bytes are
 * the same for any number of threads. A piece that its chain does not make smaller is kept raw; one
 * that a chain with a bound does not make smaller than the lossless codec "predict" is kept
 * exactly. Each piece carries its size and an XXH3 checksum: damage names the piece and the rows it
 * holds, and is found before a decoder sees it. Of values that are kept exactly there is a checksum,
 * too, so that nobody goes on with what a decoder has got wrong.
 *
 * Frame, little-endian:
 * clang-format off
 *   u32 "SKS1" | u8 type | u8 ndims | u16 0 | u64 dims[ndims] (ndims 0: one u64, the bytes or 1)
 *   | u8 bound kind | f64 bound value | f64 range | u16 + text chain | u64 piece size aimed at
 *   | u64 pieces | u64 XXH3 of all before
 * then each piece:
 *   u64 size (bits 0…55) and mode (bits 56…63; 0 chain, 1 raw, 2 predict, and 4: of what is kept
 * exactly) | f64 largest error, NaN: not measured; with 4: u64 XXH3 of the values | u64 XXH3 of these 16 bytes, the piece's number (u64) and the XXH3 of data (u64) |
 * data clang-format on
 * Chains with a bound and those without loss get shorter forms of both headers ("SKS2", "SKS3", docs/format.md); the one above is of
 * bytes without dimensions and of chains that lose something without a bound. */
#ifndef SK_CODEC_STREAM_H
#define SK_CODEC_STREAM_H

#include "base/buf.h"
#include "codec/chain.h"

/* Takes the next n bytes of a frame; 0 or a negative code with *err filled. Called by one thread at
 * a time, in order. */
typedef int sk_stream_sink(void *arg, const void *data, size_t n, struct saikai_error *err);
/* Gives bytes [at, at + n) of a frame; 0 or a negative code. Called by several threads at once. */
typedef int sk_stream_source(void *arg, uint64_t at, void *data, size_t n,
                             struct saikai_error *err);

struct sk_stream_options {
    struct sk_codec_options
        codec;   /* bound, level, parameter; range 0: computed over the whole variable */
    int threads; /* 0: as many as processors this process may use; 1: the caller's thread alone */
    size_t piece_bytes; /* 0: made from the array's size (1 to 4 MiB; with a bound, or where `predict` has repeats far apart to find, 16 to 32 MiB; where steps hardly change, 64 of them up to that) */
    int bare;   /* 1: only the coded pieces, no frame: with the chain "gzip" what gunzip reads */
    int verify; /* 1: decode each piece at once, compare, and record the largest error */
    const char *what; /* name of the variable, for messages; NULL: "array" */
};

struct sk_stream_info {
    struct sk_array array;
    char chain[SK_CHAIN_NAME];
    struct sk_bound bound;
    double range;
    uint64_t pieces, raw_pieces;
    uint64_t raw_bytes, encoded_bytes; /* encoded: with the frame */
    double max_error; /* largest |x - x'| recorded; 0 for exact chains; NaN: not measured */
};

/* Bytes that pieces of this array aim at. */
size_t sk_stream_piece_bytes(const char *chain, const struct sk_array *a,
                             const struct sk_stream_options *opt);
/* The same where the values are at hand: pieces are larger where those that are predicted want to see more of them. Takes as long as some thousand probes. */
size_t sk_stream_pieces_of(const char *chain, const struct sk_array *a, const void *in, const struct sk_stream_options *opt);
/* Most bytes of a frame, (size_t)-1 when the chain cannot take the array. */
size_t sk_stream_max_encoded(const char *chain, const struct sk_array *a,
                             const struct sk_stream_options *opt);

/* Encode in[] through the chain of this name into sink. Blocks until all of it is written; memory
 * used beside in[]: threads + 1 encoded pieces. opt and info may be NULL. On failure sink may have
 * got a part of the frame. Errors: those of sk_chain_parse and of the codecs, what sink returned,
 * SAIKAI_EBOUND when verify finds a bound broken. */
int sk_stream_encode(const char *chain, const struct sk_array *a, const void *in,
                     const struct sk_stream_options *opt, sk_stream_sink *sink, void *arg,
                     struct sk_stream_info *info, struct saikai_error *err);
/* The same, appended to a buffer; on failure the buffer has its old length. */
int sk_stream_encode_buf(const char *chain, const struct sk_array *a, const void *in,
                         const struct sk_stream_options *opt, struct sk_buf *out,
                         struct sk_stream_info *info, struct saikai_error *err);

/* Read a frame's header and its pieces' headers (no piece is decoded or its checksum looked at). n
 * is the number of bytes there are; info->encoded_bytes is how many of them are the frame.
 * SAIKAI_EFORMAT: not a frame; SAIKAI_EDAMAGED: damaged or truncated. */
int sk_stream_info(sk_stream_source *source, void *arg, uint64_t n, struct sk_stream_info *info,
                   struct saikai_error *err);
int sk_stream_info_buf(const void *in, size_t n, struct sk_stream_info *info,
                       struct saikai_error *err);

/* Decode a frame into out[], which holds exactly the array a (type and number of bytes must be the
 * frame's, else SAIKAI_ECHANGED). threads as above. On failure out[] may hold a part.
 * SAIKAI_EDAMAGED names the variable (what, may be NULL), the piece, and its rows of the slowest
 * dimension. */
int sk_stream_decode(sk_stream_source *source, void *arg, uint64_t n, const struct sk_array *a,
                     void *out, int threads, const char *what, struct saikai_error *err);
/* Decode only a part of a frame. wants(arg, at, n): is one of bytes [at, at + n) of the decoded
 * array wanted? take(arg, at, data, n) gets them, in any order, from several threads at once. The
 * rest is as for sk_stream_decode; pieces of which nothing is wanted are neither read nor verified.
 * Memory: one decoded piece for each thread. */
struct sk_stream_parts {
    int (*wants)(void *arg, uint64_t at, uint64_t n);
    void (*take)(void *arg, uint64_t at, const void *data, uint64_t n);
    void *arg;
};
int sk_stream_decode_parts(sk_stream_source *source, void *arg, uint64_t n,
                           const struct sk_array *a, const struct sk_stream_parts *parts,
                           int threads, const char *what, struct saikai_error *err);
int sk_stream_decode_buf(const void *in, size_t n, const struct sk_array *a, void *out, int threads,
                         const char *what, struct saikai_error *err);

#endif

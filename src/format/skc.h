/* The container `.skc`: what one rank saved for one generation. Encoding and decoding of its parts, without I/O.
 * docs/format.md describes it byte by byte. A container is
 *
 *     header (SK_SKC_HEADER_BYTES) | chunks | index (variables, chunk table) | trailer (SK_SKC_TRAILER_BYTES)
 *
 * Header, index, trailer and every chunk carry an XXH3 checksum each. Every decoder takes hostile bytes: it returns
 * SAIKAI_EFORMAT for what is no container (or a later version), SAIKAI_EDAMAGED for one that does not hold together. */
#ifndef SK_FORMAT_SKC_H
#define SK_FORMAT_SKC_H

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "base/text/lookup.h"

#include <stddef.h>
#include <stdint.h>

#define SK_SKC_VERSION       1 /* as long as every variable is a rank's own … */
#define SK_SKC_VERSION_SCOPE 3 /* … else; 2 was never written: a golden file of version 1 has it for a later one */
#define SK_SKC_VERSION_STORE 5 /* with the id of its store, whatever the scopes; 4 was never written, for the same reason */
#define SK_SKC_HEADER_BYTES  128
#define SK_SKC_TRAILER_BYTES 64
#define SK_SKC_CHUNK_BYTES   (1u << 20) /* raw bytes of a chunk, the last one of a variable may have fewer */
#define SK_SKC_ALIGN         64         /* chunks begin at multiples of it */

/* Which generation, and whose part of it. */
struct sk_skc_header {
    uint32_t version;     /* 0: SK_SKC_VERSION; whoever writes an index takes sk_skc_version of it; with a store SK_SKC_VERSION_STORE */
    uint64_t run_id;      /* the same for all ranks of one start of the program */
    int64_t iteration;
    uint32_t place;       /* which candidate place of the loop */
    uint32_t incarnation; /* counts the starts of the program */
    uint32_t rank, nranks;
    int64_t created_ms; /* wall clock, for people only */
    uint32_t flags;
    /* generation that a delta builds on; base_incarnation 0: none */
    int64_t base_iteration;
    uint32_t base_place, base_incarnation;
    struct sk_id store; /* of which store it is; none: it does not say, as before version 5 */
};

enum sk_skc_kind {
    SK_SKC_MEMORY = 0, /* a registered variable */
    SK_SKC_STREAM = 1, /* what the program wrote to a stream */
    SK_SKC_FILE = 2,   /* a file of the program; the name is the file's */
    SK_SKC_CHANGES = 3, /* what changed in the variables whose codec is "delta" since the base generation */
};

/* Whose a variable is: what another number of ranks can do with it. */
enum sk_skc_scope {
    SK_SKC_OWN = 0,        /* this rank's alone */
    SK_SKC_REPLICATED = 1, /* the same on all ranks */
    SK_SKC_GLOBAL = 2,     /* a tile of a global array */
};

/* Where a tile lies: element 0 of the variable is element offset of an array global[ndims]. */
struct sk_skc_tile {
    uint64_t global[SAIKAI_MAX_DIMS], offset[SAIKAI_MAX_DIMS];
};

struct sk_skc_var {
    char name[SAIKAI_MAX_NAME + 1];
    uint8_t type, ndims, kind, bound_kind; /* bound_kind: an enum sk_bound_kind */
    uint8_t scope;                         /* an enum sk_skc_scope */
    struct sk_skc_tile tile;               /* with SK_SKC_GLOBAL */
    double bound;                          /* as asked for */
    double max_error;                      /* as measured when encoding, 0: exact */
    uint64_t dims[SAIKAI_MAX_DIMS];
    uint64_t raw_bytes;
    char codec[48]; /* chain; "" is plain bytes */
    uint64_t first_chunk, chunk_count;
};

struct sk_skc_chunk {
    uint64_t offset, stored_bytes, raw_bytes, hash; /* hash of the stored bytes */
};

struct sk_skc_index {
    uint32_t var_count;
    uint64_t chunk_count;
    struct sk_skc_var *vars;
    struct sk_skc_chunk *chunks;
    struct sk_lookup names; /* of vars, where it was decoded */
};

struct sk_skc_trailer {
    uint64_t file_bytes, index_offset, index_bytes, index_hash;
};

void sk_skc_encode_header(const struct sk_skc_header *h, uint8_t out[SK_SKC_HEADER_BYTES]);
int sk_skc_decode_header(const void *in, size_t n, struct sk_skc_header *h, struct saikai_error *err);

/* The lowest version that can say what is in x: readers of version 1 read whatever they can. */
uint32_t sk_skc_version(const struct sk_skc_index *x);
void sk_skc_encode_index(const struct sk_skc_index *x, struct sk_buf *out);
/* Bytes that sk_skc_encode_index will produce. */
size_t sk_skc_index_bytes(const struct sk_skc_index *x);
/* *out is to be freed with sk_skc_index_free. Checked: names are unique, dimensions and type give raw_bytes, tiles lie in
 * their global arrays, chunks lie in [SK_SKC_HEADER_BYTES, index_offset) in order without overlap and add up to each
 * variable; one whose codec is "delta" has none, and the last variable is then one of SK_SKC_CHANGES. */
int sk_skc_decode_index(const void *in, size_t n, uint64_t index_offset, struct sk_skc_index **out,
                        struct saikai_error *err);
void sk_skc_index_free(struct sk_skc_index *x); /* NULL is accepted */
/* Any thread, NULL: none. */
const struct sk_skc_var *sk_skc_find(const struct sk_skc_index *x, const char *name);

void sk_skc_encode_trailer(const struct sk_skc_trailer *t, uint8_t out[SK_SKC_TRAILER_BYTES]);
/* file_bytes: the real length of the file. */
int sk_skc_decode_trailer(const void *in, size_t n, uint64_t file_bytes, struct sk_skc_trailer *t,
                          struct saikai_error *err);

#endif

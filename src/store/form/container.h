/* Containers as files: laying one out and sealing it in memory, or writing one through codecs; reading and verifying. */
#ifndef SK_STORE_CONTAINER_H
#define SK_STORE_CONTAINER_H

#include "codec/stream.h"
#include "format/skc.h"

/* One thing to be saved. */
struct sk_piece {
    char name[SAIKAI_MAX_NAME + 1];
    int type, ndims, kind; /* kind: an enum sk_skc_kind */
    size_t dims[SAIKAI_MAX_DIMS];
    const void *data;
    size_t size_bytes;
    int changes_only; /* 1: of this one only what changed is saved, elsewhere in the container (store/form/lineage.h) */
    int scope;                /* an enum sk_skc_scope */
    struct sk_skc_tile tile;  /* with SK_SKC_GLOBAL */
    const ptrdiff_t *strides; /* bytes between neighbours in data, by dimension; NULL: C order without gaps. What is coded
                               * or sealed has none. */
};

/* Copy a piece, also one with gaps in memory, to to[p->size_bytes] in C order; or n bytes of that from `at` on. */
void sk_container_gather(const struct sk_piece *p, void *to);
void sk_container_gather_part(const struct sk_piece *p, uint64_t at, void *to, size_t n);

/* Lay out plain (uncompressed) pieces: *index with every chunk's place (hashes still 0), to be freed with
 * sk_skc_index_free, and the length of the whole container. Chunk i of a piece begins raw_bytes before chunk i+1 and
 * directly behind it, so that the piece is one copy. */
int sk_container_layout(const struct sk_piece *p, size_t count, struct sk_skc_index **index,
                        uint64_t *file_bytes, struct saikai_error *err);

/* The data is in place in map[file_bytes]: compute all checksums, write header, index and trailer around it. *file_hash gets
 * the checksum (sk_hash64) of the whole file, taken on the way while each chunk is in the cache; NULL: it is not wanted. */
int sk_container_seal(uint8_t *map, uint64_t file_bytes, const struct sk_skc_header *h, struct sk_skc_index *index,
                      uint64_t *file_hash, struct saikai_error *err);

/* How a piece is to be coded. */
struct sk_coding {
    const char *chain;            /* as configured: "predict", "shuffle+zstd:3"; NULL or "": plain */
    struct sk_stream_options opt; /* bound, level, threads, verify; `what` is the piece's name when NULL */
};

/* Where the bytes of a container are that is no file of its own. read gives bytes [at, at + n), 0 or a negative code with
 * *err filled; it may be called by several threads at once. */
struct sk_container_source {
    int (*read)(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err);
    void (*close)(void *arg);
    void *arg;
    uint64_t size_bytes;
};

struct sk_lineage;
struct sk_container;

/* How a container that builds on others is used as one (lineage.c). */
struct sk_container_whole {
    int (*read)(struct sk_container *c, const struct sk_skc_var *v, void *out, struct saikai_error *err);
    int (*verify)(struct sk_container *c, struct saikai_error *err);
    int (*copy)(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err);
    void (*free)(struct sk_lineage *l);
};

struct sk_container {
    int fd;                          /* -1 when it is no file */
    struct sk_container_source from; /* read NULL: the file */
    char *path;
    struct sk_skc_header header;
    struct sk_skc_trailer trailer;
    struct sk_skc_index *index;
    const struct sk_container_whole *whole; /* when it builds on others; else NULL, as is lineage */
    struct sk_lineage *lineage; /* what it builds on, when opened by sk_lineage_open (store/form/lineage.h); NULL: nothing */
};

/* Open and check header, trailer and index, not the chunks. Errors name the file. Close with sk_container_close. To read
 * the variables of a generation use sk_lineage_open (store/form/lineage.h): it may build on others. */
int sk_container_open(const char *path, struct sk_container **out, struct saikai_error *err);
/* The same for one that lies somewhere else; name stands for it in errors. Takes over from: closed with the container, and
 * when this fails. */
int sk_container_open_from(const char *name, const struct sk_container_source *from, struct sk_container **out,
                           struct saikai_error *err);
void sk_container_close(struct sk_container *c); /* NULL is accepted */

/* Read variable v (of c->index) into out[v->raw_bytes], verifying each chunk; a coded one is decoded piece by piece by as
 * many threads as there are processors. On failure out holds a mixture. */
int sk_container_read(struct sk_container *c, const struct sk_skc_var *v, void *out,
                      struct saikai_error *err);
/* Read a part of variable v: elements low[d] … low[d] + size[d] - 1 of each dimension, into memory whose neighbours are
 * strides[d] bytes apart (NULL: C order without gaps). Only the chunks, or pieces of a coded variable, that hold one of
 * these elements are read, verified and decoded. Local, blocks; memory: a chunk, or a decoded piece for each thread. On
 * failure the memory holds a mixture. SAIKAI_EINVAL: not a part of v. */
int sk_container_read_box(struct sk_container *c, const struct sk_skc_var *v, const uint64_t *low, const uint64_t *size,
                           void *to, const ptrdiff_t *strides, struct saikai_error *err);
/* Whether the codecs of the variable are here (what lies in files that it builds on apart). Local, does not block. SAIKAI_ENOTSUP names
 * file, variable and codecs. */
int sk_container_decodable(const struct sk_container *c, const struct sk_skc_var *v, struct saikai_error *err);
/* Verify every chunk without keeping the data; what is coded is checked as it is stored. */
int sk_container_verify(struct sk_container *c, struct saikai_error *err);
/* Called with the stored bytes checked since the last call. */
typedef void sk_container_progress(void *arg, uint64_t more_bytes);
/* Verify the chunks of one variable. progress may be NULL. The error names file, variable and the first bad chunk. */
int sk_container_verify_var(struct sk_container *c, const struct sk_skc_var *v,
                            sk_container_progress *progress, void *arg, struct saikai_error *err);
/* Copy the container to a new file to_path, verifying on the way; with sync it is on the disk afterwards. A partial copy
 * is removed on failure. */
int sk_container_copy(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err);

#endif

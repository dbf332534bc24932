/* The inside of lineages, for lineage.c and its neighbours: a chain of files, and bytes of variables out of it. */
#ifndef SK_STORE_LINEAGE_READ_H
#define SK_STORE_LINEAGE_READ_H

#include "base/hash.h"
#include "capture/delta.h"
#include "store/form/container_parts.h"
#include "store/form/lineage.h"

#include <string.h>

/* Variables are put together and written in parts of this size: a multiple of a chunk. */
#define SK_LINEAGE_WINDOW ((uint64_t)8 * SK_SKC_CHUNK_BYTES)

/* One file of a chain. */
struct sk_lineage_link {
    struct sk_container *c;
    const struct sk_skc_var *var; /* its changes, NULL: full */
    uint8_t *tables;              /* the delta up to its payload */
    struct sk_delta d;
    uint64_t *at;        /* where each range's bytes begin in the payload; one more for the end */
    uint64_t payload_at; /* where the payload begins in the variable */
    uint64_t chunk_bytes;
    uint8_t *chunk; /* the chunk that was read last */
    uint64_t loaded;
};

struct sk_lineage {
    struct sk_lineage_link *link; /* newest first; the first is the container itself */
    size_t n;
    struct sk_hasher *hasher;
};

/* Where a variable's bytes come from: whole from link `full`, then the changes of the ones before it. */
struct sk_lineage_trace {
    size_t full;
    const struct sk_skc_var *base;
    uint32_t *region; /* its number in each link before `full` */
};

/* 1: of this variable the file holds only what changed. */
static inline int sk_lineage_is_changed(const struct sk_skc_var *v)
{
    return !strcmp(v->codec, SK_LINEAGE_CODEC);
}

/* Read the tables of a link's changes, and check that they are those of its variables. Hostile input. */
int sk_lineage_open_changes(struct sk_lineage *chain, struct sk_lineage_link *l, struct saikai_error *err);
/* Where the bytes of a variable of the newest file are; t->region is to be freed. SAIKAI_EDAMAGED: a file that it builds on does not
 * have it, or as another one. */
int sk_lineage_follow(const struct sk_lineage *chain, const struct sk_skc_var *v, struct sk_lineage_trace *t, struct saikai_error *err);
/* Bytes [lo, hi) of it, put together; of one that is coded where it is full, all. */
int sk_lineage_read_part(struct sk_lineage *chain, const struct sk_lineage_trace *t, uint64_t lo, uint64_t hi, uint8_t *out,
                         struct saikai_error *err);

#endif

/* What laying out a plain container and writing a coded one have in common. For this room alone. */
#ifndef SK_STORE_PARTS_H
#define SK_STORE_PARTS_H

#include "base/hash.h"
#include "store/container.h"

/* v rounded up to where a chunk may begin. */
uint64_t sk_container_align(uint64_t v);
/* Name, type, dimensions and size of a piece into *v. */
void sk_container_describe(const struct sk_piece *p, struct sk_skc_var *v);
/* Read and verify the i-th chunk, a plain one. */
int sk_container_read_chunk(struct sk_container *c, uint64_t i, uint8_t *to, struct sk_hasher *hasher,
                            struct saikai_error *err);

/* lineage.c: what container.c does for a container that builds on others. */
int sk_lineage_read(struct sk_container *c, const struct sk_skc_var *v, void *out, struct saikai_error *err);
int sk_lineage_copy(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err);
void sk_lineage_free(struct sk_lineage *l); /* NULL is accepted */

#endif

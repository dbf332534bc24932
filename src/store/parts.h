/* What laying out a plain container and writing a coded one have in common. For this room alone. */
#ifndef SK_STORE_PARTS_H
#define SK_STORE_PARTS_H

#include "store/container.h"

/* v rounded up to where a chunk may begin. */
uint64_t sk_container_align(uint64_t v);
/* Name, type, dimensions and size of a piece into *v. */
void sk_container_describe(const struct sk_piece *p, struct sk_skc_var *v);

#endif

/* A full container from one that builds on others. For lineage.c alone: others call sk_container_copy. */
#ifndef SK_STORE_LINEAGE_COPY_H
#define SK_STORE_LINEAGE_COPY_H

#include "store/form/container.h"

/* Written to to_path, with sync to the disk; nothing is left there after a failure. Every byte is verified on the way. */
int sk_lineage_copy(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err);

#endif

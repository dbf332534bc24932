/* Parallel FT protocols: how a repair in place makes the state of all ranks one again (run.protocol). One table, for `saikai run`, which makes ready what
 * a protocol needs, and for the ranks, which call its hooks. Pure. */
#ifndef SK_WORLD_PROTOCOL_H
#define SK_WORLD_PROTOCOL_H

#include "base/config/kind.h"

#include <saikai/component.h>

struct sk_protocol_ops {
    const char *name, *description;
    struct saikai_parallel_protocol_ops ops;
};

extern const struct sk_kind sk_protocol_kind;
/* The i-th, NULL past the last. */
const struct sk_protocol_ops *sk_protocol_at(int i);

/* The protocol of this name ("": the first). SAIKAI_ECONFIG and a sentence: there is none, or what it needs does not go with who goes back. */
int sk_protocol_find(const char *name, const struct sk_protocol_ops **out, struct saikai_error *err);
/* 1: it needs all of this (SAIKAI_NEEDS_…). */
int sk_protocol_needs(const struct sk_protocol_ops *p, uint32_t what);
/* 1: it has a hook within the ranks. */
int sk_protocol_has_hooks(const struct sk_protocol_ops *p);

#endif

/* Output methods: how bytes are put under a name somewhere else, and come back. A kind that components may add to. */
#ifndef SK_OUTPUT_METHOD_H
#define SK_OUTPUT_METHOD_H

#include "base/config/kind.h"

#include <saikai/component.h>

struct sk_method_ops {
    const char *name, *description;
    struct saikai_output_method_ops ops;
};

extern const struct sk_kind sk_method_kind;
extern const struct sk_method_ops sk_method_directory, sk_method_command; /* directory.c, command.c */
/* The i-th, NULL past the last. */
const struct sk_method_ops *sk_method_at(int i);

#endif

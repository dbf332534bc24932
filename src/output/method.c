/* The table of output methods. */
#include "output/method.h"

#include <stdatomic.h>
#include <stddef.h>

static const struct sk_method_ops *const forms[] = {&sk_method_directory, &sk_method_command};
enum { n_forms = sizeof forms / sizeof *forms };

static struct sk_method_ops added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n] = (struct sk_method_ops){c->name, c->description, *(const struct saikai_output_method_ops *)c->ops};
    atomic_store(&n_added, n + 1);
}

const struct sk_method_ops *sk_method_at(int i)
{
    if (i < 0 || i >= n_forms + atomic_load(&n_added))
        return NULL;
    return i < n_forms ? forms[i] : &added[i - n_forms];
}

SK_OPEN_KIND(sk_method_kind, "output-method", "output method", struct sk_method_ops, sk_method_at, description, SAIKAI_KIND_OUTPUT_METHOD,
             struct saikai_output_method_ops, add);

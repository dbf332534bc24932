/* The tracker that knows nothing: everything may have changed. */
#include "capture/dirty.h"

static int probe(struct saikai_error *err)
{
    return 0;
}

static int open_full(const struct sk_dirty_options *opt, void **state, struct saikai_error *err)
{
    static int nothing;
    *state = &nothing;
    return 0;
}

static void close_full(void *state)
{
}

static int add(void *state, struct sk_dirty_region *r, struct saikai_error *err)
{
    return 0;
}

static void remove_region(void *state, struct sk_dirty_region *r)
{
}

static int collect(void *state, struct sk_dirty_region *const *v, size_t n, struct sk_ranges *out,
                   struct saikai_error *err)
{
    for (size_t i = 0; i < n; i++)
        v[i]->whole = 1;
    return 0;
}

const struct sk_dirty_ops sk_dirty_full = {
    .name = "full",
    .description = "report all memory as changed",
    .probe = probe,
    .open = open_full,
    .close = close_full,
    .close_in_child = close_full,
    .add = add,
    .remove = remove_region,
    .collect = collect,
};

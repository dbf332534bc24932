/* The tracker that remembers a hash of each block and reads all memory to compare. It sees every
 * writer. */
#include "base/hash.h"
#include "capture/dirty.h"

#include <stdlib.h>

static int probe(struct saikai_error *err)
{
    return 0;
}

static int open_hash(const struct sk_dirty_options *opt, void **state, struct saikai_error *err)
{
    size_t *block = malloc(sizeof *block);
    if (!block)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a tracker");
    *block = opt->block_bytes;
    *state = block;
    return 0;
}

static int add(void *state, struct sk_dirty_region *r, struct saikai_error *err)
{
    size_t block = *(const size_t *)state;
    size_t blocks = r->size_bytes / block + (r->size_bytes % block != 0);
    r->own = calloc(blocks, sizeof(uint64_t));
    return r->own ? 0
                  : sk_fail(err, SAIKAI_ENOMEM, "no memory for the hashes of %zu blocks", blocks);
}

static void remove_region(void *state, struct sk_dirty_region *r)
{
    free(r->own);
    r->own = NULL;
}

static void collect_region(size_t block, struct sk_dirty_region *r, struct sk_ranges *out)
{
    uint64_t *known = r->own;
    for (size_t at = 0, k = 0; at < r->size_bytes; at += block, k++) {
        size_t n = r->size_bytes - at < block ? r->size_bytes - at : block;
        uint64_t h = sk_hash64(r->addr + at, n);
        if (h != known[k] && !r->whole)
            sk_ranges_add(out, r->id, at, n);
        known[k] = h;
    }
}

static int collect(void *state, struct sk_dirty_region *const *v, size_t n, struct sk_ranges *out,
                   struct saikai_error *err)
{
    for (size_t i = 0; i < n; i++)
        collect_region(*(const size_t *)state, v[i], out);
    return 0;
}

const struct sk_dirty_ops sk_dirty_hash = {
    .name = "hash",
    .description = "compare XXH3 hashes of blocks: reads all memory, sees every writer",
    .probe = probe,
    .open = open_hash,
    .close = free,
    .close_in_child = free,
    .add = add,
    .remove = remove_region,
    .collect = collect,
};

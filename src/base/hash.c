/* XXH3 through the xxHash library, in whichever of its forms this build has. */
#include "base/hash.h"

#include "base/host/vectors.h"

/* The dispatching form of the library takes the widest vectors the machine has; where it is missing, the inlined one
 * is the next best. */
#ifdef HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

uint64_t sk_hash64(const void *data, size_t n)
{
    uint64_t v = XXH3_64bits(data, n);
    sk_vectors_clear();
    return v;
}

struct sk_hasher *sk_hasher_new(void)
{
    XXH3_state_t *s = XXH3_createState();
    if (s)
        XXH3_64bits_reset(s);
    return (struct sk_hasher *)s;
}

void sk_hasher_reset(struct sk_hasher *h)
{
    XXH3_64bits_reset((XXH3_state_t *)h);
}

void sk_hasher_add(struct sk_hasher *h, const void *data, size_t n)
{
    XXH3_64bits_update((XXH3_state_t *)h, data, n);
    sk_vectors_clear();
}

uint64_t sk_hasher_value(const struct sk_hasher *h)
{
    uint64_t v = XXH3_64bits_digest((const XXH3_state_t *)h);
    sk_vectors_clear();
    return v;
}

void sk_hasher_free(struct sk_hasher *h)
{
    XXH3_freeState((XXH3_state_t *)h);
}

#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t sk_hash64(const void *data, size_t n)
{
    return XXH3_64bits(data, n);
}

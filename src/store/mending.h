/* For fuzz targets: the checksums of a container's header, index and trailer made right, so that
 * what lies behind them is reached. */
#ifndef SK_STORE_MENDING_H
#define SK_STORE_MENDING_H

#include "base/hash.h"
#include "format/skc.h"

#include <string.h>

static inline void mend_block(uint8_t *block, size_t bytes)
{
    uint64_t hash = sk_hash64(block, bytes - 8);
    memcpy(block + bytes - 8, &hash, 8);
}

/* n bytes, of at least a header and a trailer. */
static inline void mend_container(uint8_t *p, size_t n)
{
    uint8_t *t = p + n - SK_SKC_TRAILER_BYTES;
    uint64_t at, length, file_bytes = n;
    memcpy(t + 8, &file_bytes, 8);
    memcpy(&at, t + 16, 8);
    memcpy(&length, t + 24, 8);
    if (at <= n && length <= n - at) {
        uint64_t hash = sk_hash64(p + at, length);
        memcpy(t + 32, &hash, 8);
    }
    mend_block(p, SK_SKC_HEADER_BYTES);
    mend_block(t, SK_SKC_TRAILER_BYTES);
}

#endif

/* Copying into slots. */
#ifndef SK_LIB_COPY_H
#define SK_LIB_COPY_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* What is copied is not read again soon: stores past the cache save reading what is overwritten. (memcpy does so by itself
 * for pieces of many megabytes.) */
static inline void sk_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n)
{
#ifdef __SSE2__
    size_t head = -(uintptr_t)to % 16;
    if (n > head + 1024) {
        memcpy(to, from, head);
        to += head;
        from += head;
        n -= head;
        for (; n >= 64; to += 64, from += 64, n -= 64)
            for (int i = 0; i < 64; i += 16)
                _mm_stream_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
    }
#endif
    memcpy(to, from, n);
}

/* Before another thread is told that the copies are there. */
static inline void sk_copy_done(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif

/* Compiles kernel.inc for each element type and instruction set, and chooses the best that this
 * processor has. */
#include "codec/lossless/predict/kernel.h"

#include "codec/entropy/each.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define BLOCK 256 /* values that stay in the first-level cache while several terms are added */

#define SIDE  16  /* rows that are restored side by side */
#define STEP  LANES /* columns by which each is behind the one above it */
#define AHEAD 64  /* values of a row whose residuals are read at once: some steps */
#define SIDE_ROOM ((SK_EDGE + AHEAD + STEP + 7) / 8 * 8)

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define NAME(x)     JOIN(x, SUFFIX)

/* LANES: values of 8 bytes in a vector register that rows side by side are restored with; 0: not in a form of their own. With less than 4 they cost
 * more than they save, with 8 they save time only where much is added up. RESTORE_ROWS, RESTORE_SEGMENTS: the forms that are used. VBMI: plain bits are
 * read with those instructions (kernel_look.inc). */
#define VBMI 0
#define TARGET
#define LANES        0
#define RESTORE_ROWS NULL
#define RESTORE_SEGMENTS NULL
#define T      float
#define W      uint32_t
#define I      int32_t
#define SUFFIX _f32_base
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#define T      double
#define W      uint64_t
#define I      int64_t
#define SUFFIX _f64_base
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#undef TARGET
#undef LANES
#undef RESTORE_ROWS
#undef RESTORE_SEGMENTS

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt")))
#define LANES        4
#define RESTORE_ROWS NAME(restore_rows)
#define RESTORE_SEGMENTS NAME(restore_segments)
#define T      float
#define W      uint32_t
#define I      int32_t
#define SUFFIX _f32_avx2
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#define T      double
#define W      uint64_t
#define I      int64_t
#define SUFFIX _f64_avx2
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#undef TARGET
#undef LANES
#undef RESTORE_ROWS
#undef RESTORE_SEGMENTS

#ifdef __clang__
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512cd,bmi,bmi2,lzcnt")))
#else
#define TARGET                                                                                     \
    __attribute__((target(                                                                         \
        "avx512f,avx512dq,avx512bw,avx512vl,avx512cd,bmi,bmi2,lzcnt,prefer-vector-width=512")))
#endif
#define LANES        0
#define RESTORE_ROWS restore_rows_f32_avx2
#define RESTORE_SEGMENTS restore_segments_f32_avx2
#define T      float
#define W      uint32_t
#define I      int32_t
#define SUFFIX _f32_avx512
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#undef LANES
#undef RESTORE_ROWS
#undef RESTORE_SEGMENTS
#define LANES        8
#define RESTORE_ROWS restore_rows_f64_either
#define RESTORE_SEGMENTS NAME(restore_segments)
static void restore_rows_f64_avx512(const struct sk_side *s, struct sk_bits_in *bits);

/* In short rows vectors twice as long have half of the rows under way, and wait for them. */
static void restore_rows_f64_either(const struct sk_side *s, struct sk_bits_in *bits)
{
    enum { MANY_TERMS = 8, LONG_ROW = 60 };
    if (s->terms->n >= MANY_TERMS && s->nx >= LONG_ROW)
        restore_rows_f64_avx512(s, bits);
    else
        restore_rows_f64_avx2(s, bits);
}

#define T      double
#define W      uint64_t
#define I      int64_t
#define SUFFIX _f64_avx512
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#undef TARGET
#undef LANES
#undef RESTORE_ROWS
#undef RESTORE_SEGMENTS

#undef VBMI
#define VBMI 1
#ifdef __clang__
#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512cd,avx512vbmi,bmi,bmi2,lzcnt")))
#else
#define TARGET                                                                                     \
    __attribute__((target(                                                                         \
        "avx512f,avx512dq,avx512bw,avx512vl,avx512cd,avx512vbmi,bmi,bmi2,lzcnt,prefer-vector-width=512")))
#endif
#define LANES        4 /* with 8 no field of either type was restored faster */
#define RESTORE_ROWS NAME(restore_rows)
#define RESTORE_SEGMENTS NAME(restore_segments)
#define T      float
#define W      uint32_t
#define I      int32_t
#define SUFFIX _f32_vbmi
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#define T      double
#define W      uint64_t
#define I      int64_t
#define SUFFIX _f64_vbmi
#include "codec/lossless/predict/kernel.inc"
#undef SUFFIX
#undef T
#undef W
#undef I
#undef TARGET
#undef LANES
#undef RESTORE_ROWS
#undef RESTORE_SEGMENTS
#undef VBMI
#endif

const struct sk_kernel *sk_kernel_at(size_t word, int level)
{
    if (level == 0)
        return word == 4 ? &table_f32_base : &table_f64_base;
#if defined(__x86_64__)
    if (level == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return word == 4 ? &table_f32_avx2 : &table_f64_avx2;
    if (level == 2 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        return word == 4 ? &table_f32_avx512 : &table_f64_avx512;
    if (level == 3 && sk_kernel_at(word, 2) && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("bmi2"))
        return word == 4 ? &table_f32_vbmi : &table_f64_vbmi;
#endif
    return NULL;
}

static const struct sk_kernel *best[2]; /* on this processor, for words of 4 and of 8 bytes */

static void find_best(void)
{
    const char *most = getenv("SAIKAI_SIMD");
    int level = most && !strcmp(most, "base") ? 0 : most && !strcmp(most, "avx2") ? 1 : 3;
    for (int wide = 0; wide < 2; wide++)
        for (int l = level; l >= 0 && !best[wide]; l--)
            best[wide] = sk_kernel_at(wide ? 8 : 4, l);
}

const struct sk_kernel *sk_kernel_of(size_t word)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_best);
    return best[word == 8];
}

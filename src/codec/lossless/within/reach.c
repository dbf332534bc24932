/* Asks those who take repeats out, and who number values. */
#include "codec/lossless/within/reach.h"

#include "base/types.h"
#include "codec/array.h"
#include "codec/lossless/within/few.h"
#include "codec/lossless/within/fold.h"

#include <math.h>
#include <string.h>

int sk_repeats_beyond(const struct sk_array *a, const void *in, size_t part, size_t most)
{
    size_t bytes = sk_array_size_bytes(a), word = sk_type_size(a->type) % 8 ? 4 : 8, words = bytes / word;
    if (!sk_type_is_float(a->type) || bytes == (size_t)-1 || bytes <= part || (uintptr_t)in % word)
        return 0;
    return sk_fold_reaches(in, words, word, part / word, most / word) || sk_few_is_long(in, words, word);
}

/* 1: of values that differ from the one before them most are the same a step before. */
static int stay(const uint8_t *x, size_t word, size_t words, size_t step)
{
    enum { PROBES = 2048, FEWEST = 256 };
    size_t same = 0, others = 0;
    for (size_t k = 0; k < PROBES; k++) {
        size_t i = step + (size_t)((double)(words - step) * ((double)k + fmod((double)k * 0.6180339887498949, 1)) / (PROBES + 1));
        if (!memcmp(x + i * word, x + (i - 1) * word, word))
            continue;
        others++;
        same += !memcmp(x + i * word, x + (i - step) * word, word);
    }
    return others >= FEWEST && 2 * same > others;
}

size_t sk_steps_reach(const struct sk_array *a, const void *in, size_t part, size_t most)
{
    enum { MANY = 64, FEW = 4, LEAST = 256 };
    size_t bytes = sk_array_size_bytes(a), word = sk_type_size(a->type) % 8 ? 4 : 8, words = bytes / word, want;
    int k = 0;
    while (k < a->ndims && a->dims[k] == 1)
        k++;
    if (!sk_type_is_float(a->type) || bytes == (size_t)-1 || bytes <= part || k >= a->ndims - 1)
        return part;
    const size_t step = words / a->dims[k];
    if (step < LEAST || step > most / word / FEW)
        return part;
    want = step > most / word / MANY ? most : step * word * MANY;
    return want > part && stay(in, word, words, step) ? want : part;
}

double sk_repeats_left(const struct sk_array *a, const void *in)
{
    size_t bytes = sk_array_size_bytes(a);
    struct sk_words l;
    struct sk_fold f;
    sk_words_of(a, bytes, &l);
    if (!sk_type_is_float(a->type) || bytes == (size_t)-1 || (uintptr_t)in % l.word)
        return 1;
    if (sk_few_is_long(in, l.words, l.word))
        return 0;
    double left = sk_fold_find(&f, &l, in) == 1 ? (double)f.rest / (double)l.words : 1;
    sk_fold_free(&f);
    return left;
}

/* Counts an array's words, transposes complex ones so that their parts are apart, and copies what
 * is not aligned. */
#include "codec/lossless/predict/words.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

#define MOST_COMPONENTS 7

void sk_words_of(const struct sk_array *a, size_t bytes, struct sk_words *l)
{
    int pair = a->type == SAIKAI_C64 || a->type == SAIKAI_C128;
    l->word = a->type == SAIKAI_F32 || a->type == SAIKAI_C64 ? 4 : 8;
    l->words = bytes / l->word;
    l->components = pair ? 2 : 1;
    l->whole = 0;
    l->array = *a;
    int n = a->ndims;
    if (!pair && n > 1 && a->dims[n - 1] > 1 && a->dims[n - 1] <= MOST_COMPONENTS) {
        l->components = a->dims[n - 1];
        l->array.ndims = --n;
    }
    if (l->components == 1)
        return;
    /* the components become the slowest dimension; the outermost two are one when there is no room
     * for it */
    if (n == SAIKAI_MAX_DIMS) {
        l->array.dims[0] *= l->components;
        return;
    }
    for (int k = n; k > 0; k--)
        l->array.dims[k] = l->array.dims[k - 1];
    l->array.dims[0] = l->components;
    l->array.ndims = n + 1;
}

void sk_words_transpose(const void *in, void *out, size_t rows, size_t columns, size_t word)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            if (word == 4)
                ((uint32_t *)out)[c * rows + r] = ((const uint32_t *)in)[r * columns + c];
            else
                ((uint64_t *)out)[c * rows + r] = ((const uint64_t *)in)[r * columns + c];
        }
}

const void *sk_words_aligned(const void *in, size_t bytes, size_t word, void **copy)
{
    if ((uintptr_t)in % word == 0)
        return in;
    *copy = malloc(bytes ? bytes : 1);
    if (*copy)
        memcpy(*copy, in, bytes);
    return *copy;
}

/* Asks those who take repeats out, and who number values. */
#include "codec/lossless/within/reach.h"

#include "base/types.h"
#include "codec/array.h"
#include "codec/lossless/within/few.h"
#include "codec/lossless/within/fold.h"

int sk_repeats_beyond(const struct sk_array *a, const void *in, size_t part, size_t most)
{
    size_t bytes = sk_array_size_bytes(a), word = sk_type_size(a->type) % 8 ? 4 : 8, words = bytes / word;
    if (!sk_type_is_float(a->type) || bytes == (size_t)-1 || bytes <= part || (uintptr_t)in % word)
        return 0;
    return sk_fold_reaches(in, words, word, part / word, most / word) || sk_few_is_long(in, words, word);
}

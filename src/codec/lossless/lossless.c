/* What lossless codecs have in common. */
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include "base/types.h"

int sk_lossless_begin(const struct sk_array *a, const char *codec, size_t *n_bytes,
                      struct saikai_error *err)
{
    size_t n = sk_array_size_bytes(a);
    if (n == (size_t)-1 || !sk_type_size(a->type))
        return sk_fail(err, SAIKAI_EINVAL,
                       "codec %s: an array of type %d and %d dimensions has no size", codec,
                       a->type, a->ndims);
    *n_bytes = n;
    return 0;
}

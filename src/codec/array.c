/* The size of an array. */
#include "codec/array.h"
#include "codec/codec.h"

#include "base/types.h"

size_t sk_array_size_bytes(const struct sk_array *a)
{
    size_t n, size = sk_type_size(a->type);
    if (a->ndims == 0 && a->type == SAIKAI_U8)
        return a->dims[0];
    if (sk_dims_count(a->ndims, a->dims, &n) || (size && n > (size_t)-2 / size))
        return (size_t)-1;
    return n * size;
}

/* The table of element types, and dimensions as text and as a product that does not overflow. */
#include "base/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int type;
    size_t size;
    const char *name, *alias;
    int is_float;
} table[] = {
    {SAIKAI_U8, 1, "u8", "byte", 0},       {SAIKAI_I8, 1, "i8", "int8", 0},
    {SAIKAI_I16, 2, "i16", "int16", 0},    {SAIKAI_U16, 2, "u16", "uint16", 0},
    {SAIKAI_I32, 4, "i32", "int32", 0},    {SAIKAI_U32, 4, "u32", "uint32", 0},
    {SAIKAI_I64, 8, "i64", "int64", 0},    {SAIKAI_U64, 8, "u64", "uint64", 0},
    {SAIKAI_F32, 4, "f32", "float", 1},    {SAIKAI_F64, 8, "f64", "double", 1},
    {SAIKAI_C64, 8, "c64", "complex64", 1}, {SAIKAI_C128, 16, "c128", "complex128", 1},
};
enum { n_types = sizeof table / sizeof *table };

size_t sk_type_size(int type)
{
    return type >= 1 && type <= n_types ? table[type - 1].size : 0;
}

const char *sk_type_name(int type)
{
    return type >= 1 && type <= n_types ? table[type - 1].name : "?";
}

int sk_type_parse(const char *name)
{
    for (int i = 0; i < n_types; i++)
        if (!strcmp(name, table[i].name) || !strcmp(name, table[i].alias))
            return table[i].type;
    return 0;
}

int sk_type_is_float(int type)
{
    return type >= 1 && type <= n_types && table[type - 1].is_float;
}

int sk_dims_count(int ndims, const size_t dims[], size_t *count)
{
    size_t n = 1;
    for (int i = 0; i < ndims; i++)
        if (__builtin_mul_overflow(n, dims[i], &n))
            return -1;
    *count = n;
    return 0;
}

int sk_dims_parse(const char *text, size_t dims[SAIKAI_MAX_DIMS])
{
    int n = 0;
    for (const char *p = text;;) {
        char *end;
        if (n == SAIKAI_MAX_DIMS || *p < '0' || *p > '9')
            return -1;
        errno = 0;
        unsigned long long v = strtoull(p, &end, 10);
        if (errno || v > (size_t)-1)
            return -1;
        dims[n++] = v;
        if (!*end)
            return n;
        if (*end != 'x' && *end != 'X')
            return -1;
        p = end + 1;
    }
}

/* Multiplication and inverses in the field, Cauchy and decode matrices, and products of rows and
 * blocks with ISA-L or without. */
#include "redundancy/code/kernel.h"

#include "base/host/vectors.h"

#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l.h>
#endif

/* The field of ISA-L: x^8 + x^4 + x^3 + x^2 + 1. */
enum { POLYNOMIAL = 0x11d };

uint8_t sk_gf_mul(uint8_t a, uint8_t b)
{
    unsigned product = 0, x = a;
    for (unsigned y = b; y; y >>= 1) {
        if (y & 1)
            product ^= x;
        x <<= 1;
        if (x & 0x100)
            x ^= POLYNOMIAL;
    }
    return (uint8_t)product;
}

uint8_t sk_gf_inv(uint8_t a)
{
    /* the multiplicative group has 255 elements: 1/a = a^254 */
    uint8_t power = a, result = 1;
    for (int e = 254; e; e >>= 1) {
        if (e & 1)
            result = sk_gf_mul(result, power);
        power = sk_gf_mul(power, power);
    }
    return result;
}

void sk_cauchy(int k, int m, uint8_t *out)
{
    for (int r = 0; r < m; r++)
        for (int c = 0; c < k; c++) {
            uint8_t element = sk_gf_inv((uint8_t)((k + r) ^ c));
            out[r * k + c] = sk_gf_mul(element, (uint8_t)(k ^ c));
        }
}

/* Row of the distribution matrix (identity over generator) that piece p is. */
static void piece_row(int k, const uint8_t *generator, int p, uint8_t *row)
{
    if (p >= k) {
        memcpy(row, generator + (size_t)(p - k) * (size_t)k, (size_t)k);
        return;
    }
    memset(row, 0, (size_t)k);
    row[p] = 1;
}

/* row *= f; other rows lose their multiple of it: one step of Gauss-Jordan on a and its inverse b.
 */
static void eliminate(int k, uint8_t a[][SK_MAX_DATA], uint8_t b[][SK_MAX_DATA], int at)
{
    uint8_t f = sk_gf_inv(a[at][at]);
    for (int c = 0; c < k; c++) {
        a[at][c] = sk_gf_mul(a[at][c], f);
        b[at][c] = sk_gf_mul(b[at][c], f);
    }
    for (int r = 0; r < k; r++) {
        uint8_t q = a[r][at];
        if (r == at || !q)
            continue;
        for (int c = 0; c < k; c++) {
            a[r][c] ^= sk_gf_mul(q, a[at][c]);
            b[r][c] ^= sk_gf_mul(q, b[at][c]);
        }
    }
}

int sk_decode_matrix(int k, int m, const uint8_t *generator, const uint8_t *sources, int n,
                     const uint8_t *wanted, uint8_t *out)
{
    uint8_t a[SK_MAX_DATA][SK_MAX_DATA], b[SK_MAX_DATA][SK_MAX_DATA] = {{0}};
    for (int j = 0; j < k; j++) {
        piece_row(k, generator, sources[j], a[j]);
        b[j][j] = 1;
    }
    for (int at = 0; at < k; at++) {
        int pivot = at;
        while (pivot < k && !a[pivot][at])
            pivot++;
        if (pivot == k)
            return SAIKAI_ELOST;
        for (int c = 0; pivot != at && c < k; c++) {
            uint8_t t = a[at][c];
            a[at][c] = a[pivot][c];
            a[pivot][c] = t;
            t = b[at][c];
            b[at][c] = b[pivot][c];
            b[pivot][c] = t;
        }
        eliminate(k, a, b, at);
    }
    for (int i = 0; i < n; i++) {
        uint8_t row[SK_MAX_DATA];
        piece_row(k, generator, wanted[i], row);
        for (int j = 0; j < k; j++) {
            uint8_t v = 0;
            for (int c = 0; c < k; c++)
                v ^= sk_gf_mul(row[c], b[c][j]);
            out[i * k + j] = v;
        }
    }
    return 0;
}

static int all_ones(const uint8_t *coef, int n)
{
    for (int i = 0; i < n; i++)
        if (coef[i] != 1)
            return 0;
    return 1;
}

/* dst ^= src, or dst = src when first: word by word, whatever the alignment. */
static void xor_into(uint8_t *dst, const uint8_t *src, size_t len)
{
    size_t i = 0;
    for (; i + 32 <= len; i += 32) {
        uint64_t a[4], b[4];
        memcpy(a, dst + i, 32);
        memcpy(b, src + i, 32);
        for (int w = 0; w < 4; w++)
            a[w] ^= b[w];
        memcpy(dst + i, a, 32);
    }
    for (; i < len; i++)
        dst[i] ^= src[i];
}

#ifdef HAVE_ISAL

/* ISA-L's pure XOR wants 32-byte alignment and whole vectors; the rest goes word by word. */
static void xor_all(size_t len, int sources, const uint8_t *const src[], uint8_t *dst)
{
    void *array[SK_MAX_DATA + 2];
    size_t whole = len & ~(size_t)63;
    uintptr_t low_bits = (uintptr_t)dst;
    for (int s = 0; s < sources; s++) {
        array[s] = (void *)src[s];
        low_bits |= (uintptr_t)src[s];
    }
    array[sources] = dst;
    if (low_bits & 31 || sources < 2 || !whole)
        whole = 0;
    else
        xor_gen(sources + 1, (int)whole, array);
    sk_vectors_clear();
    if (src[0] + whole != dst + whole)
        memcpy(dst + whole, src[0] + whole, len - whole);
    for (int s = 1; s < sources; s++)
        xor_into(dst + whole, src[s] + whole, len - whole);
}

static void multiply(size_t len, int sources, int rows, const uint8_t *coef,
                     const uint8_t *const src[], uint8_t *const dst[])
{
    uint8_t tables[32 * SK_MAX_MEMBERS * SK_MAX_PARITY];
    ec_init_tables(sources, rows, (uint8_t *)coef, tables);
    ec_encode_data((int)len, sources, rows, tables, (uint8_t **)src, (uint8_t **)dst);
    sk_vectors_clear();
}

static void multiply_add(size_t len, int rows, const uint8_t *coef, const uint8_t *src,
                         uint8_t *const dst[])
{
    uint8_t tables[32 * SK_MAX_PARITY];
    ec_init_tables(1, rows, (uint8_t *)coef, tables);
    ec_encode_data_update((int)len, 1, rows, 0, tables, (uint8_t *)src, (uint8_t **)dst);
    sk_vectors_clear();
}

#else

static void xor_all(size_t len, int sources, const uint8_t *const src[], uint8_t *dst)
{
    if (src[0] != dst)
        memcpy(dst, src[0], len);
    for (int s = 1; s < sources; s++)
        xor_into(dst, src[s], len);
}

static void multiply_add(size_t len, int rows, const uint8_t *coef, const uint8_t *src,
                         uint8_t *const dst[])
{
    for (int r = 0; r < rows; r++) {
        uint8_t product[256];
        for (int v = 0; v < 256; v++)
            product[v] = sk_gf_mul(coef[r], (uint8_t)v);
        for (size_t i = 0; i < len; i++)
            dst[r][i] ^= product[src[i]];
    }
}

static void multiply(size_t len, int sources, int rows, const uint8_t *coef,
                     const uint8_t *const src[], uint8_t *const dst[])
{
    for (int r = 0; r < rows; r++)
        memset(dst[r], 0, len);
    for (int s = 0; s < sources; s++) {
        uint8_t column[SK_MAX_PARITY];
        for (int r = 0; r < rows; r++)
            column[r] = coef[r * sources + s];
        multiply_add(len, rows, column, src[s], dst);
    }
}

#endif

void sk_kernel_dot(size_t len, int sources, int rows, const uint8_t *coef,
                   const uint8_t *const src[], uint8_t *const dst[])
{
    if (!len || !rows)
        return;
    if (!sources) {
        for (int r = 0; r < rows; r++)
            memset(dst[r], 0, len);
        return;
    }
    if (rows == 1 && all_ones(coef, sources))
        xor_all(len, sources, src, dst[0]);
    else
        multiply(len, sources, rows, coef, src, dst);
}

void sk_kernel_add(size_t len, int rows, const uint8_t *coef, const uint8_t *src,
                   uint8_t *const dst[])
{
    if (!len)
        return;
    if (rows == 1 && coef[0] == 1)
        xor_all(len, 2, (const uint8_t *const[]){dst[0], src}, dst[0]);
    else
        multiply_add(len, rows, coef, src, dst);
}

#include "archive/residual.h"

#include <math.h>

uint64_t sk_residual_open_bits(const uint8_t *symbols, size_t n, int width)
{
    uint64_t histogram[256] = {0}, bits = 0;
    for (size_t i = 0; i < n; i++)
        histogram[symbols[i]]++;
    for (int s = 0; s < 256; s++) {
        if (histogram[s] && s > width && s != SK_SYMBOL_ZERO)
            return (uint64_t)-1;
        if (s > 1 && s <= width)
            bits += histogram[s] * (uint64_t)(s - 1);
    }
    return bits;
}

double sk_residual_cost(const uint32_t histogram[SK_SYMBOLS])
{
    double n = 0, bits = 0;
    for (int s = 0; s < SK_SYMBOLS; s++)
        n += histogram[s];
    for (int s = 0; s < SK_SYMBOLS; s++) {
        double h = histogram[s];
        if (h > 0)
            bits += h * log2(n / h) + (s > 1 && s <= 64 ? h * (s - 1) : 0);
    }
    return bits;
}

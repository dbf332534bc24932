/* What residuals cost: the bits that their symbols leave open, and an estimate with the symbols'
 * entropy. */
#include "codec/residual/residual.h"

#include <math.h>

uint64_t sk_residual_open_bits(const uint8_t *symbols, size_t n, int width)
{
    uint64_t bits = 0;
    uint32_t count[4][256] = {{0}}; /* four: equal symbols in a row would wait for each other */
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            count[k][symbols[i + k]]++;
    for (; i < n; i++)
        count[0][symbols[i]]++;
    for (int s = 0; s < 256; s++) {
        uint64_t times = (uint64_t)count[0][s] + count[1][s] + count[2][s] + count[3][s];
        if (times && s > width && s != SK_SYMBOL_ZERO)
            return (uint64_t)-1;
        if (s > 1 && s <= width)
            bits += times * (uint64_t)(s - 1);
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

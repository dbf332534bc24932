/* Any bytes as a text file of failure rates: no crash, and what is accepted has usable rates. */
#include "schedule/failure/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    struct sk_rates *r = sk_rates_new(1e-9);
    struct saikai_error err = {0};
    if (!text || !r)
        abort();
    if (n)
        memcpy(text, data, n);
    text[n] = 0;
    /* a pattern of a million hosts is legal and slow: leave those to the unit tests */
    int wide = 0;
    for (size_t i = 0, digits = 0; i < n; i++) {
        digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
        wide |= digits > 4;
    }
    if (!(wide && memchr(text, '[', n)) && !sk_rates_parse_text(r, "fuzz", text, n, &err) &&
        !sk_rates_finish(r, "fuzz", &err)) {
        double rate = sk_rates_of(r, "node1.site", NULL);
        if (!(rate >= 0) || isinf(rate))
            abort();
    }
    sk_rates_free(r);
    free(text);
    return 0;
}

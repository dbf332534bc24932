/* Any bytes as LANL's failure log: no crash, and what is given out is a time and a node that may be. */
#include "schedule/learn/lanl.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int each(void *arg, const struct sk_lanl_record *r, struct saikai_error *err)
{
    size_t *seen = arg;
    (void)err;
    if (r->system < 0 || r->node < 0 || r->nodes < 0 || !(r->begun > 0) || !isfinite(r->begun) || !(r->ended >= 0) || !r->cause)
        abort();
    *seen += strlen(r->cause) + 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1);
    struct saikai_error err = {0};
    size_t seen = 0, skipped = 0;
    if (!text)
        abort();
    if (n)
        memcpy(text, data, n);
    text[n] = 0;
    sk_lanl_recognises(text, n);
    sk_lanl_parse(text, n, "fuzz", each, &seen, &skipped, &err);
    free(text);
    return 0;
}

/* Manifests from any bytes: what is accepted is written as it was read. */
#include "output/manifest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_manifest m, again;
    struct sk_buf b = {0};
    if (sk_manifest_decode(data, n, &m, NULL))
        return 0;
    if (sk_manifest_encode(&m, &b, NULL) || sk_manifest_decode(b.data, b.len, &again, NULL) || again.n != m.n ||
        memcmp(again.file, m.file, m.n * sizeof *m.file) != 0)
        abort();
    sk_manifest_free(&again);
    sk_manifest_free(&m);
    sk_buf_free(&b);
    return 0;
}

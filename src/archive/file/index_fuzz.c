/* The index of an archive, unpacked: hostile bytes give an index whose segments tile its files, or
 * an error. */
#include "archive/file/ska.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_ska a = {0};
    for (int version = 1; version <= SK_SKA_VERSION; version++)
        if (!sk_ska_parse(data, n, version, (uint64_t)1 << 40, &a, NULL))
            sk_ska_free(&a);
    return 0;
}

/* Fuzz target: the notes of a store, with their checksums made right so that the lines behind them are reached. */
#include "base/hash.h"
#include "store/owner/job.h"
#include "store/owner/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void decode(const char *text, size_t n)
{
    static struct sk_job j;
    struct sk_owner o;
    sk_job_decode(text, n, &j, NULL);
    sk_owner_decode(text, n, &o, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    decode((const char *)data, n);
    char *text = malloc(n + 32);
    if (!text)
        return 0;
    memcpy(text, data, n);
    char *check = memmem(text, n, "check ", 6);
    size_t head = check ? (size_t)(check - text) : n;
    head += (size_t)snprintf(text + head, 32, "check %016llx\n", (unsigned long long)sk_hash64(text, head));
    decode(text, head);
    free(text);
    return 0;
}

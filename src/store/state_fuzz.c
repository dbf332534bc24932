/* Fuzz target: the state file, with its checksum made right so that the lines behind it are reached. The corpus is one
 * file as sk_state_save writes it. */
#include "store/state.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_state s;
    struct saikai_error err;
    sk_state_decode((const char *)data, n, &s, &err);
    char *text = malloc(n + 32);
    if (!text)
        return 0;
    memcpy(text, data, n);
    char *check = memmem(text, n, "check ", 6);
    size_t head = check ? (size_t)(check - text) : n;
    head += (size_t)snprintf(text + head, 32, "check %016llx\n", (unsigned long long)sk_hash64(text, head));
    sk_state_decode(text, head, &s, &err);
    free(text);
    return 0;
}

/* Any bytes as a line of events, with its checksum made right so that what is before it is reached, and as a filter: no crash, and what is
 * accepted is printed and read back as it was. */
#include "store/event/event.h"

#include "base/hash.h"
#include "store/event/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void again(const struct saikai_event *e)
{
    struct saikai_event twice;
    struct sk_buf line = {0};
    int rc = sk_event_print(e, &line, NULL);
    if (rc == SAIKAI_EINVAL || (!rc && sk_event_parse((const char *)line.data, line.len - 1, &twice)) || (!rc && memcmp(e, &twice, sizeof twice)))
        abort();
    sk_buf_free(&line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct saikai_event e;
    struct sk_filter f;
    char text[SK_EVENT_LINE + 32];
    if (!sk_event_parse((const char *)data, n, &e))
        again(&e);
    if (n >= SK_EVENT_LINE)
        return 0;
    memcpy(text, data, n);
    char *end = memrchr(text, '}', n);
    size_t head = end ? (size_t)(end + 1 - text) : n;
    head += (size_t)snprintf(text + head, 32, " %016llx", (unsigned long long)sk_hash64(text, head));
    int rc = sk_event_parse(text, head, &e);
    if (!rc)
        again(&e);
    memcpy(text, data, n);
    text[n] = 0;
    if (!sk_filter_parse(text, &f, NULL) && !rc)
        sk_filter_passes(&f, &e);
    return 0;
}

/* Any bytes as a line of a history: no crash, and what is accepted is printed and read back as it was. */
#include "recovery/history/history.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_event e, again;
    char line[SK_HISTORY_LINE], twice[SK_HISTORY_LINE];
    if (sk_history_parse((const char *)data, n, &e))
        return 0;
    sk_history_print(&e, line);
    if (sk_history_parse(line, strlen(line), &again) || strcmp(sk_history_print(&again, twice), line))
        abort();
    return 0;
}

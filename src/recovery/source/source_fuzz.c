/* Any bytes as what a health check or scontrol prints: no crash, and events that can be kept. */
#include "recovery/source/health_line.h"
#include "recovery/source/slurm_node.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1), words[64];
    struct saikai_event e, again;
    struct sk_slurm_node node;
    struct sk_buf line = {0};
    size_t left = n;
    if (!text)
        return 0;
    memcpy(text, data, n);
    text[n] = 0;
    if (sk_health_line(text, n, &e, NULL) == 1 && !sk_event_print(&e, &line, NULL) &&
        sk_event_parse((char *)line.data, line.len - 1, &again))
        abort();
    if (sk_health_exit(text, &left) > 999 || left > n)
        abort();
    sk_health_words(text, n, words, sizeof words);
    if (sk_slurm_node_parse(text, n, &node) && (!*node.name || (!node.severity && *node.states)))
        abort();
    sk_buf_free(&line);
    free(text);
    return 0;
}

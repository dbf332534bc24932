/* Fuzz target: a message of a keeper, and the text of the link settings. The first byte says which.
 * Corpus: written by message_test when SAIKAI_WRITE_CORPUS names the folder. */
#include "backbone/message.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fuzz_message(const uint8_t *data, size_t n)
{
    struct sk_message m;
    struct sk_buf again = {0};
    if (sk_message_decode(data, n, &m, NULL))
        return;
    sk_message_encode(&m, &again); /* what was understood is written as it was read */
    if (!sk_buf_ok(&again) || again.len != n || memcmp(again.data, data, n))
        abort();
    sk_buf_free(&again);
}

static void fuzz_settings(const uint8_t *data, size_t n)
{
    struct sk_link_settings s, t;
    char out[SK_LINK_TEXT_MAX], *text = strndup((const char *)data, n);
    if (text && !sk_link_settings_parse(text, &s, NULL)) {
        sk_link_settings_print(&s, out);
        if (sk_link_settings_parse(out, &t, NULL) || memcmp(s.nonce, t.nonce, sizeof s.nonce) ||
            strcmp(s.key_file, t.key_file) || strcmp(s.endpoint, t.endpoint) || s.remaining_ms != t.remaining_ms)
            abort();
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n && *data == 'S')
        fuzz_settings(data + 1, n - 1);
    else if (n)
        fuzz_message(data + 1, n - 1);
    return 0;
}

/* Fuzz target: a message of a keeper, a frame of a node's service, and the text of the link settings. The first byte says which.
 * Corpus: written by message_test and frame_test when SAIKAI_WRITE_CORPUS names the folder. */
#include "backbone/frame/frame.h"

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

/* What was understood, told again, is the same messages in the same order, and not longer. */
static void fuzz_frame(const uint8_t *data, size_t n)
{
    enum { MOST = 1000 };
    struct sk_frame_rd r, s;
    struct sk_frame again = {0};
    size_t bytes;
    int most = MOST;
    if (sk_frame_open(data, n, &r, NULL))
        return;
    for (; most && sk_frame_next(&r); most--)
        sk_frame_add(&again, &r.m);
    const void *frame = sk_frame_close(&again, r.serial, &bytes);
    if (!frame || sk_frame_open(frame, bytes, &s, NULL) || s.serial != r.serial || (most && bytes > n) ||
        sk_frame_open(data, n, &r, NULL))
        abort();
    for (most = MOST; most && sk_frame_next(&r); most--)
        if (!sk_frame_next(&s) || s.m.kind != r.m.kind || s.m.rank != r.m.rank || s.m.incarnation != r.m.incarnation ||
            s.m.number != r.m.number || strcmp(s.m.host, r.m.host))
            abort();
    sk_frame_free(&again);
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
    else if (n && *data == 'B')
        fuzz_frame(data + 1, n - 1);
    else if (n)
        fuzz_message(data + 1, n - 1);
    return 0;
}

/* Fuzz target: what services say of the ranks that speak through them, as this one takes it apart and merges it. Frames one after the
 * other: a byte says of which service it is, and whether what came is merged then; two bytes say how long the frame is.
 * Whatever comes, what is made of it is well-formed, and each frame says first that it is of others.
 * Corpus: written by kin_test when SAIKAI_WRITE_CORPUS names the folder. */
#include "daemon/tree/kin.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Entries that stand for many ranks are looked at so often at most. */
enum { ENTRIES_MOST = 2000 };

static void check(void *arg, struct sk_frame *b)
{
    struct sk_frame_rd r;
    size_t bytes;
    const void *data = sk_frame_close(b, 1, &bytes);
    (void)arg;
    if (!data || bytes > SK_FRAME_MAX || sk_frame_open(data, bytes, &r, NULL) || !sk_frame_next(&r) || r.m.kind != SK_MSG_KIN)
        abort();
    sk_frame_clear(b);
}

static void merge(struct sk_kin *k, double now)
{
    struct sk_frame b = {0};
    sk_kin_merge(k, &b, now, check, NULL);
    if (!sk_frame_is_empty(&b))
        check(NULL, &b);
    if (sk_kin_has_news(k))
        abort();
    sk_frame_free(&b);
}

static void take(struct sk_kin *k, int place, const uint8_t *data, size_t n, double now, int *entries)
{
    struct sk_kin_way way = {.place = place, .said = now};
    struct sk_frame_rd r;
    int again = 0;
    if (sk_frame_open(data, n, &r, NULL))
        return;
    while (*entries > 0 && sk_frame_next(&r)) {
        --*entries;
        if (r.m.kind == SK_MSG_KIN) {
            way.passed = 1;
            way.said = now - r.m.number / 1000.0;
        }
        sk_kin_heard(k, &way, &r.m, r.left, &again);
        if (r.m.kind == SK_MSG_BEAT && r.m.serial && sk_kin_find(k, r.m.incarnation, r.m.rank) < 0)
            abort();
        if (r.m.kind == SK_MSG_ALIVE)
            sk_frame_skip(&r);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_kin *k = sk_kin_new();
    int entries = ENTRIES_MOST;
    double now = 1000;
    while (k && n >= 3) {
        size_t len = data[1] | (size_t)data[2] << 8;
        uint8_t how = *data;
        data += 3;
        n -= 3;
        len = len < n ? len : n;
        now += 0.25;
        take(k, how & 7, data, len, now, &entries);
        if (how & 8)
            merge(k, now);
        if (how & 16)
            sk_kin_excuse(k, how & 7, now);
        if (how & 32)
            sk_kin_repeat(k);
        if (how & 64)
            sk_kin_forget(k, now - 1);
        data += len;
        n -= len;
    }
    if (k)
        merge(k, now);
    sk_kin_free(k);
    return 0;
}

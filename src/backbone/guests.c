/* Who may speak to a hub: a table of keys for each of the newest starts, found by hashing (the keys
 * themselves are as good as random). */
#include "backbone/guests.h"

#include "backbone/late/zmq.h"

#include <stdlib.h>
#include <string.h>

struct table {
    uint32_t incarnation, n;
    struct sk_guest *guest; /* by rank; NULL: no start */
    uint32_t *slot;         /* rank + 1 by hash of its key, 0: free */
    uint32_t slots;         /* a power of two */
    uint32_t filled;        /* ranks whose keys have been made; the others' are when somebody comes whom nobody knows */
};

struct sk_guests {
    uint8_t job[SK_KEY_BYTES];
    struct table start[SK_GUEST_STARTS];
    int next; /* of start, to be overwritten */
};

int sk_key_public(const uint8_t secret[SK_KEY_BYTES], uint8_t out[SK_KEY_BYTES],
                  struct saikai_error *err)
{
    char text[41], public_text[41];
    int rc = sk_zmq_load(err);
    if (rc)
        return rc;
    zmq_z85_encode(text, secret, SK_KEY_BYTES);
    if (zmq_curve_public(public_text, text) || !zmq_z85_decode(out, public_text))
        rc = sk_fail(err, SAIKAI_ENOTSUP,
                     "this ZeroMQ library was built without CURVE: install one with libsodium");
    explicit_bzero(text, sizeof text);
    return rc;
}

struct sk_guests *sk_guests_new(const uint8_t job[SK_KEY_BYTES])
{
    struct sk_guests *g = calloc(1, sizeof *g);
    if (g)
        memcpy(g->job, job, SK_KEY_BYTES);
    return g;
}

static void forget(struct table *t)
{
    free(t->guest);
    free(t->slot);
    *t = (struct table){0};
}

void sk_guests_free(struct sk_guests *g)
{
    if (!g)
        return;
    for (int i = 0; i < SK_GUEST_STARTS; i++)
        forget(&g->start[i]);
    explicit_bzero(g, sizeof *g);
    free(g);
}

static uint32_t hash(const uint8_t key[SK_KEY_BYTES])
{
    uint32_t h;
    memcpy(&h, key, sizeof h);
    return h;
}

/* Make the key of one more rank. A job of many ranks that speak through the services of their nodes never needs them. */
static int fill(const struct sk_guests *g, struct table *t, struct saikai_error *err)
{
    uint8_t secret[SK_KEY_BYTES];
    uint32_t r = t->filled;
    struct sk_guest *k = &t->guest[r];
    sk_key_rank(g->job, t->incarnation, r, secret);
    int rc = sk_key_public(secret, k->public_key, err);
    explicit_bzero(secret, sizeof secret);
    if (rc)
        return rc;
    uint32_t i = hash(k->public_key) & (t->slots - 1);
    while (t->slot[i])
        i = (i + 1) & (t->slots - 1);
    t->slot[i] = r + 1;
    t->filled++;
    return 0;
}

int sk_guests_admit(struct sk_guests *g, uint32_t incarnation, uint32_t n, struct saikai_error *err)
{
    struct table t = {.incarnation = incarnation, .n = n, .slots = 4};
    while (t.slots < 2 * (uint64_t)n)
        t.slots *= 2;
    t.guest = calloc(n ? n : 1, sizeof *t.guest);
    t.slot = calloc(t.slots, sizeof *t.slot);
    int rc = t.guest && t.slot ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the keys of %u ranks", n);
    if (!rc && n)
        rc = fill(g, &t, err); /* whether it can be done at all */
    if (rc) {
        forget(&t);
        return rc;
    }
    for (uint32_t r = 0; r < n; r++) {
        t.guest[r].incarnation = incarnation;
        t.guest[r].rank = r;
    }
    forget(&g->start[g->next]);
    g->start[g->next] = t;
    g->next = (g->next + 1) % SK_GUEST_STARTS;
    return 0;
}

struct sk_guest *sk_guests_by_key(struct sk_guests *g, const uint8_t key[SK_KEY_BYTES])
{
    for (int s = 0; s < SK_GUEST_STARTS; s++) {
        const struct table *t = &g->start[s];
        if (!t->guest)
            continue;
        for (uint32_t i = hash(key) & (t->slots - 1); t->slot[i]; i = (i + 1) & (t->slots - 1))
            if (!memcmp(t->guest[t->slot[i] - 1].public_key, key, SK_KEY_BYTES))
                return &t->guest[t->slot[i] - 1];
    }
    for (int s = 0; s < SK_GUEST_STARTS; s++) { /* those of the newest start are the likeliest */
        struct table *t = &g->start[(g->next + SK_GUEST_STARTS - 1 - s) % SK_GUEST_STARTS];
        while (t->guest && t->filled < t->n && !fill(g, t, NULL))
            if (!memcmp(t->guest[t->filled - 1].public_key, key, SK_KEY_BYTES))
                return &t->guest[t->filled - 1];
    }
    return NULL;
}

struct sk_guest *sk_guests_of(struct sk_guests *g, uint32_t incarnation, uint32_t rank)
{
    for (int s = 0; s < SK_GUEST_STARTS; s++)
        if (g->start[s].guest && g->start[s].incarnation == incarnation && rank < g->start[s].n)
            return &g->start[s].guest[rank];
    return NULL;
}

uint32_t sk_guests_newest(const struct sk_guests *g, uint32_t *n)
{
    const struct table *t = &g->start[(g->next + SK_GUEST_STARTS - 1) % SK_GUEST_STARTS];
    *n = t->n;
    return t->incarnation;
}

/* Who holds a store: what a lease says, and whether its holder lives. */
#ifndef SK_STORE_OWNER_H
#define SK_STORE_OWNER_H

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "base/host/life.h"

#include <stddef.h>

struct sk_owner {
    struct sk_id token; /* of this one taking */
    char name[128];     /* of the job */
    struct sk_id store; /* a lease that was copied with a directory names another one than that has */
    char host[256], user[64];
    struct sk_life life;  /* the process that holds it: rank 0 */
    struct sk_life above; /* `saikai run`, which starts the job again; pid 0: none */
    uint64_t run;         /* the number of that `saikai run`, 0: none */
    uint32_t start;       /* which of its starts */
    int64_t since_ms;
};

/* This process, for a job of this name. above_text: what `saikai run` told (sk_owner_above), NULL: nothing. start: its
 * number of this start. */
void sk_owner_self(const char *name, const char *above_text, uint32_t start, struct sk_owner *out);

/* The environment variable by which `saikai run` tells the ranks who it is, and its text. Nothing in it is secret. */
#define SK_RUN_ENV "SAIKAI_RUN"
char *sk_owner_above(uint64_t run, char out[SK_LIFE_TEXT + 24]);

enum sk_owner_state {
    SK_OWNER_DEAD,
    SK_OWNER_LIVES,
    SK_OWNER_UNKNOWN, /* it is on another host: whether it renews its lease tells */
};
/* As seen from this host, by a process of self. Its own `saikai run` vouches for the end of the starts before. */
enum sk_owner_state sk_owner_state(const struct sk_owner *o, const struct sk_owner *self);

int sk_owner_encode(const struct sk_owner *o, struct sk_buf *b, struct saikai_error *err);
int sk_owner_decode(const char *text, size_t n, struct sk_owner *out, struct saikai_error *err);
/* "host h, process 12, user u, since 2026-01-02 03:04:05" */
char *sk_owner_describe(const struct sk_owner *o, char *out, size_t cap);

#endif

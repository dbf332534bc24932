/* What a store remembers beside its generations: how often the program was started, whether it finished, and which
 * generations it failed to restart from. A small text file `state` in the prefix (without a prefix: in the local
 * directory of rank 0), replaced atomically; rank 0 alone writes it. */
#ifndef SK_STORE_STATE_H
#define SK_STORE_STATE_H

#include "store/gen.h"

#define SK_STATE_TRIED 32

struct sk_state {
    uint32_t incarnation;       /* of the newest start; 0: never started */
    uint32_t first_incarnation; /* generations of earlier starts belong to another run and are not offered */
    int finished;               /* 1: the run ended by saikai_finalize */
    struct {
        struct sk_gen gen;
        int tries; /* restarts begun from gen that have not reached a candidate place */
    } tried[SK_STATE_TRIED];
    int tried_count;
};

/* A missing file is a new store: all zero. A damaged one is an error that says how to go on. */
int sk_state_load(const char *root, struct sk_state *s, struct saikai_error *err);
int sk_state_save(const char *root, const struct sk_state *s, struct saikai_error *err);
/* Pure part of load, for any bytes. */
int sk_state_decode(const char *text, size_t n, struct sk_state *s, struct saikai_error *err);

int sk_state_tries(const struct sk_state *s, struct sk_gen g);
/* Count one more restart from g (the oldest entry makes room). */
void sk_state_try(struct sk_state *s, struct sk_gen g);
void sk_state_untry(struct sk_state *s, struct sk_gen g);

#endif

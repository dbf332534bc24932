/* What a store remembers beside its generations: how often the program was started, whether it finished, and which
 * generations it failed to restart from. A small text file `state` in the prefix (without a prefix: in the local
 * directory of rank 0), replaced atomically; rank 0 alone writes it (and `saikai mark`, while no job runs). */
#ifndef SK_STORE_STATE_H
#define SK_STORE_STATE_H

#include "base/id.h"
#include "store/gen.h"

#define SK_STATE_TRIED 32

/* What is known against a generation. */
struct sk_tried {
    struct sk_gen gen;
    int deaths;      /* starts that read it and then died by themselves before a candidate, as their launcher said */
    int unexplained; /* the same, but nobody knows why they ended */
    int bad;         /* 1: somebody marked it: not offered until it is marked good */
    uint64_t files;  /* what its files were like then (size, date), 0: not known */
};

struct sk_state {
    uint32_t incarnation;       /* of the newest start; 0: never started */
    uint32_t first_incarnation; /* generations of earlier starts belong to another run and are not offered */
    /* This start could not read the generations of those before it and went on without them: they stay until one of it or of a
     * later start is archived. 0: there is none. */
    uint32_t unread_before;
    int finished;               /* 1: the run ended by saikai_finalize */
    struct sk_id store;         /* of which store; none in a file that does not say */
    uint64_t run;               /* number of the `saikai run` that started it last, 0: none */
    struct sk_tried tried[SK_STATE_TRIED];
    int tried_count;
    /* The restart that was begun last and has not reached a candidate; incarnation 0: there is none. Whether it counts is
     * known when the next start asks how it ended. */
    struct sk_tried trying; /* its generation and files */
    uint32_t trying_start;  /* which start that is */
};

/* A missing file is a new store: all zero. A damaged one is an error that says how to go on, and *s stays as it was. */
int sk_state_load(const char *root, struct sk_state *s, struct saikai_error *err);
int sk_state_save(const char *root, const struct sk_state *s, struct saikai_error *err);
/* Pure part of load, for any bytes. Unchanged on failure, too. */
int sk_state_decode(const char *text, size_t n, struct sk_state *s, struct saikai_error *err);

/* What is known against g, NULL: nothing. */
const struct sk_tried *sk_state_tried(const struct sk_state *s, struct sk_gen g);
/* 1: g is not to be offered: it is marked bad, or too many starts died after reading it. What nobody can explain counts
 * half; what is known of other files than these (0: not known) does not count. */
int sk_state_refuses(const struct sk_state *s, struct sk_gen g, uint64_t files, int limit);
/* A start died after reading g, by itself or nobody knows how (the oldest entry makes room, but none that is marked). */
void sk_state_count(struct sk_state *s, struct sk_gen g, uint64_t files, int by_itself);
/* Forget what is known against g; a mark stays. */
void sk_state_untry(struct sk_state *s, struct sk_gen g);
/* Mark g by hand: bad, or good: then all is forgotten. SAIKAI_ENOMEM: too many are marked. */
int sk_state_mark(struct sk_state *s, struct sk_gen g, int bad, struct saikai_error *err);

#endif
